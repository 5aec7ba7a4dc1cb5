// What one plays with in the labs: places that are alike, and a metric in the plane.
import assert from "node:assert/strict";
import { columnsOf, grayOf, highest, middleOf, move, placeAt, similarities } from "../../src/labs/lab_picture/alike.ts";
import { principalAxes } from "../../src/labs/lab_picture/miniMap.tsx";
import {
  EUCLID,
  LEARNERS,
  covariance,
  descend,
  eigen,
  inverse,
  matrixOf,
  nearestError,
  normals,
  objective,
  pointsOf,
  squared,
} from "../../src/labs/metric_playground/planeMetric.ts";
import { accuracy, ratesAt, thresholdNear } from "../../src/labs/threshold/threshold.tsx";
import { decodeVideo, heat, keyedBox, squareOf, summary } from "../../src/labs/tracker/videoState.ts";
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

const near = (a, b, within = 1e-9) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);

test("similarities are dot products with one row", () => {
  const rows = new Int8Array([127, 0, 0, 127, -127, 0, 90, 90]);
  const values = similarities(rows, 2, 0);
  [1, 0, -1, 90 / 127].forEach((value, i) => near(values[i], value, 1e-6));
});

test("the highest come first, without the place itself, ties by number", () => {
  assert.deepEqual(highest([5, 9, 9, 1], 3, 1), [2, 0, 3]);
  assert.deepEqual(highest([3, 3, 3], 2), [0, 1]);
});

test("a place is found under its middle, and beyond the edge the nearest one is", () => {
  const grid = { columns: 5, first: 14, step: 28 };
  for (const place of [0, 4, 7, 24]) assert.equal(placeAt(grid, ...middleOf(grid, place)), place);
  assert.equal(placeAt(grid, -50, 900), 20);
});

test("arrow keys lead to neighbors and stop at the edges", () => {
  const grid = { columns: 3, first: 0, step: 1 };
  assert.equal(move(grid, 4, "ArrowRight"), 5);
  assert.equal(move(grid, 5, "ArrowRight"), 5);
  assert.equal(move(grid, 4, "ArrowUp"), 1);
  assert.equal(move(grid, 4, "Enter"), null);
});

test("a distance with A = WᵀW is that of the points that W maps", () => {
  const w = [1, 0.5, -0.3, 2];
  const [x, y] = [
    [1, 2],
    [-0.5, 0.25],
  ];
  const [dx, dy] = [x[0] - y[0], x[1] - y[1]];
  const mapped = (w[0] * dx + w[1] * dy) ** 2 + (w[2] * dx + w[3] * dy) ** 2;
  near(squared(matrixOf(w), x, y), mapped);
});

test("Mahalanobis' distance to the end of a long axis is 1, as to the end of a short one", () => {
  const group = { middle: [0, 0], long: 3, wide: 0.5, tilt: 0.6 };
  const matrix = inverse(covariance(group));
  near(squared(matrix, [0, 0], [3 * Math.cos(0.6), 3 * Math.sin(0.6)]), 1);
  near(squared(matrix, [0, 0], [-0.5 * Math.sin(0.6), 0.5 * Math.cos(0.6)]), 1);
  const { large, small, angle } = eigen(covariance(group));
  near(large, 9);
  near(small, 0.25);
  near(angle, 0.6);
});

test("each learner's gradient is that of its loss", () => {
  const points = normals(8, 3);
  const labels = points.map((_, i) => i % 2);
  for (const learner of LEARNERS) {
    const w = [0.9, 0.2, -0.1, 1.1];
    const [, gradient] = objective(learner, w, points, labels);
    for (let k = 0; k < 4; k++) {
      const at = (by) =>
        objective(
          learner,
          w.map((value, i) => value + (i === k ? by : 0)),
          points,
          labels,
        )[0];
      near(gradient[k], (at(1e-5) - at(-1e-5)) / 2e-5, 1e-4);
    }
  }
});

test("learning lowers the error of the nearest neighbor between two slanted groups", () => {
  const groups = [
    { middle: [-1, 0.4], long: 1.5, wide: 0.35, tilt: 0.75 },
    { middle: [0.8, -0.5], long: 1.5, wide: 0.35, tilt: 0.75 },
  ];
  const points = groups.flatMap((group, i) => pointsOf(group, normals(30, 7 + i)));
  const labels = points.map((_, i) => Number(i >= 30));
  for (const learner of ["nca", "lmnn"]) {
    let w = [1, 0, 0, 1];
    const [before] = objective(learner, w, points, labels);
    for (let step = 0; step < 100; step++) w = descend(w, objective(learner, w, points, labels)[1], 0.1);
    assert.ok(objective(learner, w, points, labels)[0] < before, learner);
    assert.ok(nearestError(matrixOf(w), points, labels) <= nearestError(EUCLID, points, labels), learner);
    const strict = eigen(matrixOf(w)).angle;
    near(Math.abs(Math.sin(strict - (0.75 + Math.PI / 2))), 0, 0.4); // strict across the long axis
  }
});

test("normal numbers are the same for a seed, and about normal", () => {
  assert.deepEqual(normals(5, 1), normals(5, 1));
  const values = normals(2000, 2).flat();
  near(values.reduce((sum, value) => sum + value, 0) / values.length, 0, 0.06);
  near(values.reduce((sum, value) => sum + value * value, 0) / values.length, 1, 0.08);
});

test("a picture of one's own has as many tiles as it holds, within limits, and is gray", () => {
  const limits = { least: 12, most: 56, cell: 28 };
  assert.deepEqual(
    [100, 1000, 5000].map((shorter) => columnsOf(shorter, limits)),
    [12, 35, 56],
  );
  assert.deepEqual([...grayOf(new Uint8ClampedArray([255, 255, 255, 9, 100, 0, 0, 255]))], [255, 30]);
});

