// What the inspector says: captions, class scores, the pair of two images.
import "../helpers.js";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import {
  answerAt,
  captionOf,
  countOf,
  differs,
  mapRankCaption,
  selectionReason,
  summaryOf,
} from "../../src/workbench/inspector/captions.ts";
import { Example, whySentence } from "../../src/workbench/inspector/example.tsx";
import { wentOn } from "../../src/workbench/query/questions.ts";
import { marginSentence, probability, shownRows } from "../../src/workbench/inspector/logits.tsx";
import { dimensionSentence, thresholdSentence, verdict } from "../../src/workbench/inspector/pairView.tsx";
import { bus } from "../../src/lib/bus.ts";

const classes = ["cat", "dog"];
const neighbors = [{ label: 1 }, { label: 0 }, { label: 1 }];

test("an image is judged by its own class", () => {
  assert.equal(summaryOf({ subject: { item: 3, label: 0 }, neighbors, classes }), "1 of 3 neighbors are of class cat");
});

test("neighbors of one class are counted, those without labels are not", () => {
  const alike = { subject: { item: 3, label: 0 }, neighbors: [{ label: 0 }] };
  assert.equal(summaryOf({ ...alike, classes: { 0: "cat" } }), "1 of 1 neighbors are of class cat");
  assert.equal(summaryOf({ ...alike, classes: { 0: "no label" } }), "");
});

test("a neighbor without a label is not of another class", () => {
  const answers = [1, 0, 2].map((other) => differs({ classes: ["cat", "dog", "no label"] }, other, 0));
  assert.deepEqual(answers, [true, false, false]);
  assert.equal(differs({ classes: ["cat", "no label"] }, 0, 1), false);
});

test("a query has no class, so its neighbors vote", () => {
  const query = { subject: {}, neighbors, classes, vote: { label: 1 } };
  assert.equal(summaryOf(query), "2 of 3 neighbors are of class dog");
});

test("why some neighbors of an example are of another class is said with ranks, distances and the vote", () => {
  const near = [0.1, 0.2, 0.25, 0.5].map((distance, i) => ({ item: i, label: i === 1 || i === 3 ? 1 : 0, distance }));
  const data = { subject: { item: 9, label: 0 }, neighbors: [...near, { item: 5, label: 0, distance: 1 }], classes };
  assert.equal(
    whySentence(data),
    "Number 2 (class dog, 0.200 away) and number 4 (class dog, 0.500 away) are of another class; the nearest of class " +
      "cat is 0.100 away. A vote of all 5 is for class cat, by 3 to 2.",
  );
  assert.equal(whySentence({ ...data, neighbors: near.filter(({ label }) => !label) }), "", "nothing to explain");
});

test("a query is answered by the net of the step that the map shows", () => {
  const steps = [0, 10, 30];
  const near = [[[4, 0.3], [5, 0.4], [6, 0.5]], [[5, 0.1], [4, 0.2], [6, 0.3]], [[5, 0.1], [6, 0.2], [4, 0.3]]]; // prettier-ignore
  const history = { steps, near, labels: { 4: 0, 5: 1, 6: 1 } };
  const answer = {
    near: [[5, 1, 0.1]],
    classes: { 0: "cat", 1: "dog" },
    vote: { label: 1 },
    title: "Surely dog",
    history,
  };
  const listed = (moment) => answerAt(answer, moment);
  assert.equal(listed(null), answer, "the whole answer at the end");
  assert.deepEqual([listed(12).step, listed(12).near[0], listed(12).title], [10, [5, 1, 0.1], "dog"]);
  assert.deepEqual([listed(0).step, listed(0).near[0]], [0, [4, 0, 0.3]]);
  const asked = (...steps) =>
    steps.map((step) => ({ step, places: { ways: {} }, near: [[step, 0, 1]] })).reduce(wentOn);
  const at = (moment) => answerAt(asked(3, 7, 9), moment).near[0][0];
  assert.deepEqual([null, 9, 8, 7, 3, 1].map(at), [9, 9, 7, 7, 3, 3], "of a net that trains: what it said by then");
});

test("no neighbors, no sentence", () => assert.equal(summaryOf({ subject: { label: 0 }, neighbors: [], classes }), ""));

test("the caption says among which images, and when", () => {
  assert.equal(captionOf({ among: 10000 }), "Nearest in the embedding, of 10,000 test images, at the end of the run");
  assert.equal(captionOf({ among: 9, noun: "row", given: true }), "Nearest in the embedding, of 9 rows");
  assert.match(captionOf({ among: 90, step: 9, vote: { label: 1 } }), /of the 90 tracked test images, at step 9$/);
  assert.match(captionOf({ among: 100, step: 1400 }), /of the tracked test images, at step 1,400$/);
  assert.match(captionOf({ among: null, noun: "point", step: 5 }), /of the tracked points, at step 5$/);
});

