import "../helpers.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { thresholdSentence, verdict } from "../../src/panels/inspector/pairView.ts";

test("a verdict says what the threshold says, and whether that is so", () => {
  assert.equal(verdict({ says_same: true }, true), "the same: right");
  assert.equal(verdict({ says_same: true }, false), "the same: wrong");
  assert.equal(verdict({ says_same: false }, false), "different: right");
  assert.equal(verdict({ says_same: false }, true), "different: wrong");
});

test("the number of pairs behind the thresholds is said", () => {
  assert.match(thresholdSentence(10000), /10,000 pairs of test images/);
});
