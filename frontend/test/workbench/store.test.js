// What is looked at: one state, undo, and the runs and pages that come and go.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ADDRESS, START, UNDO, ViewStore } from "../../src/workbench/store.ts";

const RUN = { run: "a", dataset: "digits", n: 4 };
const mask = (...items) => Uint8Array.from({ length: 4 }, (_, i) => Number(items.includes(i)));

test("listeners hear what has changed, by whom, and nothing of what stays the same", () => {
  const store = new ViewStore();
  const heard = [];
  const leave = store.subscribe((change, source) => heard.push([[...change], source]));
  store.set({ pinned: 3, color: "class" }, "me");
  store.set({ pinned: 3, selected: mask(1) });
  store.set({ selected: mask(1), hidden: new Set(), display: { ...START.display } });
  leave();
  store.set({ pinned: 1 });
  assert.deepEqual(heard, [
    [["pinned"], "me"],
    [["selected"], undefined],
  ]);
});

test("changes are taken back and repeated in order, a hundred of them", () => {
  const store = new ViewStore();
  for (let item = 0; item < 150; item++) {
    store.record();
    store.set({ pinned: item, selected: mask(item % 4) });
  }
  const sources = [];
  store.subscribe((_, source) => sources.push(source));
  let count = 0;
  while (store.undo()) count++;
  assert.deepEqual([count, store.state.pinned, store.canUndo], [100, 49, false]);
  assert.ok(store.redo());
  assert.deepEqual([store.state.pinned, [...store.state.selected]], [50, [...mask(2)]]);
  assert.ok(sources.every((source) => source === UNDO));
  store.record();
  assert.equal(store.canRedo, false, "a new change ends what could be repeated");
});

test("what a person opens is open wherever it is shown, and closed by whoever closes it", () => {
  const store = new ViewStore();
  const panel = () => ({ open: false, addEventListener: (_, listener) => (toggled = listener) });
  let toggled = () => {};
  const [first, second] = [panel(), panel()];
  const leave = [first, second].map((details) => store.keepOpen(details, "scores"));
  second.open = true;
  toggled();
  assert.deepEqual([[...store.state.open], first.open], [["scores"], true]);
  leave[0]();
  store.set({ open: new Set() });
  assert.deepEqual([first.open, second.open], [true, false], "what is gone is left alone");
});

test("another run keeps what belongs to the images, another data set nothing of it", () => {
  const store = new ViewStore();
  store.show(RUN);
  store.set({ pinned: 2, partner: 1, step: 40, selected: mask(1, 2), hidden: new Set([3]), color: "error" });
  store.show({ ...RUN, run: "b" });
  const { pinned, partner, step, selected, hidden, color } = store.state;
  assert.deepEqual(
    [pinned, partner, step, [...selected], [...hidden], color],
    [2, 1, null, [0, 1, 1, 0], [3], "error"],
  );
  store.record();
  store.show({ run: "c", dataset: "mnist", n: 9 });
  assert.deepEqual(
    [store.state.pinned, store.state.selected, store.state.hidden.size, store.canUndo],
    [null, null, 0, false],
  );
});

test("the address counts where the run is another one, or where it was opened", () => {
  const store = new ViewStore();
  let asked = 0;
  const read = () => ({ pinned: ++asked });
  store.show(RUN, read);
  store.show(RUN, read);
  assert.deepEqual([asked, store.state.pinned], [1, 1]);
  store.set({ color: "error" });
  store.show(RUN, read, true);
  assert.deepEqual([asked, store.state.pinned, store.state.color], [2, 2, "class"]);
});

test("a page that comes again is as it was left; the camera of a map comes along", () => {
  const store = new ViewStore();
  store.enter("explore");
  store.show(RUN);
  store.set({ pinned: 2 });
  const sources = [];
  store.subscribe((_, source) => sources.push(source));
  store.enter("compare");
  assert.deepEqual([store.state.pinned, store.shown], [null, null]);
  store.set({ camera: { of: "a/live/0", view: null, size: 300, playing: false } }); // of the map that goes
  store.enter("explore");
  assert.deepEqual([store.state.pinned, store.state.camera.of, store.shown.run], [2, "a/live/0", "a"]);
  assert.equal(sources.at(-1), ADDRESS);
});
