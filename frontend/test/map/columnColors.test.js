// Columns that points are colored by: groups of categories, scales of numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { groupingOf, middleRange } from "../../src/map/data/columnColors.ts";
import { Model } from "../../src/map/data/model.ts";

test("items without a value are a group of their own", () => {
  const grouping = groupingOf("u", ["Lima", "Oslo"], Float32Array.of(1, 0, NaN));
  assert.deepEqual(grouping.names, ["Lima", "Oslo", "(no value)"]);
  assert.deepEqual([...grouping.ids], [1, 0, 2]);
  assert.deepEqual(groupingOf("u", ["Lima"], Float32Array.of(0, 0)).names, ["Lima"]);
});

test("a scale ends where 1 of 100 numbers lie beyond", () => {
  const numbers = Float32Array.from({ length: 101 }, (_, i) => (i === 100 ? 1e6 : i));
  assert.deepEqual(middleRange(numbers), [1, 99]);
  assert.deepEqual(middleRange(Float32Array.of(NaN)), [0, 1]);
  assert.deepEqual(middleRange(Float32Array.of(3, 3)), [3, 4]);
});

test("groups take the place of classes, and what was hidden is shown again", () => {
  const model = new Model(["a", "b"], Uint16Array.of(0, 0, 1), 3);
  model.toggleClass(1);
  assert.equal(model.isVisible(2), false);
  assert.equal(model.groupBy(groupingOf("u", ["x", "y"], Float32Array.of(0, 1, 1))), true);
  assert.equal(model.isVisible(2), true);
  model.soloClass(0);
  assert.deepEqual([...model.usable(Uint8Array.of(1, 1, 1))], [1, 0, 0]);
  assert.deepEqual(model.counts(Uint8Array.of(1, 1, 1)).total, [1, 2]);
  assert.equal(model.groupBy(groupingOf("u", ["x", "y"], Float32Array.of(0, 1, 1))), false);
  assert.equal(model.groupBy(null), true);
  assert.deepEqual(model.groups, ["a", "b"]);
});
