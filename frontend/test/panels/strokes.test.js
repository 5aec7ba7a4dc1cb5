import assert from "node:assert/strict";
import test from "node:test";
import { encodeBase64 } from "../../src/lib/base64.ts";
import { SIDE, encodeDrawing, rasterize } from "../../src/panels/query_pad/strokes.ts";

const at = (ink, x, y) => ink[Math.floor(y * SIDE) * SIDE + Math.floor(x * SIDE)];

test("a tap leaves one round dot and nothing else", () => {
  const ink = rasterize([[[0.5, 0.5]]]);
  assert.equal(at(ink, 0.5, 0.5), 255);
  const inked = ink.filter((value) => value > 0).length;
  assert.ok(inked > 8 && inked < 40, `${inked} pixels`);
});

test("a line is inked along its whole length, however far apart its points are", () => {
  const ink = rasterize([
    [
      [0.1, 0.2],
      [0.9, 0.7],
    ],
  ]);
  for (let t = 0; t <= 1; t += 0.05) assert.equal(at(ink, 0.1 + 0.8 * t, 0.2 + 0.5 * t), 255);
  assert.equal(at(ink, 0.1, 0.7), 0);
});

test("strokes that leave the pad are cut at its edge", () => {
  const ink = rasterize([
    [
      [-0.5, 0.5],
      [1.5, 0.5],
    ],
  ]);
  assert.equal(at(ink, 0.01, 0.5), 255);
  assert.equal(at(ink, 0.99, 0.5), 255);
});

test("crossing strokes do not darken each other", () => {
  const one = [
    [0.2, 0.5],
    [0.8, 0.5],
  ];
  assert.deepEqual(rasterize([one, one]), rasterize([one]));
});

test("separate strokes are not joined", () => {
  const ink = rasterize([[[0.2, 0.2]], [[0.8, 0.8]]]);
  assert.equal(at(ink, 0.5, 0.5), 0);
});

test("an empty pad is no drawing", () => assert.equal(encodeDrawing([]), null));

test("a drawing carries every byte of its ink", () => {
  const drawing = encodeDrawing([[[0.5, 0.5]]]);
  assert.equal(atob(drawing.ink).length, SIDE * SIDE);
  assert.equal(encodeBase64(new Uint8Array([0, 127, 255])), "AH//");
});
