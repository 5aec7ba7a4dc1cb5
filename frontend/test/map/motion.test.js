// How things move: tweens, the playhead, the timeline, the query's star.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toScreen } from "../../src/map/math/camera.ts";
import { classCenters } from "../../src/map/math/centroids.ts";
import { Model } from "../../src/map/data/model.ts";
import { frameRate, Player, SPEEDS } from "../../src/map/playback/player.ts";
import { QueryMarker } from "../../src/map/math/queryMarker.ts";
import {
  emptyTimeline,
  framesOf,
  indexAt,
  indexOfStep,
  isOpen,
  placeOf,
  reduceEvent,
} from "../../src/map/data/timeline.ts";
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

describe("player", () => {
  const here = () => true;

  it("plays at a pace that shows a whole run in about eleven seconds, short ones slower, long ones not in a blur", () => {
    assert.equal(frameRate(55), 5);
    assert.equal(frameRate(3), 1.6);
    assert.equal(frameRate(1000), 6);
  });

  it("moves by time and speed, and stands still on the last frame of a closed run", () => {
    const player = new Player();
    player.play(56);
    player.advance(0.5, 56, here, false);
    const at = player.position;
    assert.ok(at > 0 && at === 0.5 * frameRate(56));
    player.cycleSpeed();
    player.advance(0.5, 56, here, false);
    close([player.position], [at * 3]);
    player.advance(1e3, 56, here, false);
    assert.deepEqual([player.position, player.playing, player.following], [55, false, false]);
  });

  it("takes up the live run when it has caught up with it", () => {
    const player = new Player();
    player.position = 3;
    player.play(6);
    player.advance(100, 6, here, true);
    assert.deepEqual([player.position, player.playing, player.following], [5, false, true]);
  });

  it("waits at a frame that has not arrived, then goes on", () => {
    const player = new Player();
    player.play(20);
    player.advance(100, 20, (i) => i < 4, false);
    assert.deepEqual([player.position, player.playing], [3, true]);
    player.advance(0.1, 20, here, false);
    assert.ok(player.position > 3);
  });

  it("pauses on a frame, never between two", () => {
    const player = new Player();
    player.play(20);
    player.advance(0.3, 20, here, false);
    const next = Math.ceil(player.position);
    player.pause();
    player.advance(5, 20, here, false);
    assert.deepEqual([player.position, player.playing], [next, false]);
  });

  it("starts over when played from the end, and does not play a single frame", () => {
    const player = new Player();
    player.position = 9;
    assert.equal(player.play(10), true);
    assert.equal(player.position, 0);
    assert.equal(new Player().play(1), false);
    assert.equal(new Player().playing, false);
  });

  it("follows an open run again when sought to its end, and only then", () => {
    const player = new Player();
    player.seek(3, 10, true);
    assert.equal(player.following, false);
    player.seek(Infinity, 10, true);
    assert.deepEqual([player.position, player.following], [9, true]);
    player.seek(-4, 10, false);
    assert.deepEqual([player.position, player.following], [0, false]);
  });

  it("goes round its speeds", () => {
    const player = new Player();
    const seen = SPEEDS.map(() => (player.cycleSpeed(), player.speed));
    assert.deepEqual([...seen].sort(), [...SPEEDS].sort());
  });
});

