// Random changes of gray images, as dmlviz/training/labeled_images.py makes them. Pure: no DOM.

/** Strengths by the names of dmlviz/catalog/specs.toml; one that is missing is 0. */
export type Strengths = Record<string, number>;

/** Write a changed copy of a square image of bytes, which begins `from`; what is uncovered gets `ground`. */
export function augment(
  pixels: Uint8Array,
  from: number,
  to: Uint8Array,
  { flip = 0, crop = 0, ratio = 0.25, shift = 0, rotate = 0, erase = 0, jitter = 0 }: Strengths,
  ground: number,
  random: () => number,
): void {
  const size = Math.sqrt(to.length);
  const between = (low: number, high: number) => low + (high - low) * random();
  const mirrored = random() < flip ? -1 : 1;
  // The crop: an area and a shape, the first of ten whose sides are no longer than the image's.
  let [w, h] = [1, 1];
  for (let tries = 0; crop && tries < 10 && (!tries || Math.max(w, h) > 1); tries++) {
    const area = 1 - crop * random();
    const shape = Math.exp(between(Math.log(1 - ratio), -Math.log(1 - ratio)));
    [w, h] = [Math.sqrt(area * shape), Math.sqrt(area / shape)];
  }
  [w, h] = [Math.min(1, w), Math.min(1, h)];
  const [left, top] = [between(0, 1 - w) - (1 - w) / 2, between(0, 1 - h) - (1 - h) / 2];
  const angle = (between(-rotate, rotate) * Math.PI) / 180;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const [dx, dy] = [0, 0].map(() => Math.round(between(-shift, shift) * size));
  const [light, contrast] = [between(1 - jitter, 1 + jitter), between(1 - jitter, 1 + jitter)];
  const middle = (size - 1) / 2;
  const at = (x: number, y: number) =>
    pixels[from + Math.min(size - 1, Math.max(0, y)) * size + Math.min(size - 1, Math.max(0, x))];
  let sum = 0;
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      // Where the pixel was before shift and rotation, and before the crop and the mirror.
      const [u, v] = [x - middle - dx, y - middle - dy];
      const [p, q] = [cos * u + sin * v, cos * v - sin * u];
      let value = ground;
      if (Math.abs(p) <= middle + 0.5 && Math.abs(q) <= middle + 0.5) {
        const [sx, sy] = [mirrored * (w * p + left * size) + middle, h * q + top * size + middle];
        const [x0, y0] = [Math.floor(sx), Math.floor(sy)];
        const [fx, fy] = [sx - x0, sy - y0];
        const above = at(x0, y0) * (1 - fx) + at(x0 + 1, y0) * fx;
        value = above * (1 - fy) + (at(x0, y0 + 1) * (1 - fx) + at(x0 + 1, y0 + 1) * fx) * fy;
      }
      value = Math.min(255, value * light);
      sum += value;
      to[y * size + x] = Math.round(value);
    }
  if (jitter) {
    const mean = sum / to.length;
    for (let i = 0; i < to.length; i++)
      to[i] = Math.round(Math.min(255, Math.max(0, mean + contrast * (to[i] - mean))));
  }
  if (erase && random() < 0.5) {
    const share = between(Math.min(0.02, erase), erase);
    const tall = Math.exp(between(Math.log(0.3), Math.log(3.3)));
    const sides = [share * tall, share / tall].map((one) => Math.min(size, Math.round(size * Math.sqrt(one))));
    const [x, y] = sides.map((side) => Math.floor(between(0, size - side + 1)));
    for (let row = y; row < y + sides[1]; row++) to.fill(ground, row * size + x, row * size + x + sides[0]);
  }
}
