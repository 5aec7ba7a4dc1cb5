// What the server sends about a map, put into effect.
import assert from "node:assert/strict";
import test from "node:test";
import { PropsReceiver } from "../../src/map/control/applyProps.ts";
import { ViewStore } from "../../src/workbench/store.ts";

const nothing = new Proxy(() => nothing, { get: (_, key) => (key === Symbol.toPrimitive ? () => "" : nothing) });

test("a map stays when its pictures come, which bring labels; nothing of a run is shown with another's items", async () => {
  const sent = { run: "a", view: "live", begun: "1", dataset: "digits", classes: ["x", "y"], n: 2, labels_url: "/1" };
  const seen = [];
  const playback = { forget: () => seen.push("forgets"), follow: ({ run }) => seen.push(run) };
  const state = {
    store: new ViewStore(),
    theme: { text: [0, 0, 0], background: [9, 9, 9], muted: [5, 5, 5] },
    data: sent,
    pid: null,
    model: {},
  };
  const parts = { state, playback, scene: nothing, layout: nothing, orbit: {}, marker: nothing, selection: nothing };
  const act = {
    summary: () => "",
    repaint() {},
    recolor() {},
    refresh() {},
    trouble: (text) => seen.push(text),
    rerun() {},
  };
  const receiver = new PropsReceiver({ ...parts, ...act, subset: nothing });
  const answers = { "/1": [0, 1], "/2": [1, 0] };
  globalThis.fetch = async (url) => new Response(new Uint16Array(answers[url]));
  const shown = async (change) => {
    receiver.apply(Object.assign(state, { data: { ...state.data, ...change } }).data);
    await new Promise((done) => setTimeout(done, 5));
    return [[...state.model.labels], seen.splice(0)];
  };
  assert.deepEqual(await shown({}), [
    [0, 1],
    ["forgets", "a"],
  ]);
  assert.deepEqual(await shown({ labels_url: "/2" }), [[1, 0], []]);
  assert.deepEqual(await shown({ run: "b", labels_url: "/1" }), [[0, 1], ["b"]]);
  assert.deepEqual(await shown({ run: "c", dataset: "other", labels_url: "/2" }), [
    [1, 0],
    ["forgets", "c"],
  ]);
});
