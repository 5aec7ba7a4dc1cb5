import assert from "node:assert/strict";
import { test } from "node:test";
import { missing, tableOf } from "../../src/explore/draw_points/drawPoints.tsx";

const points = (label, count) => Array.from({ length: count }, (_, i) => [i / 100, -0.5, label]);

test("drawn points are sent as a table, once two classes have enough of them", () => {
  assert.equal(tableOf([[0.25, -1, 2]]), "x,y,label\n0.2500,-1.0000,class 3");
  assert.match(missing(points(0, 50)), /two classes/);
  assert.match(missing([...points(0, 50), ...points(3, 4)]), /class 4 has 4/);
  assert.equal(missing([...points(0, 50), ...points(3, 10)]), "");
});