describe("timeline", () => {
  const frame = (id) => ({ id, n: 2, dims: 2, center: [0, 0], scale: 1, items: "tracked" });
  const run = (...events) => events.reduce((line, event) => (reduceEvent(line, event), line), emptyTimeline());
  const started = { event: "started", steps: 600 };
  const snapshot = (step) => ({ event: "snapshot", step, frame: frame(`s${step}`) });

  it("collects the snapshots of a run while it is open", () => {
    const line = run(started, snapshot(0), { event: "step", step: 7, loss: 1 }, snapshot(10));
    assert.deepEqual(
      framesOf(line).map(({ step }) => step),
      [0, 10],
    );
    assert.deepEqual([line.noun, line.total, line.current, isOpen(line)], ["step", 600, 10, true]);
  });

  it("changes over to the replay, whose frames carry their own description", () => {
    const line = run(
      started,
      snapshot(0),
      snapshot(600),
      {
        event: "replay",
        basis: "last",
        frames: [
          { step: 0, ...frame("r0") },
          { step: 600, ...frame("r600"), items: "all" },
        ],
      },
      { event: "finished", step: 600 },
    );
    assert.deepEqual(
      framesOf(line).map(({ frame: { id } }) => id),
      ["r0", "r600"],
    );
    assert.equal(framesOf(line)[1].frame.items, "all");
    assert.equal(isOpen(line), false);
  });

  it("counts iterations for a projection, and shows the only frame of a method that gives no others", () => {
    const line = run({ event: "started", method: "pca", iterations: null }, { event: "finished", frame: frame("p") });
    assert.equal(line.noun, "iteration");
    assert.deepEqual(
      framesOf(line).map(({ frame: { id } }) => id),
      ["p"],
    );
    const tsne = run(
      { event: "started", iterations: 50 },
      { event: "frame", iteration: 50, of: 50, frame: frame("t") },
      { event: "finished", frame: frame("t") },
    );
    assert.equal(framesOf(tsne).length, 1);
    assert.equal(framesOf(tsne)[0].provisional, false);
  });

  it("says how a run ended: by an event, or by the stream's end when it was cut off", () => {
    assert.equal(run(started, { event: "failed", reason: "no memory" }).reason, "no memory");
    assert.equal(run(started, { event: "failed", reason: "x" }, { event: "end", state: "failed" }).state, "failed");
    const cut = run(started, snapshot(0), { event: "end", state: "interrupted" });
    assert.deepEqual([cut.state, isOpen(cut)], ["interrupted", false]);
  });

  it("waits in the queue until it starts", () => {
    const line = run({ event: "queue", position: 2, of: 3 });
    assert.deepEqual(line.queue, { phase: "queued", position: 2, of: 3 });
    reduceEvent(line, started);
    assert.equal(line.queue, null);
  });

  it("lays frames out by step, over the whole training while it runs, and finds them there again", () => {
    const line = run(started, snapshot(0), snapshot(60), snapshot(300));
    close(
      [0, 1, 2].map((i) => placeOf(line, i)),
      [0, 0.1, 0.5],
    );
    reduceEvent(line, { event: "stopped", step: 300 });
    close(
      [0, 1, 2].map((i) => placeOf(line, i)),
      [0, 0.2, 1],
    );
    for (const i of [0, 1, 2]) assert.equal(indexAt(line, placeOf(line, i) + 0.05), i);
  });

  it("finds the frame of a step: the last one not after it", () => {
    const line = run(started, snapshot(0), snapshot(60), snapshot(300));
    assert.deepEqual(
      [0, 59, 60, 299, 900].map((step) => indexOfStep(line, step)),
      [0, 0, 1, 1, 2],
    );
    assert.equal(placeOf(emptyTimeline(), 3), 0);
  });
});

describe("query star", () => {
  const entry = (step) => ({ step, frame: { id: `f${step}` } });

  it("takes its place in each frame, by frame or by step, and moves in between", () => {
    const star = new QueryMarker();
    star.set({ frames: { f0: [0, 0], 10: [2, 4] } }, entry(0), true);
    assert.deepEqual(star.at(1), [0, 0]);
    star.move(entry(0), entry(10), 1);
    assert.deepEqual(star.at(0.5), [1, 2]);
    assert.deepEqual(star.trail([entry(0), entry(5), entry(10)], entry(10)), [
      [0, 0],
      [2, 4],
    ]);
  });

  it("stays where it is for a query with one place, and has none without a query", () => {
    const star = new QueryMarker();
    assert.equal(star.at(1), null);
    star.set({ xy: [3, 4] }, entry(0), true);
    star.move(entry(0), entry(1), 1);
    assert.deepEqual(star.at(0.3), [3, 4]);
    star.set(null, entry(0), true);
    assert.equal(star.at(0.3), null);
  });

  it("has no place in the frames of a projection that is still on its way", () => {
    const star = new QueryMarker();
    star.set({ xy: [3, 4] }, { ...entry(5), provisional: true }, true);
    assert.equal(star.at(1), null);
    star.move(entry(9), entry(9), 1);
    assert.deepEqual(star.at(0), [3, 4]);
  });

  it("lands anew for another query only, not for the same one sent again", () => {
    const star = new QueryMarker();
    assert.equal(star.set({ xy: [1, 1], neighbors: [] }, null, false), true);
    assert.equal(star.age, 0);
    star.age = 1;
    assert.equal(star.set({ xy: [1, 1], neighbors: [{ item: 3 }] }, null, false), false);
    assert.equal(star.age, 1);
  });
});

describe("class centers", () => {
  const model = new Model(["a", "b", "c"], Uint8Array.of(0, 0, 1, 1), 4);

  it("are the means, and are clear only where classes stand apart", () => {
    const apart = classCenters(
      model,
      Tween.rest(
        placed([
          [0, 0],
          [0, 1],
          [9, 0],
          [9, 1],
        ]),
      ),
    );
    close(apart[0].at[1], [0, 0.5]);
    close(apart[1].at[1], [9, 0.5]);
    assert.equal(apart[0].clear, 1);
    assert.equal(apart[2].clear, 0);
    const mixed = classCenters(
      model,
      Tween.rest(
        placed([
          [0, 0],
          [9, 1],
          [9, 0],
          [0, 1],
        ]),
      ),
    );
    assert.equal(mixed[0].clear, 0);
  });

  it("count only items that have a place", () => {
    const centers = classCenters(model, Tween.rest(placed([[0, 0], null, [9, 0], null])));
    close(centers[0].at[1], [0, 0]);
    assert.equal(centers[0].count, 1);
  });
});