test("a neighbor is near on the map up to three times the number asked for", () => {
  assert.equal(mapRankCaption(30, 10).near, true);
  assert.deepEqual(mapRankCaption(1234, 10), { near: false, words: "Far on the map: neighbor number 1,234 there" });
  assert.equal(mapRankCaption(null, 10), null);
});

test("a selection says why, or how to go on", () => {
  assert.equal(selectionReason({ reason: "They fail." }), "They fail.");
  assert.match(selectionReason({ reason: null }), /Click an image/);
  assert.equal(countOf({ items: [1, 2], of: 1010 }), "2 of 1,010");
});

test("rows of a table are called rows", () => {
  assert.equal(
    captionOf({ among: 10000, noun: "row" }),
    "Nearest in the embedding, of 10,000 rows, at the end of the run",
  );
  assert.equal(selectionReason({ reason: null }, "row"), "Manual selection. Click a row to pin it.");
  assert.equal(selectionReason({ reason: null }), "Manual selection. Click an image to pin it.");
});

test("the probability is that of the softmax, of any size of score", () => {
  assert.equal(probability([1, 1, 1, 1], 2), 0.25);
  assert.ok(Math.abs(probability([1000, 1000 + Math.log(3)], 1) - 0.75) < 1e-9);
});

test("the ten best classes are shown, and always the own one", () => {
  const before = Array.from({ length: 30 }, (_, i) => i);
  assert.deepEqual(shownRows({ before, own: 29 }).slice(0, 2), [29, 28]);
  assert.equal(shownRows({ before, own: 3 }).at(-1), 3);
  assert.equal(shownRows({ before, own: 3 }).length, 10);
});

test("what the margin takes is said, or that there is none", () => {
  const logits = { classes: [0, 1], own: 0, before: [2, 1], after: [0.5, 1], norm: 1 };
  assert.match(marginSentence(logits), /takes 1.50 .* from 0.731 to 0.378/);
  assert.match(marginSentence({ ...logits, after: [2, 1] }), /No margin/);
  assert.match(marginSentence({ ...logits, own: null }), /did not see/);
});

test("a verdict says what the threshold says, and whether that is so", () => {
  assert.equal(verdict({ says_same: true }, true), "the same: right");
  assert.equal(verdict({ says_same: true }, false), "the same: wrong");
  assert.equal(verdict({ says_same: false }, false), "different: right");
  assert.equal(verdict({ says_same: false }, true), "different: wrong");
});

test("the dimensions that make a distance are named with their shares, also where they are all", () => {
  const all = {
    dimensions: [
      [1, 0.75],
      [0, 0.25],
    ],
    of: 2,
  };
  assert.equal(dimensionSentence(all), "Shares of their squared distance: dimension 2: 75%, dimension 1: 25%.");
  assert.match(dimensionSentence({ ...all, dimensions: [[1, 0.75]] }), /the other: 25%/);
  assert.match(dimensionSentence({ ...all, of: 64 }), /the other 62: 0%/);
  assert.equal(dimensionSentence({ dimensions: [], of: 64 }), "");
});

test("the number of pairs behind the thresholds is said", () => {
  assert.match(thresholdSentence(10000), /10,000 pairs of the test set/);
});

const { fetch } = globalThis;
const later = (ms) => new Promise((done) => setTimeout(done, ms));
const shows = (run) => bus.emit("frame", { run, moment: null, index: 0, playing: false });
afterEach(() => void (globalThis.fetch = fetch));

test("a run is never asked about the example of the run before", async () => {
  const questions = [];
  globalThis.fetch = (url) => new Promise((done) => questions.push({ url, answer: (of) => done(Response.json(of)) }));
  const example = new Example(() => {});
  const props = (run) => ({ run, among: "all", example: true });

  example.of(props("a"));
  shows("a");
  await later(200);
  assert.match(questions[0].url, /runs\/a\/example/);
  example.of(props("b")); // whose map shows nothing yet
  questions[0].answer({ item: 34 });
  await later(200);
  assert.deepEqual(questions.slice(1), []);

  shows("b");
  await later(200);
  questions[1].answer({ item: 7 });
  await later(5);
  assert.match(questions[1].url, /runs\/b\/example/);
  assert.match(questions[2].url, /runs\/b\/neighbors\/7/);
  example.destroy();
});
