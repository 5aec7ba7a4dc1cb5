import assert from "node:assert/strict";
import test from "node:test";
import { packBits } from "../../src/lib/bitmask.ts";
import { Subset } from "../../src/map/control/subset.ts";
import { Model } from "../../src/map/data/model.ts";

function setUp(data = { projects: true }) {
  const model = new Model(["a", "b"], new Uint16Array(6), 6);
  const state = { data, model, trouble: null };
  const wishes = [];
  let recorded = 0;
  const selection = { restore: (mask) => (model.selected = mask) };
  const subset = new Subset({
    state,
    selection,
    history: { record: () => recorded++ },
    camera: { goHome: () => {} },
    ask: ({ bits }) => wishes.push(bits),
  });
  return { state, model, subset, wishes, recorded: () => recorded };
}
const some = Uint8Array.of(0, 1, 1, 0, 0, 0);
const { bits } = packBits(some);

test("what is selected is projected alone, and stays selected until it has come", () => {
  const { state, model, subset, wishes, recorded } = setUp();
  model.select(some);
  subset.project();
  assert.deepEqual(wishes, [bits]);
  assert.deepEqual([...model.selected], [...some]);
  state.data = { ...state.data, subset: { bits } };
  subset.arrive(bits);
  assert.equal(model.selected, null);
  assert.equal(recorded(), 1);
});

test("the way back shows all images, with those of the subset selected", () => {
  const { model, subset, wishes } = setUp({ projects: true, subset: { bits } });
  model.isolated = some;
  subset.leave();
  assert.deepEqual(wishes, [null]);
  assert.equal(model.isolated, null);
  assert.deepEqual([...model.selected], [...some]);
});

test("nothing selected, or no server, is a sentence and no request", () => {
  const { state, model, subset, wishes } = setUp({});
  subset.project();
  assert.match(state.trouble, /Select some images first/);
  model.select(some);
  subset.project();
  assert.match(state.trouble, /in Explore/);
  subset.leave();
  assert.deepEqual(wishes, []);
});
