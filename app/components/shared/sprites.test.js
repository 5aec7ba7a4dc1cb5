import assert from "node:assert/strict";
import test from "node:test";
import { tileOf, tileStyle } from "./sprites.js";

const sprites = { urls: ["a.png", "b.png"], tile: 28, columns: 100, per_sheet: 10000 };

test("a tile is found by row and column of its own sheet", () => {
  assert.deepEqual(tileOf(sprites, 0), { url: "a.png", x: 0, y: 0 });
  assert.deepEqual(tileOf(sprites, 101), { url: "a.png", x: 28, y: 28 });
  assert.deepEqual(tileOf(sprites, 10099), { url: "b.png", x: 99 * 28, y: 0 });
});

test("an enlarged tile moves its sheet by as many enlarged pixels", () => {
  const style = tileStyle(sprites, 101, 56);
  assert.equal(style.backgroundPosition, "-56px -56px");
  assert.equal(style.backgroundSize, "5600px auto");
});
