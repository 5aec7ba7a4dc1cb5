// @ts-nocheck
// How a map of three dimensions is turned. The eye keeps it, whatever the data do.

const SHARE_OF_TURN = 0.9; // turns for a drag across the whole stage
const NOWHERE = -32768;
const FAINTEST = 0.42; // opacity of what lies farthest back

const multiply = (a, b) => a.map((_, at) => [0, 1, 2].reduce((sum, i) => sum + a[3 * Math.floor(at / 3) + i] * b[3 * i + (at % 3)], 0));
const aboutUp = (angle) => [Math.cos(angle), 0, Math.sin(angle), 0, 1, 0, -Math.sin(angle), 0, Math.cos(angle)];
const aboutRight = (angle) => [1, 0, 0, 0, Math.cos(angle), -Math.sin(angle), 0, Math.sin(angle), Math.cos(angle)];

export class Orbit {
  // From slightly above and aside, so that a cloud does not look flat.
  matrix = multiply(aboutRight(0.42), aboutUp(-0.6));
  version = 0;

  /** Turn by a drag of (dx, dy) pixels on a stage of that size. */
  turn(dx, dy, size) {
    const angle = (2 * Math.PI * SHARE_OF_TURN) / Math.max(size, 1);
    this.matrix = multiply(multiply(aboutRight(dy * angle), aboutUp(dx * angle)), this.matrix);
    this.version++;
  }

  /** Where a point [x, y, z] is seen, [x, y, depth towards the eye], relative to the pivot. */
  see([x, y, z], [px, py, pz] = [0, 0, 0]) {
    const [a, b, c, d, e, f, g, h, i] = this.matrix;
    const [u, v, w] = [x - px, y - py, z - pz];
    return [a * u + b * v + c * w, d * u + e * v + f * w, g * u + h * v + i * w];
  }
}

/** A frame of three dimensions, as `place` gives one of two, with its `xyz`; `xy` and `shade` follow with `turned`. */
export function solid(buffer, frame, watched, total, pivot = frame.centre) {
  const { n, centre, scale } = frame;
  if (buffer.byteLength !== n * 6) throw new Error(`frame ${frame.id} has ${buffer.byteLength} bytes; ${n} × 3 places need ${n * 6}`);
  if (frame.items === "watched" && watched?.length !== n) {
    throw new Error(`frame ${frame.id} holds ${n} watched items; the run watches ${watched?.length ?? 0}`);
  }
  const raw = new DataView(buffer);
  const xyz = new Float32Array(3 * total);
  const present = new Uint8Array(total);
  let reach = 0;
  for (let j = 0; j < n; j++) {
    const item = frame.items === "watched" ? watched[j] : j;
    let far = 0;
    if (raw.getInt16(6 * j, true) === NOWHERE) continue;
    for (let axis = 0; axis < 3; axis++) {
      const value = centre[axis] + (raw.getInt16(6 * j + 2 * axis, true) / 32767) * scale;
      xyz[3 * item + axis] = value;
      far += (value - pivot[axis]) ** 2;
    }
    present[item] = 1;
    reach = Math.max(reach, far);
  }
  reach = Math.sqrt(reach) || 1;
  const bounds = [-reach, -reach, reach, reach];
  return { xyz, pivot, reach, present, count: n, bounds, xy: new Float32Array(2 * total), shade: new Uint8Array(total), version: -1 };
}

/** The frame as the orbit shows it now. */
export function turned(placed, orbit) {
  if (placed.version === orbit.version) return placed;
  placed.version = orbit.version;
  const { xyz, xy, shade, pivot, reach } = placed;
  const [a, b, c, d, e, f, g, h, k] = orbit.matrix;
  for (let i = 0, j = 0; j < xy.length; i += 3, j += 2) {
    const [u, v, w] = [xyz[i] - pivot[0], xyz[i + 1] - pivot[1], xyz[i + 2] - pivot[2]];
    xy[j] = a * u + b * v + c * w;
    xy[j + 1] = d * u + e * v + f * w;
    const depth = (g * u + h * v + k * w) / reach; // -1 at the back, 1 in front
    shade[j >> 1] = Math.round(255 * (FAINTEST + (1 - FAINTEST) * Math.min(1, Math.max(0, (depth + 1) / 2))));
  }
  return placed;
}
