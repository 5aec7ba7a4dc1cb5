// The motion of the points from frame to frame.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toScreen } from "../../src/map/math/camera.ts";
import { Tween } from "../../src/map/math/tween.ts";
import { close, placed, random } from "../helpers.js";

const cloud = (n) => placed(Array.from({ length: n }, () => [random(), random()]));

describe("tween", () => {
  it("begins at one frame, ends at the other, and agrees with itself point by point", () => {
    const [a, b] = [cloud(20), cloud(20)];
    const tween = Tween.ease(Tween.rest(a), 1, b);
    close(tween.sample(0), a.xy);
    close(tween.sample(1), b.xy);
    close(tween.at(7, 0.4), tween.sample(0.4).slice(14, 16));
  });

  it("eases: starts and ends at rest", () => {
    const tween = Tween.ease(Tween.rest(cloud(5)), 1, cloud(5));
    close(tween.velocity(0), new Float32Array(10));
    close(tween.velocity(1), new Float32Array(10));
  });

  it("keeps place and speed of every point when a new frame comes in mid-motion", () => {
    const first = Tween.ease(Tween.rest(cloud(30)), 1, cloud(30));
    for (const [t, ratio] of [
      [0.25, 1],
      [0.6, 0.7],
      [0.9, 2],
    ]) {
      const second = Tween.ease(first, t, cloud(30), ratio);
      close(second.sample(0), first.sample(t), 1e-5);
      close(
        second.velocity(0),
        first.velocity(t).map((v) => v * ratio),
        1e-4,
      );
    }
  });

  it("lets points appear in place by fading in, and leave by fading out", () => {
    const tracked = placed([[0, 0], null, [2, 2]]);
    const all = placed([[1, 0], [5, 5], null]);
    const tween = Tween.ease(Tween.rest(tracked), 1, all);
    for (const t of [0, 0.5, 1]) {
      close(tween.at(1, t), [5, 5]);
      close(tween.at(2, t), [2, 2]);
    }
    assert.deepEqual(
      [0, 1, 2].map((i) => tween.opacity(i, 0)),
      [255, 0, 255],
    );
    assert.deepEqual(
      [0, 1, 2].map((i) => tween.opacity(i, 0.5)),
      [255, 128, 128],
    );
    assert.deepEqual(
      [0, 1, 2].map((i) => tween.opacity(i, 1)),
      [255, 255, 0],
    );
  });

  it("goes on from a half-faded point without a jump in opacity", () => {
    const tween = Tween.ease(
      Tween.rest(placed([[0, 0], null])),
      1,
      placed([
        [0, 0],
        [1, 1],
      ]),
    );
    const next = Tween.ease(
      tween,
      0.5,
      placed([
        [0, 0],
        [2, 1],
      ]),
    );
    assert.equal(next.opacity(1, 0), tween.opacity(1, 0.5));
    close(next.at(1, 0), [1, 1]);
  });

  it("passes from stretch to stretch without a kink", () => {
    const frames = [cloud(40), cloud(40), cloud(40), cloud(40), cloud(40)];
    const one = Tween.stretch(frames[0], frames[1], frames[2], frames[3]);
    const two = Tween.stretch(frames[1], frames[2], frames[3], frames[4]);
    close(one.sample(1), two.sample(0));
    close(one.velocity(1), two.velocity(0), 1e-5);
  });

  it("stays between two frames on every stretch: no coordinate overshoots", () => {
    for (let round = 0; round < 20; round++) {
      const tween = Tween.stretch(cloud(50), cloud(50), cloud(50), cloud(50));
      for (const t of [0.1, 0.3, 0.5, 0.7, 0.95]) {
        tween.sample(t).forEach((v, j) => {
          const [low, high] = [Math.min(tween.p0[j], tween.p1[j]), Math.max(tween.p0[j], tween.p1[j])];
          assert.ok(v >= low - 1e-6 && v <= high + 1e-6);
        });
      }
    }
  });

  it("is the same motion on the screen when told in the world of another view", () => {
    const tween = Tween.stretch(cloud(9), cloud(9), cloud(9), cloud(9));
    const port = { width: 600, height: 400 };
    const [from, to] = [
      { x: 0.4, y: 0.5, k: 300 },
      { x: -7, y: 20, k: 0.5 },
    ];
    const told = tween.rebased(from, to);
    for (const t of [0, 0.3, 1]) {
      close(toScreen(to, port, ...told.at(4, t)), toScreen(from, port, ...tween.at(4, t)), 1e-3);
    }
    assert.equal(told.opacity(4, 0.5), tween.opacity(4, 0.5));
  });

  it("plays the first and the last stretch, which lack a neighbor, and items that come and go", () => {
    const tween = Tween.stretch(
      null,
      placed([[0, 0], null]),
      placed([
        [1, 1],
        [3, 3],
      ]),
      null,
    );
    close(tween.sample(0), [0, 0, 3, 3]);
    close(tween.sample(1), [1, 1, 3, 3]);
    assert.deepEqual([tween.opacity(1, 0), tween.opacity(1, 1)], [0, 255]);
    assert.deepEqual([tween.visibleCount(0), tween.visibleCount(1)], [1, 2]);
  });
});
