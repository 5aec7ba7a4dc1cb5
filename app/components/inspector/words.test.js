import assert from "node:assert/strict";
import test from "node:test";
import { summaryOf } from "./words.js";

const classes = ["cat", "dog"];
const neighbours = [{ label: 1 }, { label: 0 }, { label: 1 }];

test("an image is judged by its own class", () => {
  assert.equal(summaryOf({ subject: { item: 3, label: 0 }, neighbours, classes }), "1 of its 3 nearest are cat");
});

test("a query has no class, so its neighbours vote", () => {
  const query = { subject: {}, neighbours, classes, vote: { label: 1 } };
  assert.equal(summaryOf(query), "2 of the 3 nearest say dog");
});

test("no neighbours, no sentence", () => assert.equal(summaryOf({ subject: { label: 0 }, classes }), ""));
