// What a person has set on the map, told to Python and taken from it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { packBits } from "../../src/lib/bitmask.ts";
import { DisplaySync } from "../../src/map/control/displaySync.ts";
import { SentState } from "../../src/map/control/sentState.ts";
import { setDisplay } from "../../src/map/data/display.ts";
import { Model } from "../../src/map/data/model.ts";

function setUp(display = {}) {
  const state = { model: new Model(["a", "b", "c"], null, 6) };
  setDisplay(state, {});
  const told = [];
  const sent = new SentState((name, value) => told.push([name, value]));
  const sync = new DisplaySync({ state, sent });
  if (display) sync.adopt({ display });
  return { state, sync, told };
}
const some = Uint8Array.of(0, 1, 1, 0, 0, 0);
const { bits } = packBits(some);

describe("the display", () => {
  it("comes from the address, and is not told again", () => {
    const { state, sync, told } = setUp({ contours: true, names: false, hidden: [2], images: "both" });
    assert.deepEqual([state.density, state.names, state.trails, state.images], [true, false, true, "both"]);
    assert.deepEqual([...state.model.hidden], [2]);
    assert.ok(sync.adopt({ display: { contours: true }, isolated: { bits } }));
    assert.deepEqual([...state.model.isolated], [...some]);
    assert.deepEqual([...state.model.hidden], []);
    sync.publish();
    assert.deepEqual(told, []);
  });

  it("is told where a person changes it, once", () => {
    const { state, sync, told } = setUp();
    state.density = true;
    state.model.isolated = some;
    sync.publish();
    sync.publish();
    state.model.isolated = null;
    sync.publish();
    assert.deepEqual(told, [
      ["display", { contours: true }],
      ["isolated", { count: 2, bits }],
      ["isolated", null],
    ]);
  });

  it("does not fall back to an echo that a newer change has overtaken", () => {
    const { state, sync } = setUp();
    state.density = true;
    sync.publish();
    state.names = false;
    sync.publish();
    assert.equal(sync.adopt({ display: { contours: true } }), false);
    assert.equal(state.names, false);
    assert.equal(sync.adopt({ display: { contours: true, names: false } }), false);
    assert.ok(sync.adopt({ display: {} }), "somebody went back");
    assert.deepEqual([state.density, state.names], [false, true]);
  });

  it("stays with the map where Python keeps none", () => {
    const { state, sync, told } = setUp(null);
    state.density = true;
    assert.equal(sync.adopt({}), false);
    sync.publish();
    assert.deepEqual([state.density, told], [true, []]);
  });
});
