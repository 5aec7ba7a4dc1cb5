import "../helpers.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { marginSentence, probability, shownRows } from "../../src/panels/inspector/logits.ts";

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
