import { pluck } from "../helpers.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { rangeOf } from "../../src/map/ui/colorControl.ts";
import { meaningOf, qualityFigures, measuredOn, splitSentence, varianceOf } from "../../src/map/ui/qualityFooter.ts";
import { Model } from "../../src/map/data/model.ts";
import { computePointColors } from "../../src/map/render/pointColors.ts";
import { emptyTimeline, framesOf, isCommon, reduceEvent } from "../../src/map/data/timeline.ts";
import { ramp } from "../../src/lib/palette.ts";
import { luminance } from "../../src/lib/theme.ts";

const theme = { dark: false, background: [255, 255, 255], text: [49, 51, 63], muted: [120, 120, 130] };
const kept = { trustworthiness: 0.98761, continuity: 0.95, neighbors_kept: 0.421, distance_correlation: 0.612, k: 10 };

test("the figures of a picture are those that were measured, and on how many images", () => {
  assert.deepEqual(
    qualityFigures(kept).map(([words]) => words),
    ["trustworthiness 0.988", "continuity 0.950", "4.2 of 10 neighbors preserved", "distance correlation 0.61"],
  );
  assert.deepEqual(qualityFigures(null), []);
  const [words, help] = qualityFigures({ ...kept, index_recall: 0.9782, index_measured: 1000 }).at(-1);
  assert.equal(words, "drawn from neighbors of which 97.8% are right, checked on 1,000");
  assert.match(help, /by an index/);
  assert.equal(measuredOn({ measured: 1000, n: 10000 }, "at step 60"), "on 1,000 of 10,000 test images, at step 60");
  assert.equal(measuredOn({ measured: 596, n: 596 }, ""), "on 596 test images");
  assert.equal(measuredOn({ measured: 500, n: 500 }, "", "point"), "on 500 points");
});

test("a map begins with what may be read from it", () => {
  const meaning = (neighbors_kept, distance_correlation, isLinear = true) =>
    meaningOf({ ...kept, neighbors_kept, distance_correlation }, isLinear);
  assert.equal(meaning(0.07, 0.9), "0.7 of 10 neighbors survive: do not read distances here.");
  assert.match(meaning(0.5, 0.99), /read groups here, not distances/);
  assert.match(meaning(0.86, 0.6), /who is near, not how far/);
  assert.match(meaning(1, 1), /near and far can be read/);
  assert.match(meaning(1, 1, false), /who is near, not how far/); // a t-SNE of two dimensions
  assert.equal(meaningOf(null, true), "");
  assert.deepEqual(splitSentence("One thing: 0.5 of it. Another one. And more."), [
    "One thing: 0.5 of it.",
    "Another one. And more.",
  ]);
  assert.deepEqual(splitSentence("Only one."), ["Only one.", ""]);
});

test("the variance is told by component where one was chosen", () => {
  assert.equal(varianceOf([0.231, 0.0412], [1, 3]), "component 1: 23%, component 3: 4.1% of the variance");
  assert.equal(varianceOf(null, [1, 2]), "");
});

test("a map that follows a training plays by its steps, each layout with its quality, and ends with all images", () => {
  const timeline = emptyTimeline();
  reduceEvent(timeline, { event: "started", method: "tsne", training_steps: 90, iterations: 1000 });
  reduceEvent(timeline, { event: "frame", iteration: 30, of: 90, step: 30, frame: { id: "a" }, faithfulness: kept });
  reduceEvent(timeline, { event: "frame", iteration: 60, of: 90, step: 60, frame: { id: "b" }, note: "Collapsed." });
  assert.equal(timeline.total, 90);
  assert.ok(isCommon(timeline));
  reduceEvent(timeline, { event: "phase", words: "Settling", iteration: 5, of: 1000 });
  assert.equal(timeline.phase, "Settling");
  reduceEvent(timeline, { event: "finished", iteration: 90, frame: { id: "c" } });
  assert.equal(timeline.phase, "");
  assert.deepEqual(
    framesOf(timeline).map(({ step, frame, provisional }) => [step, frame.id, provisional]),
    [
      [30, "a", true],
      [60, "b", true],
      [90, "c", false],
    ],
  );
  assert.equal(framesOf(timeline)[0].faithfulness, kept);
  assert.equal(framesOf(timeline)[1].note, "Collapsed.");
});

test("after a pause the frames go on where they were", () => {
  const timeline = emptyTimeline();
  reduceEvent(timeline, { event: "started", iterations: 600 });
  reduceEvent(timeline, { event: "frame", iteration: 200, of: 600, frame: { id: "a" } });
  reduceEvent(timeline, { event: "stopped", iteration: 210, frame: { id: "b" } });
  reduceEvent(timeline, { event: "started", iterations: 600, iteration: 210 });
  reduceEvent(timeline, { event: "frame", iteration: 220, of: 600, frame: { id: "c" } });
  assert.equal(timeline.state, "running");
  assert.deepEqual(pluck(framesOf(timeline), "step"), [200, 210, 220]);
});

test("the ramp grows darker on light and lighter on dark, so that no color sense is needed", () => {
  for (const dark of [false, true]) {
    const at = ramp({ ...theme, dark, background: dark ? [14, 17, 23] : [255, 255, 255] });
    const light = [0, 0.25, 0.5, 0.75, 1].map((share) => luminance(at(share)));
    for (let i = 1; i < light.length; i++)
      assert.ok(dark ? light[i] > light[i - 1] : light[i] < light[i - 1], `${dark} ${light}`);
  }
});

test("points are graded by their numbers, what is striking lies in front, what is unknown stays quiet", () => {
  const model = new Model(["a"], new Uint8Array(3), 3);
  model.grades = { numbers: Float32Array.of(0, 1, NaN), low: 0, high: 1, alarming: (share) => share };
  const { paint, marks } = computePointColors({
    model,
    colors: [[1, 2, 3]],
    theme,
    shapeIds: null,
    colorBy: "center",
    spotlight: null,
  });
  const at = ramp(theme);
  assert.deepEqual([...paint.slice(0, 3)], at(0));
  assert.deepEqual([...paint.slice(4, 7)], at(1));
  assert.deepEqual([...paint.slice(8, 11)], at(0));
  assert.deepEqual([marks[1], marks[3]], [1, 2]);
});

test("one far point does not make all others look near", () => {
  const numbers = Float32Array.from({ length: 201 }, (_, i) => (i === 200 ? 1e6 : i / 100));
  assert.ok(rangeOf(numbers)[1] < 3);
});
