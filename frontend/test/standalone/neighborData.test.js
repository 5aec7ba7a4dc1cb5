import assert from "node:assert/strict";
import test from "node:test";
import { neighborsOf, unpackNumbers } from "../../src/standalone/neighborData.ts";

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
