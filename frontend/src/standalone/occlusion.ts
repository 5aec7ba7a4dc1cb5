// Which parts of two gray images hold them together for a net, as dmlviz/runs/occlusion.py finds it. Pure: no DOM.
import { encodeBase64 } from "../lib/base64.ts";
import { maxOf } from "../lib/extent.ts";
import type { OcclusionMaps } from "../protocol.ts";
import { roundHalfEven } from "./drawnImage.ts";
import { squaredDistances } from "./nearest.ts";

const [WINDOW, STRIDE] = [0.2, 1 / 14]; // of the side of an image

/** From images (side × side bytes each, one after the other) to their embeddings. */
type Embed = (images: Uint8Array) => Float32Array;

/** For each pixel of both images the mean change of their distance over the windows on it. */
export function occlusion(embed: Embed, pair: Uint8Array[], side: number, curvature = 0): Float64Array[] {
  const width = Math.max(2, roundHalfEven(WINDOW * side));
  const step = Math.max(1, roundHalfEven(STRIDE * side));
  const sum = (of: Float64Array, by: number, [top, left]: number[]) => {
    for (let y = Math.max(0, top); y < Math.min(side, top + width); y++)
      for (let x = Math.max(0, left); x < Math.min(side, left + width); x++) of[y * side + x] += by;
  };
  const whole = pair.map((image) => embed(image).slice());
  const apart = (point: Float32Array, other: Float32Array) => Math.sqrt(squaredDistances(point, other, curvature)[0]);
  const distance = apart(whole[0], whole[1]);
  return pair.map((image, which) => {
    const [ground, hidden, corners] = [groundOf(image, side), [] as Uint8Array[], [] as number[][]];
    for (let top = 1 - width; top < side; top += step)
      for (let left = 1 - width; left < side; left += step) {
        const changed = image.slice();
        for (let y = Math.max(0, top); y < Math.min(side, top + width); y++)
          changed.fill(ground, y * side + Math.max(0, left), y * side + Math.min(side, left + width));
        if (changed.every((value, i) => value === image[i])) continue; // nothing would change
        hidden.push(changed);
        corners.push([top, left]);
      }
    const images = new Uint8Array(hidden.length * side * side);
    hidden.forEach((one, i) => images.set(one, i * side * side));
    const [rows, d] = [embed(images), whole[0].length];
    const [changes, counts] = [new Float64Array(side * side), new Float64Array(side * side)];
    corners.forEach((corner, i) => {
      sum(changes, apart(rows.subarray(i * d, (i + 1) * d), whole[1 - which]) - distance, corner);
      sum(counts, 1, corner);
    });
    return changes.map((value, i) => value / Math.max(1, counts[i]));
  });
}

/** The maps as a server sends them: in shares of the largest change. Throws where the net gives NaN or infinity. */
export function packedOcclusion(embed: Embed, pair: Uint8Array[], side: number, curvature = 0): OcclusionMaps {
  const maps = occlusion(embed, pair, side, curvature);
  const most = maxOf(maps.map((map) => maxOf(map.map(Math.abs)))) || 1;
  if (!maps.every((map) => map.every(Number.isFinite)))
    throw new Error("The net gives NaN or infinity: its training diverged. Train again.");
  const packed = maps.map((map) => encodeBase64(Uint8Array.from(map, (value) => roundHalfEven((127 * value) / most))));
  return { side, maps: [packed[0], packed[1]] };
}

/** The median of the pixels at the edge: the background. */
function groundOf(image: Uint8Array, side: number): number {
  const along = Array.from({ length: side }, (_, i) => i);
  const edge = along.flatMap((i) => [i, (side - 1) * side + i, i * side, i * side + side - 1].map((at) => image[at]));
  edge.sort((a, b) => a - b);
  return Math.floor((edge[2 * side - 1] + edge[2 * side]) / 2);
}
