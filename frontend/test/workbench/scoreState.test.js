import assert from "node:assert/strict";
import test from "node:test";
import {
  captionAt,
  emptyScores,
  reasonAt,
  scoreInWords,
  scoresAt,
  shortCaptionAt,
  stepAt,
  reduceScores,
} from "../../src/workbench/scores/scoreState.ts";

function run(...events) {
  const readings = emptyScores();
  for (const event of events) reduceScores(readings, event);
  return readings;
}
const started = {
  event: "started",
  steps: 600,
  tracked: 2000,
  test_images: 10000,
  validation_images: 6000,
  scored_images: 1000,
};
const snapshot = (step, value) => ({ event: "snapshot", step, metrics: { precision_at_1: value } });
const first = (readings, step) => scoresAt(readings, step)[0];

test("before the first snapshot there is no score", () => {
  const readings = run(started);
  assert.equal(first(readings).value, null);
  assert.equal(first(readings).change, null);
  assert.match(captionAt(readings), /first snapshot/);
  reduceScores(readings, { event: "end", state: "finished" });
  assert.equal(captionAt(readings), "No scores of this run");
});

test("the first score is said in words, and never as all where one image fails", () => {
  const words = (value) => scoreInWords(run(started, snapshot(0, value)), null);
  assert.equal(words(0.936), "94 of 100 images have a nearest neighbor of their own class");
  const cut = { ...run(started, snapshot(0, 0.936)), whole: 64 };
  assert.match(scoreInWords(cut, null), /own class, by all 64 dimensions$/);
  assert.match(words(0.9996), /^99.9 of 100/);
  assert.match(words(1), /^100 of 100/);
  const few = { event: "finished", step: 1, test_images: 60, metrics: { precision_at_1: 59 / 60, queries: 60 } };
  assert.match(scoreInWords(run(started, few), null), /^59 of 60 images/);
  few.metrics.queries_left_out = 4;
  assert.match(scoreInWords(run(started, few), null), /own class; 4 without a label, or alone with it, are left out$/);
  const table = { ...few, test_images: 66, metrics: { precision_at_1: 1, queries: 60 } };
  const rows = run({ ...started, steps: 0, test_images: 66 }, table);
  assert.match(scoreInWords(rows, null, true), /have a right neighbor; 6 left out$/);
  assert.equal(scoreInWords(run(started), null), "");
});

test("what is said of rows speaks of no images", () => {
  const end = { event: "finished", step: 0, test_images: 600, metrics: { precision_at_1: 0.9, queries: 600 } };
  const readings = run({ ...started, steps: 0, tracked: 600, test_images: 600, validation_images: 0 }, end);
  readings.noun = "row";
  const scores = scoresAt(readings).filter(({ absent }) => !absent);
  const sentences = scores.flatMap(({ title, images }) => [title, images]);
  sentences.push(
    captionAt(readings),
    shortCaptionAt(readings),
    scoreInWords(readings, null),
    reasonAt(readings, null, ""),
  );
  assert.equal(sentences.length, 16);
  for (const words of sentences) assert.doesNotMatch(words, /image|embeddings/);
  assert.match(captionAt(readings), /600 rows/);
});

test("the newest score is shown until a step is asked for", () => {
  const readings = run(started, snapshot(0, 0.5), snapshot(10, 0.75), snapshot(20, 0.875));
  assert.equal(first(readings).value, 0.875);
  assert.equal(first(readings, 10).value, 0.75);
  assert.equal(first(readings, 19).value, 0.75);
  assert.equal(stepAt(readings, 19), 10);
});

test("change is counted from the untrained net", () => {
  const readings = run(started, snapshot(0, 0.5), snapshot(10, 0.75));
  assert.equal(first(readings).change, 0.25);
  assert.equal(first(readings, 0).change, null);
});

test("the caption says on which images and when", () => {
  const readings = run(started, snapshot(0, 0.5), snapshot(10, 0.75));
  assert.equal(captionAt(readings, 0), "On 1,000 validation images (each against the others), before training");
  assert.equal(captionAt(readings), "On 1,000 validation images (each against the others), after 10 steps");
  assert.equal(first(readings).images, "validation images");
  const few = run({ ...started, validation_images: 120, scored_images: 120 }, snapshot(0, 0.5));
  assert.equal(captionAt(few), "On all 120 validation images (each against the others), before training");
});

