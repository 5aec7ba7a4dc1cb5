// The pictures of the Learn page: plots, the plane of forces, the three spaces.
import assert from "node:assert/strict";
import { test } from "node:test";
import spaces from "../../../app/dmlviz_app/learn/three_spaces.json";
import { pointsOf, readAt, slopeRange } from "../../src/learn/loss_plot/curveChart.ts";
import { NewestQuestion } from "../../src/learn/newestQuestion.ts";
import {
  arrange,
  arrowTips,
  grid,
  hold,
  move,
  nameOf,
  places,
  pulls,
  questionOf,
  refine,
  ring,
  takeStep,
} from "../../src/learn/force_playground/arrangement.ts";
import { formatNumber, rangeOf, visibleParams } from "../../src/widgets/paramControls.tsx";
import { scoreQuery } from "../../src/learn/map_at_r_demo/mapAtRDemo.tsx";
import { limit, reorder, rightAt, toggle } from "../../src/learn/ranking_toy/scores.ts";
import { CLOUDS } from "../../src/learn/layout_playground/clouds.ts";
import { randomNumbers } from "../../src/lib/random.ts";
import { LiveLayout } from "../../src/projection/live.ts";

const near = (a, b, within = 1e-9) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
const CURVE = {
  x: [0, 1, 2],
  near: { loss: [0, 1, 4], slope: [0, 2, 4] },
  far: { loss: [null, 1, 0], slope: [0, -1, 0] },
};
const UNIT = {
  loss: 1,
  active: 1,
  forces: [
    [3, 0],
    [0, 4],
    [0, 0],
  ],
  on_weights: [],
};

test("a curve is read between its samples, and not beyond its ends", () => {
  assert.deepEqual(readAt(CURVE, CURVE.near, 0.5), { value: 0.5, slope: 1 });
  assert.deepEqual(readAt(CURVE, CURVE.near, 1), { value: 1, slope: 2 });
  assert.deepEqual(readAt(CURVE, CURVE.near, 9), { value: 4, slope: 4 });
  assert.deepEqual(readAt(CURVE, CURVE.near, -9), { value: 0, slope: 0 });
  assert.ok(Number.isNaN(readAt(CURVE, CURVE.far, 0.5).value));
  assert.deepEqual(pointsOf(CURVE, CURVE.far.loss), [
    [1, 1],
    [2, 0],
  ]);
});

test("a short steep piece of the slope is cut off, a slope that grows evenly is not", () => {
  const even = Array.from({ length: 100 }, (_, i) => (i - 99) / 50);
  assert.deepEqual(slopeRange(even), { low: -1.98, high: 0, cut: false });
  assert.deepEqual(slopeRange([...even, -500]), { low: -1.96, high: 0, cut: true });
  assert.deepEqual(slopeRange([0, 0, 0]), { low: 0, high: 0, cut: false });
  assert.deepEqual(slopeRange([...Array(99).fill(0), 5]), { low: 0, high: 5, cut: false });
  assert.deepEqual(slopeRange([]), { low: 0, high: 0, cut: false });
});

test("of questions that come while one is under way only the newest is asked", async () => {
  const asked = [];
  const answers = [];
  let answer;
  const questions = new NewestQuestion(
    (said, question) => answers.push([said.value, question]),
    () => assert.fail("no answer"),
    (_, __, question) => {
      asked.push(question);
      return new Promise((resolve) => {
        answer = (value) => resolve({ value });
      });
    },
  );
  for (const question of [1, 2, 3]) questions.ask("/", question);
  assert.ok(!questions.idle);
  answer("a");
  await new Promise(setImmediate);
  answer("c");
  await new Promise(setImmediate);
  assert.deepEqual(asked, [1, 3]);
  assert.deepEqual(answers, [
    ["a", 1],
    ["c", 3],
  ]);
  assert.ok(questions.idle);
});

test("a question that is refused says why", async () => {
  const said = [];
  const refused = () => Promise.reject(new Error("Too many points."));
  new NewestQuestion(
    () => assert.fail("an answer"),
    (why) => said.push(why),
    refused,
  ).ask("/", {});
  await new Promise(setImmediate);
  assert.deepEqual(said, ["Too many points."]);
});

test("a step goes where the forces point, on the plane and on the circle, and not far", () => {
  const now = arrange("triplet");
  const next = takeStep(now, pulls(now, UNIT), 0.01);
  near(next.points[0][0], now.points[0][0] + 0.03);
  near(next.points[1][1], now.points[1][1] + 0.04);
  assert.deepEqual(next.points[2], now.points[2]);
  const far = takeStep(now, pulls(now, UNIT), 1);
  near(far.points[1][1], now.points[1][1] + 0.1);
  const circle = arrange("triplet", { circle: true });
  for (const place of places(takeStep(circle, pulls(circle, UNIT), 0.1))) near(Math.hypot(...place), 1);
});

