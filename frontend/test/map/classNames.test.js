// Where the names of the classes stand: none lies on another, and none of a few is left out.
import assert from "node:assert/strict";
import test, { describe, it } from "node:test";
import { Model } from "../../src/map/data/model.ts";
import { classCenters, placeNames } from "../../src/map/math/namePlaces.ts";
import { nameHeight, shortened } from "../../src/map/render/overlay.ts";
import { Tween } from "../../src/map/math/tween.ts";
import { close, placed, random, pluck } from "../helpers.js";
import { outlinesOf } from "../../src/map/math/contours.ts";

describe("class centers", () => {
  const all = Uint8Array.of(1, 1, 1, 1);
  const model = new Model(["a", "b", "c"], Uint8Array.of(0, 0, 1, 1), 4);

  it("are the means, and are clear only where classes stand apart", () => {
    const apart = classCenters(
      model,
      Tween.rest(
        placed([
          [0, 0],
          [0, 1],
          [9, 0],
          [9, 1],
        ]),
      ),
      all,
    );
    close(apart[0].at[1], [0, 0.5]);
    close(apart[1].at[1], [9, 0.5]);
    assert.equal(apart[0].clear, 1);
    assert.equal(apart[2].clear, 0);
    const mixed = classCenters(
      model,
      Tween.rest(
        placed([
          [0, 0],
          [9, 1],
          [9, 0],
          [0, 1],
        ]),
      ),
      all,
    );
    assert.equal(mixed[0].clear, 0);
  });

  it("count only items that have a place", () => {
    const centers = classCenters(model, Tween.rest(placed([[0, 0], null, [9, 0], null])), all);
    close(centers[0].at[1], [0, 0]);
    assert.equal(centers[0].count, 1);
  });

  it("are those of the items that are shown, and a class that is alone is compared with all", () => {
    const at = [
      [0, 0],
      [0, 1],
      [9, 0],
      [9, 9],
    ];
    const tween = Tween.rest(placed(at));
    const [, b] = classCenters(model, tween, Uint8Array.of(1, 1, 1, 0));
    close(b.at[1], [9, 0]);
    const [a, none] = classCenters(model, tween, Uint8Array.of(1, 1, 0, 0));
    assert.deepEqual([a.clear, none.clear, none.count], [1, 0, 0]);
  });
});

const name = (x, y, width = 20, clear = 1) => ({ at: [x, y], width, clear });

function overlaps(wishes, places) {
  const pairs = places.flatMap((a, i) => places.slice(i + 1).map((b, j) => [i, i + 1 + j, a, b]));
  return pairs.filter(
    ([i, j, a, b]) =>
      a && b && Math.abs(a[0] - b[0]) < (wishes[i].width + wishes[j].width) / 2 && Math.abs(a[1] - b[1]) < 16,
  );
}

test("names that have room stay where they are", () => {
  assert.deepEqual(placeNames([name(0, 0), name(30, 0), name(0, 20)]), [
    [0, 0],
    [30, 0],
    [0, 20],
  ]);
});

test("the first of two keeps its place, and the other name moves no farther than it must", () => {
  assert.deepEqual(placeNames([name(0, 0, 20, 0.5), name(0, 4, 20, 0.9)]), [
    [0, 0],
    [0, 16],
  ]);
  assert.deepEqual(placeNames([name(0, 0), name(21, 1)]), [
    [0, 0],
    [24, 1],
  ]);
});

test("thirty names in one place are all written, each free of the others", () => {
  const wishes = Array.from({ length: 30 }, (_, i) => name(100 + (i % 5), 100 + (i % 3), 8 + 5 * (i % 7), (i % 4) / 4));
  const places = placeNames(wishes);
  assert.ok(places.every(Boolean));
  assert.deepEqual(overlaps(wishes, places), []);
});

test("of more, those that would lie on a clearer one are left out", () => {
  const wishes = Array.from({ length: 31 }, (_, i) => name(i, 0, 20, i / 31));
  const places = placeNames(wishes);
  assert.deepEqual(places[30], [30, 0]);
  assert.equal(places.filter(Boolean).length, 2);
});

test("a name is cut where it is wider than its share of the map, and no letter in two", () => {
  const widthOf = (text) => 10 * [...text].length;
  assert.equal(shortened("short", 50, widthOf), "short");
  assert.equal(shortened("longer name", 80, widthOf), "longer…");
  assert.equal(shortened("🙂🙂🙂🙂", 30, widthOf), "🙂🙂…");
  assert.equal(shortened("wide", 5, widthOf), "…");
});

test("a name stands on its points where they are many, and hides none where they are few", () => {
  assert.equal(nameHeight(200, 60, 56), 200);
  assert.ok(nameHeight(200, 6, 56) < 200 - 6 - 8, "above");
  assert.ok(nameHeight(70, 6, 56) > 70 + 6 + 8, "below, where the tools are above");
});

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
