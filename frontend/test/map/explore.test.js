import assert from "node:assert/strict";
import test from "node:test";
import { pluck } from "../helpers.js";
import { frameStep } from "../../src/charts/lossSeries.ts";
import { Frames, quantize } from "../../src/map/data/frames.ts";
import { mapRanks } from "../../src/map/control/publishState.ts";
import { placeAt } from "../../src/map/math/queryMarker.ts";
import {
  canRefit,
  emptyTimeline,
  framesOf,
  positionOfStep,
  isCommon,
  stepAt,
  reduceEvent,
} from "../../src/map/data/timeline.ts";
import { firstOf, trailPoints } from "../../src/map/render/trails.ts";
import { classScores, confusionsOf, failingItems, parsePerImage, predictedAs } from "../../src/lib/perImage.ts";
import { groupByClass, csvOf } from "../../src/lib/selection.ts";

const frame = (id, extra = {}) => ({ id, n: 2, dims: 2, center: [0, 0], scale: 1, items: "all", ...extra });

function trained(view = "fan") {
  const timeline = emptyTimeline();
  reduceEvent(timeline, { event: "started", steps: 40, view });
  for (const step of [0, 10, 30]) reduceEvent(timeline, { event: "snapshot", step, frame: frame(`own${step}`) });
  const frames = [0, 10, 30, 40].map((step) => ({ step, ...frame(`common${step}`) }));
  reduceEvent(timeline, { event: "replay", frames });
  reduceEvent(timeline, { event: "finished", step: 40 });
  return timeline;
}
const ids = (timeline) => framesOf(timeline).map((entry) => entry.frame.id);

test("refit plays the frames as they came, each on its own basis, and ends with the same last one", () => {
  const timeline = trained();
  assert.deepEqual(ids(timeline), ["common0", "common10", "common30", "common40"]);
  timeline.refit = true;
  assert.deepEqual(ids(timeline), ["own0", "own10", "own30", "common40"]);
  assert.deepEqual(pluck(framesOf(timeline), "step"), [0, 10, 30, 40]);
  assert.equal(framesOf(timeline), framesOf(timeline), "the entries keep their identity");
});

test("there is nothing to refit in the plane, nor before the end", () => {
  assert.equal(canRefit(trained("plane")), false);
  assert.equal(canRefit(trained()), true);
  assert.equal(canRefit(emptyTimeline()), false);
});

test("only frames on one basis make a way", () => {
  const timeline = trained();
  assert.equal(isCommon(timeline), true);
  timeline.refit = true;
  assert.equal(isCommon(timeline), false);
  const plane = emptyTimeline();
  reduceEvent(plane, { event: "started", steps: 40, view: "plane" });
  assert.equal(isCommon(plane), true, "the plane is one basis while it trains, too");
});

test("a query has no place on a frame with a basis of its own", () => {
  const timeline = trained();
  timeline.refit = true;
  const [first, , , last] = framesOf(timeline);
  const query = { xy: [1, 2], frames: { 0: [3, 4] } };
  assert.equal(placeAt(query, first), null);
  assert.deepEqual(placeAt(query, last), [1, 2]);
});

test("a step between two frames is a place between them", () => {
  const timeline = trained();
  assert.equal(positionOfStep(timeline, 0), 0);
  assert.equal(positionOfStep(timeline, 5), 0.5);
  assert.equal(positionOfStep(timeline, 25), 1.75);
  assert.equal(positionOfStep(timeline, 40), 3);
  assert.equal(positionOfStep(timeline, 99), 3);
  assert.equal(stepAt(timeline, 0.5), 20);
});

test("page keys go ten frames, and never past the ends", () => {
  const losses = { frames: Array.from({ length: 30 }, (_, i) => 10 * i) };
  assert.equal(frameStep(losses, 50, 10), 150);
  assert.equal(frameStep(losses, 50, -10), 0);
  assert.equal(frameStep(losses, 55, -1), 50);
  assert.equal(frameStep(losses, 285, 10), 290);
});

