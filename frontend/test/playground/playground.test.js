import assert from "node:assert/strict";
import test from "node:test";
import { watch } from "../../src/playground/alarms.ts";
import { randomNumbers } from "../../src/lib/random.ts";
import { balanced } from "../../src/playground/training.ts";
import { followed, LiveLayout } from "../../src/projection/live.ts";
import { basisOf, boxAround, classFan, project, quantized } from "../../src/playground/projection.ts";
import { nearestRows } from "../../src/standalone/nearest.ts";
import { scoresOf } from "../../src/playground/scores.ts";
import { readSettings } from "../../src/playground/settings.ts";

test("an epoch visits every image, each batch all classes alike, and a seed gives the same batches", () => {
  const labels = Array.from({ length: 23 }, (_, i) => (i < 14 ? 0 : 1));
  const batches = () => balanced(labels, 2, 4, randomNumbers(7));
  const [first, again] = [batches(), batches()];
  const seen = new Set();
  for (let batch = 0; batch < 4; batch++) {
    const rows = first.next().value;
    assert.deepEqual(rows, again.next().value);
    assert.deepEqual(
      rows.map((row) => labels[row]),
      [0, 0, 0, 0, 1, 1, 1, 1],
    );
    assert.equal(new Set(rows).size, 8);
    rows.forEach((row) => seen.add(row));
  }
  assert.equal(seen.size, 23);
});

test("scores are those of the definition", () => {
  const scores = scoresOf(Float32Array.of(0, 1, 3, 10, 11), [0, 0, 1, 1, 1], 1);
  assert.equal(scores.precision_at_1, 4 / 5); // the point at 3 finds the one at 1
  assert.equal(scores.map_at_r, 4 / 5); // R is 1 and 2; the point at 3 finds none of its class among two
  assert.equal(scores.mean_negative_distance, (3 + 10 + 11 + 2 + 9 + 10) / 6);
});

test("in a Poincaré ball neighbors and scores go by its distance", () => {
  const rows = Float32Array.of(0, 0, 0.5, 0, 0.9, 0); // at 0, 2 atanh .5 and 2 atanh .9 from the center
  const near = nearestRows(rows, rows.subarray(2, 4), 2, 1, 1);
  assert.deepEqual(
    near.map(([row, distance]) => [row, distance.toFixed(3)]),
    [
      [0, "1.099"],
      [2, "1.846"],
    ],
  );
  assert.deepEqual(nearestRows(rows, rows.subarray(2, 4), 1, 1)[0][0], 2, "in the plane it is the other one");
  const { precision_at_1, mean_norm } = scoresOf(rows, [0, 0, 1], 2, 1);
  assert.equal(precision_at_1, 1);
  assert.equal(mean_norm.toFixed(3), ((1.0986 + 2.9444) / 3).toFixed(3));
});

test("the fan maps class centers to a ring, by orthonormal axes", () => {
  const centers = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
  const points = Float32Array.from(Array.from({ length: 30 }, (_, i) => centers[i % 3]).flat());
  const labels = Array.from({ length: 30 }, (_, i) => i % 3);
  const basis = classFan(points, labels, 3, 3);
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const [x, y] = basis.components;
  for (const [value, wanted] of [
    [dot(x, x), 1],
    [dot(y, y), 1],
    [dot(x, y), 0],
  ])
    assert.ok(Math.abs(value - wanted) < 1e-9);
  const radii = [0, 1, 2].map((i) => Math.hypot(...project(points, basis).slice(2 * i, 2 * i + 2)));
  radii.forEach((radius) => assert.ok(Math.abs(radius - radii[0]) < 1e-6));
});

test("three dimensions are drawn and kept as they are", () => {
  const points = Float32Array.of(1, 2, 3, -1, 0, 9);
  const basis = basisOf(points, [0, 1], 3, 2);
  assert.deepEqual(
    [basis.view, basis.components.map((axis) => [...axis])],
    [
      "plane",
      [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
      ],
    ],
  );
  const positions = project(points, basis);
  const { meta, data } = quantized(positions, boxAround([positions], 1, 3), "all");
  assert.deepEqual([meta.n, meta.dims, meta.center, meta.scale], [2, 3, [0, 1, 6], 3]);
  assert.equal(data.length, 6);
});

