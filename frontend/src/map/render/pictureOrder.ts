// Order in which items get space for their picture: first those that stand for most others, as in a pyramid.

const LEVELS = 7; // the finest has 128 cells along the longer side

/**
 * All items, first those that represent many: for cells of half the size at each level, the one nearest to the mean of
 * each cell, fuller cells first. The order depends on the places alone, so that pictures stay while the camera moves.
 */
export function pictureOrder(xy: Float32Array, usable: Uint8Array): Uint32Array {
  const n = usable.length;
  const order = new Uint32Array(n);
  const flags = new Uint8Array(n);
  let count = 0;
  const place = (i: number) => {
    if (flags[i]) return;
    flags[i] = 1;
    order[count++] = i;
  };
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < n; i++) {
    if (!usable[i]) continue;
    [left, right] = [Math.min(left, xy[2 * i]), Math.max(right, xy[2 * i])];
    [bottom, top] = [Math.min(bottom, xy[2 * i + 1]), Math.max(top, xy[2 * i + 1])];
  }
  const extent = Math.max(right - left, top - bottom);
  for (let level = 1; extent > 0 && level <= LEVELS; level++) {
    const side = 2 ** level;
    const clamp = (share: number) => Math.min(side - 1, Math.floor(share * side));
    const cellOf = (i: number) => clamp((xy[2 * i + 1] - bottom) / extent) * side + clamp((xy[2 * i] - left) / extent);
    const sums = new Float64Array(3 * side * side); // x, y and number
    for (let i = 0; i < n; i++) {
      if (!usable[i]) continue;
      const c = 3 * cellOf(i);
      sums[c] += xy[2 * i];
      sums[c + 1] += xy[2 * i + 1];
      sums[c + 2]++;
    }
    const best = new Int32Array(side * side).fill(-1);
    const nearest = new Float64Array(side * side).fill(Infinity);
    for (let i = 0; i < n; i++) {
      if (!usable[i]) continue;
      const cell = cellOf(i);
      const number = sums[3 * cell + 2];
      const d = (xy[2 * i] - sums[3 * cell] / number) ** 2 + (xy[2 * i + 1] - sums[3 * cell + 1] / number) ** 2;
      if (d < nearest[cell]) [nearest[cell], best[cell]] = [d, i];
    }
    const cells = [...best.keys()].filter((cell) => best[cell] >= 0);
    cells.sort((a, b) => sums[3 * b + 2] - sums[3 * a + 2] || a - b);
    for (const cell of cells) place(best[cell]);
  }
  for (let i = 0; i < n; i++) place(i);
  return order;
}