test("a way is an item's last places, oldest first, without the frames that lack it", () => {
  const fed = { a: quantize([0, 0, 0.5, 0.5], [0, 0], 1), b: quantize([0.25, 0.25], [0, 0], 1) };
  const frames = new Frames({ url: null, tracked: null, total: 2, fed: (id) => fed[id], fetch: () => {} });
  frames.indices = Int32Array.of(1);
  const entries = [{ frame: frame("a") }, { frame: frame("b", { n: 1, items: "tracked" }) }, { frame: frame("gone") }];
  const way = trailPoints(frames, entries, 2, 1, 8).map((place) => place.map((v) => Math.round(100 * v)));
  assert.deepEqual(way, [
    [50, 50],
    [25, 25],
  ]);
  assert.equal(trailPoints(frames, entries, 2, 0, 8).length, 1);
  assert.equal(trailPoints(frames, entries, 1, 1, 1).length, 1);
  assert.deepEqual(firstOf(Uint8Array.of(0, 1, 1, 1), 2), [1, 2]);
});

test("the rank on the map counts the visible points that are nearer", () => {
  const xy = Float32Array.from([0, 0, 1, 0, 2, 0, 3, 0, 0.5, 0]);
  const usable = Uint8Array.of(1, 1, 1, 1, 0);
  assert.deepEqual(
    [...mapRanks(xy, usable, [0, 0], [3, 1, 4], 0)],
    [
      [3, 3],
      [1, 1],
      [4, null],
    ],
  );
});

// Four images: 0 and 1 of class 0, 2 and 3 of class 1; image 1 is taken for class 1.
const read = async () => {
  const whole = [
    [0, 1, 2, 3],
    [0, 0, 1, 1],
    [1, 2, 3, 2],
    [1, 7, 1, 1],
    [0, 1, 1, 1],
  ].map((c) => Int32Array.from(c));
  const parts = [
    [1, 0, 1, 1],
    [1, 0.125, 1, 1],
  ].map((c) => Float32Array.from(c));
  return parsePerImage(await new Blob([...whole, ...parts]).arrayBuffer());
};

test("each score names the images that fail it", async () => {
  const all = await read();
  for (const score of ["precision_at_1", "recall_at_5", "map_at_r", "r_precision", "knn_accuracy"]) {
    const { items, words } = failingItems(all, score);
    assert.deepEqual(items, [1], score);
    assert.ok(words.length > 20);
  }
});

test("nobody fails a perfect score, not even the lowest 5%", async () => {
  const all = await read();
  all.averagePrecision.fill(1);
  assert.deepEqual(failingItems(all, "map_at_r").items, []);
});

test("confusion counts by class, and a cell names its images", async () => {
  const all = await read();
  assert.deepEqual(confusionsOf(all), [
    { own: 0, taken: 0, count: 1 },
    { own: 0, taken: 1, count: 1 },
    { own: 1, taken: 1, count: 2 },
  ]);
  assert.deepEqual(predictedAs(all, 0, 1), [1]);
  assert.deepEqual(predictedAs(all, 1, 0), []);
});

test("class scores are means over the class, and their mean by size is the whole's", async () => {
  const all = await read();
  const rows = classScores(all, 3);
  assert.deepEqual(
    rows.map(({ label, n, precision_at_1 }) => [label, n, precision_at_1]),
    [
      [0, 2, 0.5],
      [1, 2, 1],
    ],
  );
  assert.equal(rows[0].map_at_r, 0.5625);
});

test("what is not a whole number of rows is refused", () => {
  assert.throws(() => parsePerImage(new ArrayBuffer(30)), /no whole number/);
});

const selection = {
  items: [0, 2, 5],
  labels: [1, 0, 1, 0, 0, 2],
  classes: ["a", 'b "c", d', "e"],
  present: [1, 1, 1, 0, 1, 1],
};

test("a contact sheet is by class, most first, of those that the frame has", () => {
  const told = groupByClass(selection).map(({ name, items, of }) => [name, items, of]);
  assert.deepEqual(told, [
    ['b "c", d', [0, 2], 2],
    ["e", [5], 1],
  ]);
});

test("a selection is saved with every name quoted where it must be", () => {
  assert.equal(csvOf(selection), 'item,label,class\n0,1,"b ""c"", d"\n2,1,"b ""c"", d"\n5,2,e\n');
});