test("on the circle a force lies along it", () => {
  const now = arrange("triplet", { circle: true });
  pulls(now, UNIT).forces.forEach(([x, y], i) => near(x * now.points[i][0] + y * now.points[i][1], 0));
});

test("the server is asked about the points as they lie, with the class weights after them", () => {
  const now = hold(arrange("batch", { proxies: true }));
  const { points, labels, weights, triplet } = questionOf(now, { margin: 1 });
  assert.deepEqual([points.length, labels.length, weights.length, triplet], [9, 9, 3, false]);
  assert.ok(questionOf(arrange("triplet"), {}).triplet);
});

test("the ground begins at the top left and is drawn finer than it is asked for", () => {
  const [first, second] = grid(2);
  [first[0] + 0.675, first[1] - 0.675, second[0] - 0.675].forEach((off) => near(off, 0));
  assert.deepEqual(ring(4)[0], [1, 0]);
  const fine = refine([0, 1, 2, 3], 4);
  assert.equal(fine.length, 64);
  assert.deepEqual([fine[0], fine[7], fine[56], fine[63]], [0, 1, 2, 3]);
  assert.ok(fine.every((value, i) => i % 8 === 0 || value >= fine[i - 1]));
  assert.equal(refine([0, 1, 2, null], 2)[5], null);
});

test("arrows keep their proportions and end on the plane", () => {
  const now = arrange("triplet");
  const lengths = arrowTips(now, pulls(now, UNIT)).map((tip, i) =>
    Math.hypot(tip[0] - now.points[i][0], tip[1] - now.points[i][1]),
  );
  near(lengths[1] / lengths[0], 4 / 3);
  assert.ok(Math.max(...lengths) <= 0.55 + 1e-9);
});

test("a point dragged off the plane stays at its edge", () => {
  assert.deepEqual(move(arrange("triplet"), 0, [9, -9]).points[0], [1.35, -1.35]);
  assert.equal(nameOf(arrange("batch", { proxies: true }), 9), "Proxy A");
});

test("what a person points at adds up to the scores of the library", () => {
  for (const space of spaces) {
    const all = space.points.map((_, i) => scoreQuery(space, i));
    const mean = (of) => all.reduce((sum, one) => sum + of(one), 0) / all.length;
    near(
      mean(({ average }) => average),
      space.scores.map_at_r,
      1e-4,
    );
    near(
      mean(({ precision }) => precision),
      space.scores.r_precision,
      1e-4,
    );
    near(
      mean(({ first }) => Number(first)),
      space.scores.precision_at_1,
      1e-4,
    );
  }
});

test("a result that is turned over or moved keeps the others in order, and R holds all that are right", () => {
  const start = rightAt([1, 10], 2);
  assert.deepEqual(toggle(start, 4), { hits: rightAt([1, 5, 10], 2).hits, relevant: 3 });
  assert.deepEqual(toggle(start, 0).relevant, 2);
  assert.deepEqual(reorder(start, 9, 1), { hits: rightAt([1, 2], 2).hits, relevant: 2 });
  assert.deepEqual(reorder(start, 0, 3).hits, rightAt([4, 10], 2).hits);
  for (const [asked, given] of [
    [0, 2],
    [7.4, 7],
    [NaN, 2],
    [999, 50],
  ])
    assert.equal(limit(start.hits, asked).relevant, given);
});

test("sliders stay where values are usual, and numbers are short", () => {
  assert.deepEqual(rangeOf({ kind: "float", default: 1, minimum: 0, maximum: 100, step: 0.05 }), {
    low: 0,
    high: 2,
    step: 0.05,
  });
  assert.equal(rangeOf({ kind: "float", default: 0.1, minimum: 0.001, maximum: 10, step: 0.01 }).high, 1);
  assert.equal(rangeOf({ kind: "int", default: 4, minimum: 1, maximum: 8, step: 1 }).high, 8);
  // In steps of 0.05 a slider would show 0 for a default of 0.01.
  assert.equal(rangeOf({ kind: "float", default: 0.01, minimum: 0, maximum: 1, step: 0.05 }).step, 0.01);
  assert.equal(rangeOf({ kind: "float", default: 0.5, minimum: 0.05, maximum: 1, step: 0.05 }).step, 0.05);
  assert.deepEqual(visibleParams([{ name: "margin" }, { name: "reduction" }]), [{ name: "margin" }]);
  assert.deepEqual(
    [formatNumber(-0.0000001), formatNumber(0.6551), formatNumber(-1.5), formatNumber(123456)],
    ["0", "0.655", "−1.5", "1.2e+5"],
  );
});

