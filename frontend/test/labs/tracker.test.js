// The player of the lab tracking: what arrives, boxes drawn by hand, the colors of scores.
import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeVideo, heat, keyedBox, squareOf, summary } from "../../src/labs/tracker/videoState.ts";

test("a video is decoded, and the first frame does not count in the mean overlap", () => {
  const video = decodeVideo({
    frames: "AAEC/w==",
    side: 2,
    count: 3,
    stride: 2,
    first: [1, 1, 2],
    truth: [[1, 1, 2]],
    followers: [{ title: "a", boxes: [], maps: "BQ==", overlaps: [1, 0.5, 0.1], frames_followed: 2, milliseconds: 1 }],
  });
  assert.deepEqual([...video.frames], [0, 1, 2, 255]);
  assert.equal(video.mapSide, 1);
  assert.deepEqual([...video.followers[0].maps], [5]);
  assert.equal(video.followers[0].mean.toFixed(3), "0.300");
  assert.equal(summary(video.followers[0], 3), "mean IoU 0.30, lost at frame 2");
  assert.equal(summary({ ...video.followers[0], frames_followed: 3 }, 3), "mean IoU 0.30, kept to the end");
});

test("a drag is a square around its middle, a click one of the usual side", () => {
  assert.deepEqual(squareOf([10, 20], [30, 24], 64, 18), [22, 20, 20]); // row, column, side
  assert.deepEqual(squareOf([10, 20], [11, 20], 64, 18), [20, 10, 18]);
  assert.deepEqual(squareOf([-9, 70], [-9, 70], 64, 18), [63, 0, 18]);
});

test("keys move and resize a box within the picture; arrows alone do not", () => {
  assert.deepEqual(keyedBox([20, 30, 16], "ArrowUp", true, 64), [19, 30, 16]);
  assert.deepEqual(keyedBox([20, 63, 16], "ArrowRight", true, 64), [20, 63, 16]);
  assert.deepEqual(keyedBox([20, 30, 16], "+", true, 64), [20, 30, 18]);
  assert.deepEqual(keyedBox([20, 30, 4], "-", false, 64), [20, 30, 4]);
  assert.equal(keyedBox([20, 30, 16], "ArrowUp", false, 64), null);
  assert.equal(keyedBox([20, 30, 16], "Enter", false, 64), null);
});

test("scores go from dark to light", () => {
  const brightness = [0, 64, 128, 192, 255].map((score) => heat(score).reduce((sum, value) => sum + value, 0));
  assert.deepEqual(
    brightness,
    [...brightness].sort((a, b) => a - b),
  );
  assert.ok(heat(255)[0] === 255 && heat(0)[0] < 20);
});
