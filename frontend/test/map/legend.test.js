// The legend of many classes: what the search finds, and in which order.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLabels } from "../../src/map/data/fetchItems.ts";
import { matchingClasses, swatchColor } from "../../src/map/ui/legend.ts";

const classes = Array.from({ length: 1501 }, (_, i) => String(i).padStart(4, "0"));
const counts = (selected = {}) => ({
  total: classes.map((_, i) => (i >= 750 ? 8 : 0)),
  selected: classes.map((_, i) => selected[i] ?? 0),
});

test("only classes with items are offered", () => {
  const found = matchingClasses(classes, counts(), "");
  assert.equal(found.length, 751);
  assert.equal(found[0], 750);
});

test("a search finds parts of names, and the classes of the selection come first", () => {
  assert.deepEqual(
    matchingClasses(classes, counts(), " 149 "),
    [1149, 1490, 1491, 1492, 1493, 1494, 1495, 1496, 1497, 1498, 1499],
  );
  assert.deepEqual(matchingClasses(classes, counts({ 1200: 1, 900: 3 }), "").slice(0, 3), [900, 1200, 750]);
  assert.deepEqual(matchingClasses(classes, counts(), "nobody"), []);
});

test("labels beyond 255 stay what they are", async () => {
  assert.deepEqual([...(await loadLabels({ labels: [0, 255, 256, 1500] }))], [0, 255, 256, 1500]);
});

test("a class shows its color only where points are colored by it", () => {
  const own = [200, 30, 30];
  const theme = { muted: [120, 120, 120], background: [255, 255, 255] };
  const colored = (color) => ({ state: { color } });
  const state = { model: { grades: null, nearest: null, store: colored("class") }, theme };
  assert.deepEqual(swatchColor(state, own), own);
  assert.deepEqual(
    swatchColor({ ...state, model: { grades: { url: "price" }, nearest: null, store: colored("column.price") } }, own),
    theme.muted,
  );
  const errors = { ...state, model: { grades: null, nearest: {}, store: colored("error") } };
  assert.notDeepEqual(swatchColor(errors, own), own);
});
