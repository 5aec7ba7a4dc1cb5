import assert from "node:assert/strict";
import test from "node:test";
import { pictureOrder } from "../../src/map/render/pictureOrder.ts";

test("the first pictures stand for the fullest cells, and every item has its turn", () => {
  // Five about (0, 0), of which item 2 is in the middle; three about (10, 10), of which item 6 is.
  const xy = Float32Array.of(-1, 0, 1, 0, 0, 0, 0, 1, 0, -1, 9, 10, 10, 10, 11, 10);
  const order = [...pictureOrder(xy, new Uint8Array(8).fill(1))];
  assert.deepEqual(order.slice(0, 2), [2, 6]);
  assert.deepEqual(
    order.toSorted((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
});

test("hidden items come last", () => {
  const xy = Float32Array.of(0, 0, 5, 5, 5, 6);
  assert.equal(pictureOrder(xy, Uint8Array.of(0, 1, 1)).at(-1), 0);
});

test("items at one place keep their order", () => {
  assert.deepEqual([...pictureOrder(new Float32Array(6), new Uint8Array(3).fill(1))], [0, 1, 2]);
});