test("the principal axes of an ellipse are its long and its short one", () => {
  const rows = new Int8Array(3 * 360);
  for (let i = 0; i < 360; i++) {
    const [a, b] = [100 * Math.cos((i * Math.PI) / 180), 40 * Math.sin((i * Math.PI) / 180)];
    rows.set([0.6 * a - 0.8 * b, 0.8 * a + 0.6 * b, 7].map(Math.round), 3 * i); // turned, in the plane z = 7
  }
  const places = principalAxes(rows, 3);
  for (let i = 0; i < 360; i += 30) {
    near(Math.abs(places[2 * i]), Math.abs(100 * Math.cos((i * Math.PI) / 180)), 1.5);
    near(Math.abs(places[2 * i + 1]), Math.abs(40 * Math.sin((i * Math.PI) / 180)), 1.5);
  }
});

test("rates are the shares below the threshold, and the ROC leads back to it", () => {
  const histograms = { edges: [0, 1, 2, 3], same: [0.6, 0.3, 0.1], different: [0, 0.25, 0.75] };
  assert.deepEqual(ratesAt(histograms, 1), { recall: 0.6, falsePositives: 0 });
  const { recall, falsePositives } = ratesAt(histograms, 1.5);
  near(recall, 0.75);
  near(falsePositives, 0.125);
  near(accuracy({ recall, falsePositives }), (0.75 + 0.875) / 2);
  near(thresholdNear(histograms, 0.125, 0.75), 1.5, 0.01);
  near(ratesAt(histograms, 9).recall, 1);
  near(ratesAt(histograms, 9).falsePositives, 1);
});

test("a video is decoded, and the first frame does not count in the mean overlap", () => {
  const video = decodeVideo({
    frames: "AAEC/w==",
    side: 2,
    count: 3,
    stride: 2,
    first: [1, 1, 2],
    truth: [[1, 1, 2]],
    followers: [{ title: "a", boxes: [], maps: "BQ==", overlaps: [1, 0.5, 0.1], frames_followed: 2, milliseconds: 1 }],
  });
  assert.deepEqual([...video.frames], [0, 1, 2, 255]);
  assert.equal(video.mapSide, 1);
  assert.deepEqual([...video.followers[0].maps], [5]);
  assert.equal(video.followers[0].mean.toFixed(3), "0.300");
  assert.equal(summary(video.followers[0], 3), "mean IoU 0.30, lost at frame 2");
  assert.equal(summary({ ...video.followers[0], frames_followed: 3 }, 3), "mean IoU 0.30, kept to the end");
});

test("a drag is a square around its middle, a click one of the usual side", () => {
  assert.deepEqual(squareOf([10, 20], [30, 24], 64, 18), [22, 20, 20]); // row, column, side
  assert.deepEqual(squareOf([10, 20], [11, 20], 64, 18), [20, 10, 18]);
  assert.deepEqual(squareOf([-9, 70], [-9, 70], 64, 18), [63, 0, 18]);
});

test("keys move and resize a box within the picture; arrows alone do not", () => {
  assert.deepEqual(keyedBox([20, 30, 16], "ArrowUp", true, 64), [19, 30, 16]);
  assert.deepEqual(keyedBox([20, 63, 16], "ArrowRight", true, 64), [20, 63, 16]);
  assert.deepEqual(keyedBox([20, 30, 16], "+", true, 64), [20, 30, 18]);
  assert.deepEqual(keyedBox([20, 30, 4], "-", false, 64), [20, 30, 4]);
  assert.equal(keyedBox([20, 30, 16], "ArrowUp", false, 64), null);
  assert.equal(keyedBox([20, 30, 16], "Enter", false, 64), null);
});

test("scores go from dark to light", () => {
  const brightness = [0, 64, 128, 192, 255].map((score) => heat(score).reduce((sum, value) => sum + value, 0));
  assert.deepEqual(
    brightness,
    [...brightness].sort((a, b) => a - b),
  );
  assert.ok(heat(255)[0] === 255 && heat(0)[0] < 20);
});

const nearTo = (a, b, within = 1e-5) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
const all = () => true;

test("a plane fills its square, with y upward", () => {
  const points = new Float32Array([0, 0, 10, 5]);
  const places = place(points, fitOf(points, false, 0));
  [0, 0.75, 1, 0.25].forEach((value, i) => nearTo(places[i], value));
  const around = place(points, fitOf(points, true, 0));
  [0.5, 0.5, 1, 0.25].forEach((value, i) => nearTo(around[i], value));
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
  [0, Math.PI / 2, Math.PI].forEach((value, i) => nearTo(angles[i], value));
  const places = onCircle(angles, 0.3);
  [0.8, 0.5, 0.5, 0.2, 0.2, 0.5].forEach((value, i) => nearTo(places[i], value));
});

test("a wedge reaches half the way to the next template on both sides", () => {
  const at = (degrees) => [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  const degrees = (radians) => (radians * 180) / Math.PI;
  const [first, second, third] = wedges([at(350), at(20), at(180)]); // not in order around the circle
  [335 - 70, 365].forEach((value, i) => nearTo(degrees(first[i]), value, 1e-4));
  [5, 100].forEach((value, i) => nearTo(degrees(second[i]), value, 1e-4));
  [100, 265].forEach((value, i) => nearTo(degrees(third[i]), value, 1e-4));
  nearTo(angleTo(Math.PI / 180, at(350)), 11, 1e-4);
  nearTo(angleTo(-Math.PI, at(170)), 10, 1e-4);
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