test("alarms come once, and go", () => {
  const watching = watch();
  const stats = (active) => ({ loss: 1, active, positive_distance: 1, negative_distance: 1, terms_per_image: 1 });
  const events = Array.from({ length: 41 }, (_, i) => watching.step(i + 1, stats(i < 25 ? 0 : 1))).flat();
  assert.deepEqual(
    events.map(({ event, alarm }) => [event, alarm]),
    [
      ["alarm", "inactive"],
      ["alarm_over", "inactive"],
    ],
  );
  assert.deepEqual(watching.snapshot(0, { mean_negative_distance: 1 }), []);
  assert.match(watching.snapshot(9, { mean_negative_distance: 0.01 })[0].sentence, /collapsed to a point/);
});

const opened = {
  data: { nets: { mlp: "MLP", small: "Small" }, usual_augmentation: { shift: 0.1 } },
  losses: {
    config: { loss: "nt_xent", steps: 300, seed: 0 },
    objectives: [
      { loss: "nt_xent", miner: null, recommended: true, update: { learning_rate: 0.004 } },
      { loss: "triplet", miner: null, recommended: false, update: { learning_rate: 0.002 } },
      { loss: "triplet", miner: "batch_hard", recommended: true, update: { learning_rate: 0.002 } },
    ],
  },
};

test("an address says the settings; what makes no sense is left out, with a sentence each", () => {
  const read = (query) => readSettings(new globalThis.URLSearchParams(query), opened);
  const usual = {
    net: "mlp",
    loss: "nt_xent",
    miner: null,
    learning_rate: 0.004,
    steps: 300,
    seed: 0,
    decay_epochs: 0,
    augmentation: {},
  };
  assert.deepEqual(read(""), { settings: usual, map: "live", trouble: "" });
  assert.deepEqual(read("loss=triplet&rate=0.01&steps=50&seed=3").settings, {
    ...usual,
    loss: "triplet",
    miner: "batch_hard",
    learning_rate: 0.01,
    steps: 50,
    seed: 3,
  });
  assert.equal(read("loss=triplet&miner=all").settings.miner, null);
  assert.deepEqual(read("augmentation=usual&falls=8").settings, {
    ...usual,
    augmentation: { shift: 0.1 },
    decay_epochs: 8,
  });
  const { settings, trouble } = read("loss=hack&rate=-1&steps=1e99&net=%3Cb%3E");
  assert.deepEqual(settings, usual);
  assert.equal(trouble.match(/The address asks for/g).length, 4);
});

test("a layout follows a net, and takes in the other images at the end where their neighbors are", () => {
  const random = randomNumbers(3);
  const d = 8;
  const cloud = (n, apart) =>
    Float32Array.from({ length: n * d }, (_, j) => (Math.floor(j / d) % 4 === j % d ? apart : 0) + 0.3 * random());
  for (const method of ["tsne", "umap", "pca"]) {
    const settings = { method, metric: "euclidean", perplexity: 10, attraction: 1, neighbors: 8, min_dist: 0.1 };
    const layout = new LiveLayout(settings, randomNumbers(1));
    followed(layout, cloud(80, 1), d, false);
    const rows = cloud(160, 1.1);
    const before = followed(layout, rows.slice(0, 80 * d), d, false).positions.slice();
    const { positions, kept } = followed(layout, rows, d, true);
    assert.equal(positions.length, 320);
    assert.ok(kept > (method === "pca" ? 1 : 2.5), `${method} keeps ${kept}`);
    if (method === "pca") continue;
    const of = (points, i) => [points[2 * i], points[2 * i + 1]];
    const apart = ([x, y], [u, v]) => Math.hypot(x - u, y - v);
    for (let i = 80; i < 160; i++) {
      const nearest = [...Array(80).keys()].sort(
        (a, b) => apart(of(positions, i), of(positions, a)) - apart(of(positions, i), of(positions, b)),
      );
      assert.equal(nearest[0] % 4, i % 4, `${method}: image ${i} lies in its own cluster`);
    }
    const size = Math.max(...before) - Math.min(...before);
    const moved = [...Array(80).keys()].map((i) => apart(of(positions, i), of(before, i)) / size).sort((a, b) => a - b);
    assert.ok(moved[40] < 0.3, `${method} jumps by ${moved[40]} of the map`);
  }
});
