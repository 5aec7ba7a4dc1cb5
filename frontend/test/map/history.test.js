import assert from "node:assert/strict";
import test from "node:test";
import { History } from "../../src/map/control/history.ts";
import { ViewChoice } from "../../src/map/control/viewChoice.ts";
import { Model } from "../../src/map/data/model.ts";

function recorder() {
  const state = { pinned: null };
  const history = new History(
    () => ({ ...state }),
    (choice) => Object.assign(state, choice),
  );
  const pin = (item) => {
    history.record();
    state.pinned = item;
  };
  return { state, history, pin };
}

test("choices are taken back and repeated in order", () => {
  const { state, history, pin } = recorder();
  pin(3);
  pin(5);
  assert.ok(history.undo());
  assert.equal(state.pinned, 3);
  assert.ok(history.undo());
  assert.equal(state.pinned, null);
  assert.equal(history.undo(), false);
  assert.ok(history.redo());
  assert.ok(history.redo());
  assert.equal(state.pinned, 5);
  assert.equal(history.redo(), false);
});

test("a new choice ends what could be repeated", () => {
  const { state, history, pin } = recorder();
  pin(3);
  history.undo();
  pin(7);
  assert.equal(history.canRedo, false);
  assert.equal(history.redo(), false);
  assert.equal(state.pinned, 7);
});

test("a hundred choices are remembered", () => {
  const { history, pin } = recorder();
  for (let item = 0; item < 150; item++) pin(item);
  let count = 0;
  while (history.undo()) count++;
  assert.equal(count, 100);
});

test("isolated items alone are usable, and all are again", () => {
  const model = new Model(["a", "b"], Uint16Array.of(0, 0, 1, 1), 4);
  const present = Uint8Array.of(1, 1, 1, 0);
  model.select(Uint8Array.of(1, 0, 1, 1));
  model.toggleIsolation();
  assert.deepEqual([...model.usable(present)], [1, 0, 1, 0]);
  assert.equal(model.selected, null);
  model.toggleClass(1);
  assert.deepEqual([...model.usable(present)], [1, 0, 0, 0]);
  model.toggleIsolation();
  assert.deepEqual([...model.usable(present)], [1, 1, 0, 0]);
});

test("isolated items are selected again with the others, unless something else is", () => {
  const model = new Model(["a"], null, 3);
  model.select(Uint8Array.of(1, 0, 1));
  model.toggleIsolation();
  assert.deepEqual(model.counts(Uint8Array.of(1, 1, 1)).total, [2]);
  model.toggleIsolation();
  assert.deepEqual([...model.selected], [1, 0, 1]);
  model.toggleIsolation();
  model.select(Uint8Array.of(0, 0, 1));
  model.toggleIsolation();
  assert.deepEqual([...model.selected], [0, 0, 1]);
});

test("a view chosen beside the map is a choice; one that the map asked for is none", () => {
  const asked = [];
  const view = new ViewChoice((name) => asked.push(name));
  const comes = (name) => {
    const chosen = view.isChosen(name);
    view.arrive(name);
    return chosen;
  };
  assert.equal(comes("live"), false, "the first one");
  assert.equal(comes("live"), false, "the same again");
  assert.equal(comes("pca"), true);
  view.restore("pca");
  assert.deepEqual(asked, [], "that is shown");
  view.restore("live");
  assert.deepEqual([asked, view.current], [["live"], "live"]);
  assert.equal(comes("pca"), false, "it is still to come");
  assert.equal(comes("live"), false, "it comes");
  view.expect();
  assert.equal(comes("subset"), false, "the name only Python knew");
  assert.equal(comes("pca"), true);
});