test("the caption of a small screen fits into the foot of the scores at 1280 × 720", () => {
  const most = 72; // characters of 12 pixels
  const shot = (step) => ({ ...snapshot(step, 0.5), metrics: { map_at_r: 0.3 }, train_metrics: { map_at_r: 0.488 } });
  const training = run(started, shot(0), shot(6000));
  assert.equal(shortCaptionAt(training), "1,000 validation images, step 6,000; MAP@R 0.188 below training");
  const metrics = { map_at_r: 0.3, queries: 2000, knn_probe_accuracy: NaN };
  const end = { event: "stopped", step: 6000, metrics, test_images: 10000, validation_metrics: { map_at_r: 0.3 } };
  const stopped = run({ ...started, unseen: ["7", "8"] }, shot(0), { ...end, train_metrics: { map_at_r: 0.488 } });
  assert.equal(shortCaptionAt(stopped), "2,000 of 10,000 test images, step 6,000; MAP@R 0.188 below training");
  assert.equal(shortCaptionAt(stopped, 0), "1,000 validation images, step 0; MAP@R 0.188 below training");
  const given = run({ ...started, steps: 0 }, { ...end, metrics: { map_at_r: 0.3, queries: 10000 } });
  given.noun = "point";
  assert.equal(shortCaptionAt(given), "10,000 points");
  for (const readings of [training, stopped, given]) assert.ok(shortCaptionAt(readings).length <= most);
  assert.match(shortCaptionAt(run(started)), /first snapshot/);
});

test("the caption says how many test images are scored after Stop", () => {
  const metrics = { precision_at_1: 0.75, queries: 1990, queries_left_out: 10 };
  const end = { event: "stopped", step: 20, metrics, validation_metrics: { precision_at_1: 0.5 }, test_images: 10000 };
  const stopped = run(started, snapshot(0, 0.5), end);
  assert.equal(captionAt(stopped), "On 2,000 of the 10,000 test images, after 20 steps; validation: 1,000 images");
  const whole = run(started, snapshot(0, 0.5), { ...end, metrics: { ...metrics, queries: 9990 } });
  assert.equal(captionAt(whole), "On all 10,000 test images, after 20 steps; validation: 6,000 images");
});

test("the caption says whose labels the probes use, and that there are none after Stop", () => {
  const probes = { knn_probe_accuracy: 0.75, linear_probe_accuracy: 0.875 };
  const end = (event, metrics) => ({ event, step: 20, metrics: { precision_at_1: 0.5, ...metrics }, test_images: 50 });
  const tile = (readings) => scoresAt(readings).find(({ label }) => label === "Linear probe");
  const finished = run(started, snapshot(0, 0.5), end("finished", probes));
  assert.match(captionAt(finished), /after 20 steps; probes: by the labels of training images$/);
  assert.equal(tile(finished).value, 0.875);
  const heldOut = run({ ...started, unseen: ["7"] }, snapshot(0, 0.5), end("finished", probes));
  assert.match(captionAt(heldOut), /scored separately; probes: by the labels of training images, seen classes only$/);
  const none = { knn_probe_accuracy: null, linear_probe_accuracy: null };
  const stopped = run(started, snapshot(0, 0.5), end("stopped", none));
  assert.match(captionAt(stopped), /; probes: not computed after Stop$/);
  assert.deepEqual([tile(stopped).value, tile(stopped).absent], [null, false]);
  const labeled = run(started, snapshot(0, 0.5), end("finished", {}));
  assert.doesNotMatch(captionAt(labeled), /probe/);
  assert.equal(tile(labeled).absent, true);
});

test("without validation images the snapshots score test images, and the caption says so", () => {
  const readings = run({ ...started, validation_images: 0, scored_images: 2000 }, snapshot(0, 0.5));
  assert.equal(captionAt(readings), "On 2,000 test images (each against the others), before training");
  assert.equal(first(readings).images, "tracked test images");
});

