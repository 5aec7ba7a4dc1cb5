// The star of a query.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { QueryMarker } from "../../src/map/math/queryMarker.ts";

describe("query star", () => {
  const entry = (step) => ({ step, frame: { id: `f${step}` } });

  it("takes its place in each frame, by frame or by step, and moves in between", () => {
    const star = new QueryMarker();
    star.set({ frames: { f0: [0, 0], 10: [2, 4] } }, entry(0), true);
    assert.deepEqual(star.at(1), [0, 0]);
    star.move(entry(0), entry(10), 1);
    assert.deepEqual(star.at(0.5), [1, 2]);
    assert.deepEqual(star.trail([entry(0), entry(5), entry(10)], entry(10)), [
      [0, 0],
      [2, 4],
    ]);
  });

  it("stays where it is for a query with one place, and has none without a query", () => {
    const star = new QueryMarker();
    assert.equal(star.at(1), null);
    star.set({ xy: [3, 4] }, entry(0), true);
    star.move(entry(0), entry(1), 1);
    assert.deepEqual(star.at(0.3), [3, 4]);
    star.set(null, entry(0), true);
    assert.equal(star.at(0.3), null);
  });

  it("has no place in the frames of a projection that is still on its way", () => {
    const star = new QueryMarker();
    star.set({ xy: [3, 4] }, { ...entry(5), provisional: true }, true);
    assert.equal(star.at(1), null);
    star.move(entry(9), entry(9), 1);
    assert.deepEqual(star.at(0), [3, 4]);
  });

  it("lands anew for another query only, not for the same one sent again", () => {
    const star = new QueryMarker();
    assert.equal(star.set({ xy: [1, 1], neighbors: [] }, null, false), true);
    assert.equal(star.age, 0);
    star.age = 1;
    assert.equal(star.set({ xy: [1, 1], neighbors: [{ item: 3 }] }, null, false), false);
    assert.equal(star.age, 1);
  });
});
