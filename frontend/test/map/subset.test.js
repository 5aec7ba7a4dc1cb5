import assert from "node:assert/strict";
import test from "node:test";
import { packBits } from "../../src/lib/bitmask.ts";
import { Subset } from "../../src/map/control/subset.ts";
import { Model } from "../../src/map/data/model.ts";

function setUp(data = { projects: true }) {
  const model = new Model(["a", "b"], new Uint16Array(6), 6);
  const { store } = model;
  const state = { data, model, store, trouble: null };
  const wishes = [];
  const subset = new Subset({
    state,
    camera: { goHome: () => {} },
    ask: ({ bits }) => wishes.push(bits),
  });
  return { state, model, store, subset, wishes };
}
const some = Uint8Array.of(0, 1, 1, 0, 0, 0);
const bits = packBits(some);

test("what is selected is projected alone, and stays selected until it has come", () => {
  const { state, model, store, subset, wishes } = setUp();
  model.select(some);
  subset.project();
  assert.deepEqual(wishes, [bits]);
  assert.deepEqual([...model.selected], [...some]);
  state.data = { ...state.data, subset: { bits } };
  subset.arrive(bits);
  assert.equal(model.selected, null);
  assert.ok(store.undo());
  assert.deepEqual([...model.selected], [...some]);
});

test("the way back shows all images, with those of the subset selected", () => {
  const { model, store, subset, wishes } = setUp({ projects: true, subset: { bits } });
  store.set({ isolated: some });
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
