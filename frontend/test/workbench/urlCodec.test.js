// What is looked at as the parameters of an address, and back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { START } from "../../src/workbench/store.ts";
import { decodeView, encodeView, isViewKey } from "../../src/workbench/urlCodec.ts";
import { random } from "../helpers.js";

const MNIST = { dataset: "mnist", n: 10_000 };
const maskOf = (share) => Uint8Array.from({ length: MNIST.n }, () => Number(random() < share));
const back = (query, shown = MNIST) => ({ ...START, ...decodeView(query, shown), reason: null });

test("an address without these parameters says nothing, and what is default is not written", () => {
  assert.deepEqual(encodeView(START, "mnist"), {});
  assert.deepEqual(decodeView({ run: "a", loss: "triplet", view: "pca" }, MNIST), {});
});

test("a hundred random states come back as they were", () => {
  const some = (values) => values[Math.floor(random() * values.length)];
  const said = new Set();
  for (let i = 0; i < 100; i++) {
    const state = {
      ...START,
      pinned: some([null, 0, 9_999]),
      partner: some([null, 17]),
      step: some([null, 0, 600]),
      selected: some([null, maskOf(0.3), maskOf(0.001)]),
      isolated: some([null, maskOf(0.01)]),
      hidden: some([new Set(), new Set([0, 1, 2, 7]), new Set([99_999])]),
      color: some(["class", "error", "column.camera"]),
      metric: some(["euclidean", "cosine"]),
      open: some([new Set(), new Set(["scores"]), new Set(["quality", "view", "why"])]),
      display: {
        names: some([true, false]),
        trails: some([true, false]),
        contours: some([true, false]),
        pictures: some([true, false]),
        images: some(["test", "both", "train"]),
        markers: some(["plain", "class", "column.camera"]),
      },
    };
    for (const name of ["selected", "isolated"]) if (!state[name]?.some(Boolean)) state[name] = null;
    const query = encodeView(state, "mnist");
    assert.ok(Object.keys(query).every(isViewKey));
    assert.deepEqual(back(query), state);
    for (const key of Object.keys(query)) said.add(key);
  }
  assert.equal(said.size, 15, "all that the server leaves to the browser");
});

test("words of the server are read, too: deflated by zlib, without zeros at the end", () => {
  const { selected } = back({ select: "mnist.eNpjYwIAABAACQ" }); // of dmlviz.config.projection.pack_items([1, 2, 9])
  assert.deepEqual(
    [...selected.keys()].filter((item) => selected[item]),
    [1, 2, 9],
  );
  const state = { ...START, selected: Uint8Array.from({ length: 10_000 }, (_, i) => Number(i === 9_999)) };
  assert.ok(encodeView(state, "mnist").select.length < 50, "short for few");
});

test("what cannot be followed is left out, whatever else is there", () => {
  const wrong = {
    pin: "10000",
    partner: "-1",
    step: "1e3",
    select: "fashion.abc",
    isolate: "mnist.!!",
    hide: "mnist.3-x",
    metric: "manhattan",
    "show.names": "no",
    "show.images": "all",
    "show.markers": "stars",
  };
  assert.deepEqual(decodeView({ ...wrong, color: "error" }, MNIST), { color: "error" });
  assert.deepEqual(decodeView({ hide: "mnist.0-999999" }, MNIST), {}, "no list of a million");
  assert.deepEqual(decodeView({ hide: "digits.1" }, MNIST), {}, "of another data set");
});

test("names of data sets may have dots", () => {
  const state = { ...START, hidden: new Set([1, 2, 5]) };
  assert.deepEqual(encodeView(state, "my.own"), { hide: "my.own.1-2,5" });
  assert.deepEqual([...back({ hide: "my.own.1-2,5" }, { dataset: "my.own", n: 3 }).hidden], [1, 2, 5]);
});
