import assert from "node:assert/strict";
import test from "node:test";
import { summary } from "../../src/map/ui/ariaLive.ts";

const model = { noun: "test image", usedClasses: 2, hidden: new Set(), selected: null };
const said = (timeline) => summary({ model, present: 1200, timeline, entry: { step: 1 } });

test("a map is announced with its step or iteration, which a method without iterations does not have", () => {
  assert.equal(said({ noun: "step", total: null }), "Map of 1,200 test images in 2 classes, step 1.");
  assert.equal(said({ noun: "iteration", total: 500 }), "Map of 1,200 test images in 2 classes, iteration 1.");
  assert.equal(said({ noun: "iteration", total: null }), "Map of 1,200 test images in 2 classes.");
});
