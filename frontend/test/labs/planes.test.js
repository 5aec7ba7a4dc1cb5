// Linked maps of a lab: where points are drawn, which is nearest, wedges and histogram of directions.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  angleTo,
  directions,
  fitOf,
  histogram,
  nearest,
  onCircle,
  place,
  wedges,
} from "../../src/labs/lab_planes/planeGeometry.ts";

const near = (a, b, within = 1e-5) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
const all = () => true;

test("a plane fills its square, with y upward", () => {
  const points = new Float32Array([0, 0, 10, 5]);
  const places = place(points, fitOf(points, false, 0));
  [0, 0.75, 1, 0.25].forEach((value, i) => near(places[i], value));
  const around = place(points, fitOf(points, true, 0));
  [0.5, 0.5, 1, 0.25].forEach((value, i) => near(around[i], value));
});

test("the nearest point is within reach and let through", () => {
  const places = new Float32Array([0.1, 0.1, 0.2, 0.1, 0.9, 0.9]);
  assert.equal(nearest(places, 0.12, 0.1, 0.1, all), 0);
  assert.equal(
    nearest(places, 0.12, 0.1, 0.1, (item) => item !== 0),
    1,
  );
  assert.equal(nearest(places, 0.5, 0.5, 0.1, all), -1);
});

test("directions are drawn on a circle", () => {
  const angles = directions(new Float32Array([3, 0, 0, 2, -1, 0]));
  [0, Math.PI / 2, Math.PI].forEach((value, i) => near(angles[i], value));
  const places = onCircle(angles, 0.3);
  [0.8, 0.5, 0.5, 0.2, 0.2, 0.5].forEach((value, i) => near(places[i], value));
});

test("a wedge reaches half the way to the next template on both sides", () => {
  const at = (degrees) => [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  const degrees = (radians) => (radians * 180) / Math.PI;
  const [first, second, third] = wedges([at(350), at(20), at(180)]); // not in order around the circle
  [335 - 70, 365].forEach((value, i) => near(degrees(first[i]), value, 1e-4));
  [5, 100].forEach((value, i) => near(degrees(second[i]), value, 1e-4));
  [100, 265].forEach((value, i) => near(degrees(third[i]), value, 1e-4));
  near(angleTo(Math.PI / 180, at(350)), 11, 1e-4);
  near(angleTo(-Math.PI, at(170)), 10, 1e-4);
});

test("a histogram counts directions by class", () => {
  const counts = histogram(
    new Float32Array([0.1, 0.1, 1.7, -0.1]),
    new Uint8Array([0, 1, 0, 1]),
    2,
    4,
    (item) => item !== 1,
  );
  assert.deepEqual(counts, [
    [1, 1, 0, 0],
    [0, 0, 0, 1],
  ]);
});
