// Outlines of where points are dense.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { outlinesOf } from "../../src/map/math/contours.ts";
import { random, pluck } from "../helpers.js";

/** n points about a place, as a normal distribution spreads them. */
const cloud = (n, x, y, spread) =>
  Array.from({ length: n }, () => {
    const [far, turn] = [spread * Math.sqrt(-2 * Math.log(1 - random())), 2 * Math.PI * random()];
    return [x + far * Math.cos(turn), y + far * Math.sin(turn)];
  });
const outlines = (groups, usable = null) => {
  const places = Float32Array.from(groups.flat(2));
  const ids = groups.flatMap((points, group) => points.map(() => group));
  return outlinesOf(places, usable ?? new Uint8Array(ids.length).fill(1), ids);
};
const isInside = ([x, y], rings) => {
  let inside = false;
  for (const ring of rings) {
    ring.forEach(([x1, y1], i) => {
      const [x0, y0] = ring.at(i - 1);
      if (y0 > y !== y1 > y && x < ((x1 - x0) * (y - y0)) / (y1 - y0) + x0) inside = !inside;
    });
  }
  return inside;
};

describe("contours", () => {
  it("hold the shares of a class that they are said to hold", () => {
    const points = cloud(800, 2, -1, 1);
    const found = outlines([points]);
    assert.deepEqual(pluck(found, "share"), [0.85, 0.5, 0.2]);
    for (const { share, rings } of found) {
      const held = points.filter((point) => isInside(point, rings)).length / points.length;
      assert.ok(Math.abs(held - share) < 0.05, `${held} instead of ${share}`);
    }
    assert.ok(found[0].density < found[1].density && found[2].density === 1);
  });

  it("leave out what is alone: no ring holds fewer than five points", () => {
    const strays = [
      [30, 0],
      [0, 30],
      [-30, 5],
      [-30, 5.1],
    ];
    const points = [...cloud(60, 0, 0, 1), ...strays];
    for (const { rings } of outlines([points])) for (const stray of strays) assert.ok(!isInside(stray, rings));
  });

  it("are fewer and fainter where a class has few points", () => {
    const found = outlines([cloud(500, 0, 0, 1), cloud(9, 8, 0, 1), cloud(4, 0, 8, 1)]);
    const of = (group) => found.filter((outline) => outline.group === group);
    assert.deepEqual([of(0).length, of(1).length, of(2).length], [3, 1, 0]);
    assert.ok(of(1)[0].density < 0.1 * of(0)[2].density);
  });

  it("are those of the points that are shown, and say why there are none", () => {
    const points = cloud(40, 0, 0, 1);
    const few = Uint8Array.from(points, (_, i) => (i < 4 ? 1 : 0));
    assert.equal(outlines([points], few), "few points");
    assert.equal(outlines([points.map(() => [3, 3])]), "one spot");
  });
});
