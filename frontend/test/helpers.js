import assert from "node:assert/strict";

let state = 12345;

/** A number in [0, 1), the same ones in every run. */
export function random() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
}

/** Numbers alike within `within`. */
export function close(actual, expected, within = 1e-5) {
  assert.equal(actual.length, expected.length);
  [...actual].forEach((v, i) =>
    assert.ok(Math.abs(v - expected[i]) <= within, `[${i}] is ${v}, expected ${expected[i]}`),
  );
}

/** n points in [-1, 1]², every fifth of them not usable. */
export function scattered(n) {
  return {
    xy: Float32Array.from({ length: 2 * n }, () => random() * 2 - 1),
    usable: Uint8Array.from({ length: n }, (_, i) => (i % 5 === 4 ? 0 : 1)),
  };
}

/** A placed frame: `null` for an item without a place. */
export function placed(points) {
  const xy = new Float32Array(2 * points.length);
  points.forEach((point, i) => point && xy.set(point, 2 * i));
  const present = Uint8Array.from(points, (point) => (point ? 1 : 0));
  return { xy, present, count: present.reduce((a, b) => a + b, 0) };
}

/** A field of each. */
export const pluck = (list, name) => list.map((one) => one[name]);
