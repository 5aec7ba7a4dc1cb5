// @ts-nocheck
// How near the neighbours in the embedding are on the map: a picture of many dimensions moves some of them far away.
import { bus, page } from "../../lib/bus.ts";

/** The rank of each of `items` by distance from `place` among the usable points, `itself` left out; null without a place. */
export function ranksOnMap(places, usable, place, items, itself = -1) {
  const dims = place.length;
  const squared = (i) => place.reduce((sum, v, axis) => sum + (places[dims * i + axis] - v) ** 2, 0);
  const asked = items.filter((item) => usable[item]).map((item) => ({ item, far: squared(item), rank: 1 }));
  for (let i = 0; i < usable.length; i++) {
    if (!usable[i] || i === itself) continue;
    const far = squared(i);
    for (const one of asked) if (far < one.far) one.rank++;
  }
  const ranks = new Map(items.map((item) => [item, null]));
  for (const { item, rank } of asked) ranks.set(item, rank);
  return ranks;
}

/** Tell the inspector, once the points of a MapView stand still. */
export function tellRanks(view) {
  const { scene, model, star, playback, data } = view;
  if (!scene.settled || !scene.frame || !playback.shown) return;
  const pinned = model.pinned !== null && scene.usable[model.pinned];
  const item = pinned ? model.pinned : star.to && "query";
  const items = (pinned ? model.neighbours : (star.query?.neighbours ?? [])).map((neighbour) => neighbour.item);
  if (item === null || item === undefined || !items.length) return;
  const key = [data.run, view.pid, playback.shown.frame.id, item, items].join();
  if (view.ranked?.key === key && view.ranked.usable === scene.usable) return;
  view.ranked = { key, usable: scene.usable };
  const { xyz } = scene.frame;
  const own = xyz ? [...xyz.subarray(3 * item, 3 * item + 3)] : scene.tween.at(item, scene.tween.moves ? scene.t : 1);
  const of = ranksOnMap(xyz ?? scene.places(), scene.usable, pinned ? own : star.to, items, pinned ? item : -1);
  page.ranks = { run: data.run, item, of };
  bus.emit("ranks", page.ranks);
}
