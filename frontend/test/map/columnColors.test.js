// Columns that points are colored by: groups of categories, scales of numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_VALUE, UNLABELED, classColors, groupColors } from "../../src/lib/palette.ts";
import { columnText, groupingOf, middleRange } from "../../src/map/data/columnColors.ts";
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

test("groups take the place of classes", () => {
  const model = new Model(["a", "b"], Uint16Array.of(0, 0, 1), 3);
  assert.equal(model.groupBy(groupingOf("u", ["x", "y"], Float32Array.of(0, 1, 1))), true);
  model.soloClass(0);
  assert.deepEqual([...model.usable(Uint8Array.of(1, 1, 1))], [1, 0, 0]);
  assert.deepEqual(model.counts(Uint8Array.of(1, 1, 1)).total, [1, 2]);
  assert.equal(model.groupBy(groupingOf("u", ["x", "y"], Float32Array.of(0, 1, 1))), false);
  assert.equal(model.groupBy(null), true);
  assert.deepEqual(model.groups, ["a", "b"]);
});

test("numbers of a column of dates are written as dates, those of a few days with the time", () => {
  const start = Date.UTC(2024, 1, 28);
  assert.equal(columnText({ start, low: 0, high: 400 }, 1.5), "2024-02-29");
  assert.equal(columnText({ start, low: 0, high: 2 }, 1.5), "2024-02-29 12:00");
  assert.equal(columnText({ start: null, low: 0, high: 2 }, 1.23456), "1.235");
});

test("items without a label are gray, and neither right nor wrong", () => {
  const theme = { dark: false, muted: [100, 100, 100], background: [200, 200, 200] };
  const [first, none] = groupColors(["a", UNLABELED], theme);
  assert.deepEqual(first, classColors(1, false)[0]);
  assert.equal(new Set(none).size, 1, "gray");
  assert.deepEqual(groupColors(["a", NO_VALUE], theme)[1], none);
  assert.deepEqual(groupColors([UNLABELED], theme), classColors(1, false), "nothing to tell apart");
  const model = new Model(["a", "b", UNLABELED], Uint16Array.of(0, 1, 2), 3);
  model.nearest = { items: Int32Array.of(1, 2, 0), distances: new Float32Array(3) };
  assert.deepEqual(
    [0, 1, 2].map((i) => model.isWrong(i)),
    [true, false, false],
  );
});
