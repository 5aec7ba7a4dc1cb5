import assert from "node:assert/strict";
import test from "node:test";
import { zlibSync } from "fflate";
import { ROUTES, fetchServer } from "../../src/lib/server.ts";
import { PackedSource, neighborsOf, unpackNumbers } from "../../src/standalone/runPage.ts";

const packed = (array) => Buffer.from(array.buffer).toString("base64");

test("numbers come out as they went in", () => {
  assert.deepEqual([...unpackNumbers(packed(new Uint16Array([0, 1, 65535])), "<u2")], [0, 1, 65535]);
  assert.deepEqual([...unpackNumbers(packed(new Int32Array([70000, -1])), "<i4")], [70000, -1]);
});

test("bytes are taken as they are", () => {
  assert.deepEqual([...unpackNumbers(new Uint8Array([1, 0, 0, 1]), "<u2")], [1, 256]);
});

test("neighbors are those of the item itself, nearest first", () => {
  const near = {
    k: 2,
    items: new Uint16Array([1, 0, 1, 2, 2, 0]),
    distances: new Uint16Array([10, 10, 30, 20, 40, 60]),
    unit: 0.5,
  };
  assert.deepEqual(neighborsOf(near, 1), [
    [0, 5],
    [2, 20],
  ]);
});

test("an item alone has no neighbors", () => {
  assert.deepEqual(neighborsOf({ k: 0, items: new Uint16Array(), distances: new Uint16Array(), unit: 1 }, 0), []);
});

/** What a page gets at an address of run "r", which is packed into it. */
async function answered(packed, path) {
  const source = new PackedSource({ run: "r", labels: [1, 0], classes: ["cat", "dog"], near: null, ...packed });
  const response = await fetchServer(`${ROUTES}/runs/r/${path}`);
  source.stop();
  return response;
}

const near = { k: 1, items: new Uint16Array([1, 0]), distances: new Uint16Array([4, 4]), unit: 0.5 };

test("a packed run answers a pin as the server does, and says why not before its end", async () => {
  const answer = await answered({ near }, "neighbors/1.json?metric=euclidean");
  assert.deepEqual(await answer.json(), { item: 1, label: 0, near: [[0, 1, 2]], classes: { 0: "cat", 1: "dog" } });
  const refusal = await answered({}, "neighbors/1.json");
  assert.equal(refusal.ok, false);
  assert.match((await refusal.json()).error, /when the run is over\.$/);
});

test("a packed run has the nearest of each, and the files that were packed with it", async () => {
  const bytes = new Uint8Array(await (await answered({ near }, "nearest.bin?v=1")).arrayBuffer());
  assert.deepEqual([...new Int32Array(bytes.buffer, 0, 2)], [1, 0]);
  assert.deepEqual([...new Float32Array(bytes.buffer, 8, 2)], [2, 2]);
  const files = { "per_query.bin": zlibSync(new Uint8Array([1, 2, 3])) };
  const judged = await answered({ files }, "per_query.bin?v=1");
  assert.deepEqual([...new Uint8Array(await judged.arrayBuffer())], [1, 2, 3]);
  for (const path of ["per_query.bin?v=1&step=50", "baseline.json"])
    assert.match((await (await answered({ files }, path)).json()).error, /has no server/);
});
