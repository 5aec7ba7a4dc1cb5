import assert from "node:assert/strict";
import test from "node:test";
import { interval, leadersText, places, rangeText } from "../../src/lib/ranking.ts";
import { close } from "../helpers.js";

test("intervals of shares are Wilson's, and never leave 0 to 1", () => {
  close(interval(0.5, 10), [0.2366, 0.7634], 1e-4);
  close(interval(1, 10), [0.7225, 1], 1e-4);
  close(interval(0, 10), [0, 0.2775], 1e-4);
});

test("who cannot be told from the best shares its place, and who comes after is counted from those clearly better", () => {
  const ranges = [0.9, 0.89, 0.5, 0.52, 0.1].map((share) => interval(share, 200));
  assert.deepEqual(places([...ranges, null]), [1, 1, 3, 3, 5, null]);
});

test("leaders are named, ties called ties, and many of them counted", () => {
  assert.equal(leadersText(["A"], 3), "leads: A.");
  assert.equal(leadersText(["A", "B"], 3), "tie: A, B.");
  assert.equal(leadersText([..."ABCDE"], 6), "tie: 5 of 6 runs.");
  assert.equal(leadersText(["A"], 1), "", "alone nobody leads");
  assert.equal(rangeText([0.9, 0.95]), "95% interval: 0.900 to 0.950");
});
