import assert from "node:assert/strict";
import test from "node:test";
import { keepIn } from "../../src/notebook/keptState.ts";

const STATE = "application/vnd.jupyter.widget-state+json";
const VIEW = "application/vnd.jupyter.widget-view+json";
const map = (near, layout) => ({
  model_name: "AnyModel",
  state: { _anywidget_id: "dmlviz.notebook.widget.MapWidget", contents: { near }, layout: `IPY_MODEL_${layout}` },
});
const plain = (name) => ({ model_name: name, state: {} });

/** A notebook with a manager of widgets: what its outputs show, what it holds, and which models are alive. */
function notebook(shown, held, live) {
  const slots = [];
  let metadata = held && { [STATE]: { version_major: 2, version_minor: 0, state: held } };
  const writes = [];
  const manager = {
    get_state_sync: () => ({ version_major: 2, version_minor: 0, state: live }),
    context: {
      saveState: { connect: (slot) => slots.push(slot) },
      model: {
        toJSON: () => ({
          cells: [{ source: "" }, { outputs: [{}, ...shown.map((id) => ({ data: { [VIEW]: { model_id: id } } }))] }],
        }),
        getMetadata: () => metadata,
        setMetadata: (key, value) => writes.push([key, (metadata = value)]),
      },
    },
  };
  return {
    manager,
    writes,
    slots,
    state: () => metadata?.[STATE].state,
    save: () => slots.map((f) => f(0, "started")),
  };
}

test("a finished map is kept with its layout when the notebook is saved, once", () => {
  const live = { a: map({ k: 10 }, "b"), b: plain("LayoutModel"), slider: plain("IntSliderModel") };
  const { manager, writes, slots, state, save } = notebook(["a", "slider"], null, live);
  keepIn(manager);
  keepIn(manager);
  assert.equal(slots.length, 1);
  slots[0](0, "completed");
  assert.equal(writes.length, 0);
  save();
  save();
  assert.deepEqual(Object.keys(state()), ["a", "b"]); // the setting of JupyterLab decides about other widgets
  assert.equal(writes.length, 1); // nothing has changed since
});

test("a map that is on is kept when it has finished", () => {
  const live = { a: map(null, "b"), b: plain("LayoutModel") };
  const { manager, state } = notebook(["a"], null, live);
  const keep = keepIn(manager);
  keep();
  assert.equal(state(), undefined);
  live.a.state.contents = { near: { k: 10 } };
  keep();
  assert.deepEqual(Object.keys(state()), ["a", "b"]);
});

test("maps that no output shows any more are dropped, and what belongs to others stays", () => {
  const held = { old: map({ k: 10 }, "l"), l: plain("LayoutModel"), slider: plain("IntSliderModel") };
  const { manager, state } = notebook(["new"], held, { new: map({ k: 10 }, "m"), m: plain("LayoutModel") });
  keepIn(manager)();
  assert.deepEqual(Object.keys(state()).sort(), ["m", "new", "slider"]);
});

test("a map of an earlier session, which has no kernel, stays", () => {
  const held = { a: map({ k: 10 }, "b"), b: plain("LayoutModel") };
  const { manager, writes, state } = notebook(["a"], held, {});
  keepIn(manager)();
  assert.deepEqual(state(), held);
  assert.equal(writes.length, 0);
});

test("hosts with another manager, or none of these functions, are left alone", () => {
  keepIn(undefined)();
  keepIn({})();
  keepIn({ get_state_sync: () => assert.fail() })();
});