test("the images that a click selects are test images, at each step", () => {
  const readings = run(started, snapshot(0, 0.5), snapshot(10, 0.75));
  assert.equal(
    reasonAt(readings, 10, "Wrong"),
    "Wrong. Of 2,000 test images (each against the others), after 10 steps.",
  );
});

test("at the end the score of the validation images stands beside that of the test images", () => {
  const end = { event: "finished", step: 10, metrics: { precision_at_1: 0.9 }, test_images: 10000 };
  const readings = run(started, snapshot(0, 0.5), { ...end, validation_metrics: { precision_at_1: 0.92 } });
  assert.deepEqual(first(readings).apart, [{ group: "validation", value: 0.92 }]);
  assert.deepEqual(first(readings, 0).apart, []);
  assert.equal(captionAt(readings), "On all 10,000 test images, after 10 steps; validation: 6,000 images");
});

test("the gap between training and validation images is told, of the last step that has both", () => {
  const shot = (step, value, train) => ({
    event: "snapshot",
    step,
    metrics: { map_at_r: value },
    ...(train === undefined ? {} : { train_metrics: { map_at_r: train } }),
  });
  const readings = run(started, shot(0, 0.25, 0.3), shot(10, 0.5), shot(20, 0.75, 0.95), shot(30, 0.8));
  assert.match(captionAt(readings, 10), /; MAP@R 0\.050 below that in training$/);
  assert.match(captionAt(readings), /; MAP@R 0\.200 below that in training$/);
  assert.match(captionAt(run(started, shot(0, 0.3, 0.25))), /; MAP@R 0\.050 above that in training$/);
  assert.doesNotMatch(captionAt(run(started, shot(0, 0.25))), /in training/);
});

test("only a run whose loss has class scores has a head accuracy", () => {
  const head = (readings) => scoresAt(readings).find(({ key }) => key === "head_accuracy");
  assert.equal(head(run(started, snapshot(0, 0.5))).absent, true);
  const readings = run(started, { event: "snapshot", step: 0, metrics: { head_accuracy: 0.4 } });
  assert.equal(head(readings).absent, false);
  assert.equal(head(readings).value, 0.4);
});

test("the end is measured on all test images, and says so; the change stays one of the same images", () => {
  const end = { event: "finished", step: 10, metrics: { precision_at_1: 0.9, nmi: 0.8 }, test_images: 10000 };
  const readings = run(started, snapshot(0, 0.5), snapshot(10, 0.75), end);
  assert.equal(first(readings).value, 0.9);
  assert.equal(first(readings).change, 0.25);
  assert.equal(captionAt(readings), "On all 10,000 test images, after 10 steps");
  assert.equal(first(readings, 0).value, 0.5);
  assert.equal(scoresAt(readings).find(({ key }) => key === "nmi").value, 0.8);
});

test("a run stopped before its end was scored keeps its last snapshot", () => {
  const readings = run(started, snapshot(0, 0.5), { event: "stopped", step: 3, metrics: {} });
  assert.equal(first(readings).value, 0.5);
});

test("a score that is not a number is shown as none", () => {
  assert.equal(first(run(started, snapshot(0, null))).value, null);
  assert.equal(first(run(started, snapshot(0, NaN))).value, null);
});

test("of a run with unseen classes each score is also that of the seen and of the unseen ones", () => {
  const metrics = { precision_at_1: 0.9, "seen/precision_at_1": 0.95, "unseen/precision_at_1": 0.75, "seen/nmi": NaN };
  const readings = run({ ...started, unseen: ["7", "8"] }, { event: "snapshot", step: 5, metrics });
  assert.deepEqual(first(readings).apart, [
    { group: "seen", value: 0.95 },
    { group: "unseen", value: 0.75 },
  ]);
  assert.deepEqual(scoresAt(readings).find(({ key }) => key === "nmi").apart, []);
  assert.match(captionAt(readings), /; classes held out of training \(7, 8\) are scored separately$/);
  assert.deepEqual(first(run(started, snapshot(0, 0.5))).apart, []);
});
