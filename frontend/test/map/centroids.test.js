// Where the names of the classes stand.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Model } from "../../src/map/data/model.ts";
import { classCenters } from "../../src/map/math/centroids.ts";
import { Tween } from "../../src/map/math/tween.ts";
import { close, placed } from "../helpers.js";

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