function measured(title, method, neighbors) {
  const { make, measure } = CLOUDS.find((cloud) => cloud.title === title);
  const { rows, d, labels } = make();
  const settings = { method, metric: "euclidean", perplexity: neighbors, neighbors, min_dist: 0.1, attraction: 1 };
  const layout = new LiveLayout(settings, randomNumbers(1));
  layout.take(rows, d);
  for (let i = 0; i < 60 && !layout.rests; i++) layout.step(10);
  return [measure.of(layout.positions, 2, labels), measure.of(rows, d, labels)];
}

for (const [method, usual, few] of [
  ["tsne", 30, 3],
  ["umap", 15, 4],
]) {
  test(`${method}: sizes of clusters, and distances between them, are not those of the space`, () => {
    for (const [title, most] of [
      ["Two sizes", 3],
      ["Two gaps", 3],
      ["Nested", 4],
    ]) {
      const [onMap, inSpace] = measured(title, method, usual);
      assert.ok(onMap < most && inSpace > 5.5, `${title}: ${onMap} on the map, ${inSpace} in the space`);
    }
  });

  test(`${method}: with few neighbors a line breaks, with more it does not`, () => {
    const [[broken, inSpace], [whole]] = [few, usual].map((neighbors) => measured("A line", method, neighbors));
    assert.ok(broken > 10 && whole < 5 && inSpace < 2, `${broken}, ${whole}, ${inSpace} in the space`);
  });
}

test("two linked rings lie apart, or tear", () => {
  const [[apart, inSpace], [torn]] = [30, 50].map((neighbors) => measured("Two rings", "tsne", neighbors));
  assert.ok(apart < 2 && torn > 5 && inSpace < 2, `${apart}, ${torn}, ${inSpace} in the space`);
});

test("a map at rest moves again when a setting changes, and another method begins anew", () => {
  const { rows, d } = CLOUDS[0].make();
  const settings = { method: "umap", metric: "euclidean", perplexity: 30, neighbors: 15, min_dist: 0.1, attraction: 1 };
  const layout = new LiveLayout(settings, randomNumbers(1));
  layout.take(rows, d);
  layout.step(400);
  assert.ok(layout.rests);
  const before = layout.positions;
  layout.change({ min_dist: 0.8 });
  assert.ok(!layout.rests);
  layout.step(1);
  const moved = Math.max(...layout.positions.map((x, i) => Math.abs(x - before[i])));
  assert.ok(moved > 0 && moved < 5, `it goes on from where it stands: ${moved}`);
  for (const method of ["tsne", "pca"]) {
    layout.change({ method });
    assert.ok(layout.step(5).every(Number.isFinite));
    assert.equal(layout.cost === null, method === "pca");
  }
});

test("a map stands where it is put until a setting changes, and goes on from there as one that looks for neighbors anew", () => {
  const { rows, d } = CLOUDS[0].make();
  for (const method of ["tsne", "umap"]) {
    const settings = { method, metric: "euclidean", perplexity: 30, neighbors: 15, min_dist: 0.1, attraction: 1 };
    const [ahead, anew] = [300, 0].map((count) => {
      const layout = new LiveLayout(settings, randomNumbers(1), count);
      layout.take(rows, d);
      const places = Float32Array.from({ length: (2 * rows.length) / d }, (_, i) => 20 + ((7 * i) % 31));
      layout.place(places);
      assert.ok(layout.rests);
      assert.deepEqual(layout.positions, places);
      layout.change(method === "tsne" ? { perplexity: 12 } : { neighbors: 7 });
      assert.ok(!layout.rests);
      const moved = layout.step(2);
      assert.ok(Math.max(...moved.map((x, i) => Math.abs(x - places[i]))) < 15, "nothing flies off");
      layout.change({ metric: "cosine" });
      return [...layout.step(1), ...layout.near.indices];
    });
    assert.deepEqual(ahead, anew);
  }
});

test("points that coincide, and fewer points than neighbors, have a map of finite places", () => {
  for (const method of ["tsne", "umap", "pca"])
    for (const [n, d] of [
      [2, 3],
      [5, 1],
      [40, 4],
    ]) {
      const settings = { method, metric: "cosine", perplexity: 30, neighbors: 15, min_dist: 0.1, attraction: 1 };
      const layout = new LiveLayout(settings, randomNumbers(1));
      layout.take(new Float32Array(n * d).fill(1), d);
      assert.ok(layout.step(50).every(Number.isFinite), `${method} of ${n} points`);
    }
});
