import assert from "node:assert/strict";
import test from "node:test";
import { placesAt } from "../../src/map/data/trainPoints.ts";

const points = {
  labels: [0, 1],
  steps: [0, 10, 30],
  places: [
    [
      [0, 0],
      [2, 2],
    ],
    [
      [1, 0],
      [2, 4],
    ],
    [
      [3, 2],
      [2, 8],
    ],
  ],
};

test("at a known step the training images are where that net put them", () => {
  assert.deepEqual(placesAt(points, 0), points.places[0]);
  assert.deepEqual(placesAt(points, 10), points.places[1]);
  assert.deepEqual(placesAt(points, 30), points.places[2]);
});

test("between two known steps they are on the straight way, and before and after them they rest", () => {
  assert.deepEqual(placesAt(points, 15), [
    [1.5, 0.5],
    [2, 5],
  ]);
  assert.deepEqual(placesAt(points, -1), points.places[0]);
  assert.deepEqual(placesAt(points, 99), points.places[2]);
});
