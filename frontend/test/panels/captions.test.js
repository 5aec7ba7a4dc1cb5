import assert from "node:assert/strict";
import test from "node:test";
import { captionOf, countOf, mapRankCaption, selectionReason, summaryOf } from "../../src/panels/inspector/captions.ts";

const classes = ["cat", "dog"];
const neighbors = [{ label: 1 }, { label: 0 }, { label: 1 }];

test("an image is judged by its own class", () => {
  assert.equal(summaryOf({ subject: { item: 3, label: 0 }, neighbors, classes }), "1 of 3 neighbors are of class cat");
});

test("a query has no class, so its neighbors vote", () => {
  const query = { subject: {}, neighbors, classes, vote: { label: 1 } };
  assert.equal(summaryOf(query), "2 of 3 neighbors are of class dog");
});

test("no neighbors, no sentence", () => assert.equal(summaryOf({ subject: { label: 0 }, neighbors: [], classes }), ""));

test("the caption says among which images, and when", () => {
  assert.equal(captionOf({ among: 10000 }), "Nearest in the embedding, of 10,000 test images, at the end of the run");
  assert.match(captionOf({ among: null }), /of the tracked test images, at the last snapshot$/);
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
