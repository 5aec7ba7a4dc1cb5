// How near the neighbors in the embedding are on the map: a picture of many dimensions moves some of them far away.

/** The rank of each of `items` by distance from `place` among the usable points, `itself` left out; null without a place. */
export function mapRanks(
  places: ArrayLike<number>,
  usable: Uint8Array,
  place: readonly number[],
  items: number[],
  itself = -1,
): Map<number, number | null> {
  const dims = place.length;
  const squared = (i: number) => place.reduce((sum, v, axis) => sum + (places[dims * i + axis] - v) ** 2, 0);
  const asked = items.filter((item) => usable[item]).map((item) => ({ item, far: squared(item), rank: 1 }));
  for (let i = 0; i < usable.length; i++) {
    if (!usable[i] || i === itself) continue;
    const far = squared(i);
    for (const one of asked) if (far < one.far) one.rank++;
  }
  const ranks = new Map<number, number | null>(items.map((item) => [item, null]));
  for (const { item, rank } of asked) ranks.set(item, rank);
  return ranks;
}
