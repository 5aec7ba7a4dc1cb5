import assert from "node:assert/strict";
import test from "node:test";
import {
  costOf,
  emptySeries,
  frameStep,
  lastStep,
  pointAt,
  rangeOf,
  movingAverage,
  addLoss,
  downsample,
  ticks,
} from "../../src/charts/lossSeries.ts";

const step = (step, loss) => ({ event: "step", step, loss });
function run(...events) {
  const losses = emptySeries();
  for (const event of events) addLoss(losses, event);
  return losses;
}

test("the axis is as long as the run will be, and ends where a run ended", () => {
  const begun = [{ event: "started", steps: 600 }, step(10, 1)];
  assert.equal(lastStep(run(...begun)), 600);
  assert.equal(lastStep(run(...begun, { event: "stopped" })), 10);
  assert.equal(lastStep(emptySeries()), 1);
});

test("a validation loss has a point for each snapshot and the end, and belongs to its own comparisons", () => {
  const started = { event: "started", steps: 20, validation_tuples: 1200, tuple_kind: "pairs" };
  const snapshot = (step, validation_loss) => ({ event: "snapshot", step, validation_loss });
  const losses = run(started, snapshot(0, 2), step(1, 0.5), snapshot(10), {
    event: "finished",
    step: 20,
    metrics: {},
    validation_loss: 0.1,
  });
  assert.deepEqual(losses.validation, [
    { step: 0, loss: 2 },
    { step: 20, loss: 0.1 },
  ]);
  assert.equal(losses.compared, "1,200 fixed pairs");
  assert.deepEqual(rangeOf(losses.points, losses.validation), [0.1, 2], "no point of it leaves the picture");
  assert.equal(run({ event: "started", steps: 20 }, snapshot(0)).compared, "");
});

test("a loss that is not a number is not drawn", () => {
  assert.equal(run(step(1, null), step(3, 2)).points.length, 1);
});

test("the cost of an image is the mean of all steps", () => {
  const at = (step, images_per_second) => ({
    event: "step",
    step,
    loss: 1,
    terms_per_image: 2 * step,
    images_per_second,
  });
  assert.deepEqual(costOf(run(at(1, 100), at(2, 300))), { terms: 3, imagesPerSecond: 150 });
  assert.deepEqual(costOf(run(step(1, 1))), { terms: null, imagesPerSecond: null });
});

test("a mean of equal losses is that loss, from the first point on", () => {
  const points = Array.from({ length: 100 }, (_, i) => ({ step: i, loss: 3 }));
  assert.ok(movingAverage(points).every(({ loss }) => Math.abs(loss - 3) < 1e-12));
});

test("one wild batch does not flatten the rest", () => {
  const points = Array.from({ length: 200 }, (_, i) => ({ step: i, loss: 1 - i / 400 }));
  points[100] = { step: 100, loss: 50 };
  assert.ok(rangeOf(points)[1] < 12);
});

test("a constant loss has room above and cumulative, also at 0", () => {
  for (const loss of [0, 0.2, -1]) {
    const [low, high] = rangeOf([
      { step: 1, loss },
      { step: 2, loss },
    ]);
    assert.ok(low < loss && loss < high);
  }
  assert.deepEqual(rangeOf([]), [0, 1]);
});

test("thinning keeps order, extremes and ends in few points", () => {
  const points = Array.from({ length: 5000 }, (_, i) => ({ step: i, loss: Math.sin(i / 50) }));
  points[1234].loss = 9;
  const kept = downsample(points, 400);
  assert.ok(kept.length <= 402);
  assert.ok(kept.some(({ loss }) => loss === 9));
  assert.ok(kept.every(({ step }, i) => !i || step > kept[i - 1].step));
});

test("ticks are round and few", () => {
  assert.deepEqual(ticks(0.13, 2.4), [1, 2]);
  assert.deepEqual(ticks(0, 0.05), [0, 0.02, 0.04]);
  for (const [low, high] of [
    [0, 1],
    [1e-6, 3e-6],
    [-4, 900],
  ])
    assert.ok(ticks(low, high).length <= 4);
});

test("the curve is a slider over the frames there are", () => {
  const losses = run({ event: "snapshot", step: 0 }, { event: "snapshot", step: 10 }, { event: "snapshot", step: 40 });
  assert.equal(frameStep(losses, 12), 10);
  assert.equal(frameStep(losses, 10, 1), 40);
  assert.equal(frameStep(losses, 10, -1), 0);
  assert.equal(frameStep(losses, 40, 1), 40);
  assert.equal(frameStep(emptySeries(), 3), null);
  assert.equal(pointAt([], 3), null);
});
