// The timeline of a run or a projection.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  emptyTimeline,
  framesOf,
  indexAt,
  indexOfStep,
  isOpen,
  placeOf,
  reduceEvent,
  unplaced,
} from "../../src/map/data/timeline.ts";
import { alarmOn } from "../../src/map/ui/alarmNote.ts";
import { noticesOf, statusOf } from "../../src/map/ui/words.ts";
import { close, pluck } from "../helpers.js";

describe("timeline", () => {
  const frame = (id) => ({ id, n: 2, dims: 2, center: [0, 0], scale: 1, items: "tracked" });
  const run = (...events) => events.reduce((line, event) => (reduceEvent(line, event), line), emptyTimeline());
  const started = { event: "started", steps: 600 };
  const snapshot = (step) => ({ event: "snapshot", step, frame: frame(`s${step}`) });

  it("collects the snapshots of a run while it is open", () => {
    const line = run(started, snapshot(0), { event: "step", step: 7, loss: 1 }, snapshot(10));
    assert.deepEqual(pluck(framesOf(line), "step"), [0, 10]);
    assert.deepEqual([line.noun, line.total, line.current, isOpen(line)], ["step", 600, 10, true]);
  });

  it("says a training's alarm on the map that follows it while it is on, and on no other projection", () => {
    const layout = (step) => ({ event: "frame", iteration: step, of: 600, step, frame: frame(`l${step}`) });
    const alarm = { event: "alarm", alarm: "collapsed", step: 9, sentence: "Embeddings have collapsed.", remedies: [] };
    const events = [layout(0), alarm, layout(10), { event: "alarm_over", alarm: "collapsed", step: 30 }, layout(30)];
    const shown = (begin) => {
      const line = run(begin, ...events);
      return framesOf(line).map((entry) => alarmOn("a-map", line, entry)?.alarm ?? null);
    };
    assert.deepEqual(shown({ event: "started", method: "tsne", training_steps: 600 }), [null, "collapsed", null]);
    assert.deepEqual(shown({ event: "started", method: "tsne", iterations: 600 }), [null, null, null]);
  });

  it("keeps the last layout of a step of a map that goes on with a snapshot", () => {
    const layout = (step, id) => ({ event: "frame", iteration: step, of: 600, step, frame: frame(id) });
    const line = run(
      { event: "started", method: "tsne", training_steps: 600 },
      layout(0, "a"),
      layout(0, "b"),
      layout(7, "c"),
    );
    assert.deepEqual(
      framesOf(line).map((entry) => entry.frame.id),
      ["b", "c"],
    );
  });

  it("says since when a map has layouts that was chosen, or given another setting, during the training", () => {
    const model = { n: 2, noun: "image", neighbors: [], pinned: null };
    const caption = (...steps) => {
      const begun = { event: "started", method: "tsne", training_steps: 600 };
      const events = steps.map((step) => ({ event: "frame", iteration: step, of: 600, step, frame: frame("a") }));
      const line = run(begun, ...events.slice(0, 2), begun, ...events.slice(2));
      return statusOf({ data: {}, model, images: "test" }, line, { count: 2 }, 2, "")[0];
    };
    assert.deepEqual([caption(0), caption(47)], ["2 images", "2 images · layouts from step 47 on"]);
    assert.equal(caption(0, 7, 12), "2 images");
    const cut = run(started, snapshot(0), { event: "end", state: "interrupted" });
    assert.match(statusOf({ data: {}, model, images: "test" }, cut, { count: 2 }, 2, "")[0], /cut off: what was drawn/);
    assert.match(caption(0, 7, 90), /no layouts yet between steps 7 and 90$/);
  });

  it("says what it waits for while there is no map: an answer, a worker, a first layout; it loads what there is", () => {
    const model = { n: 2, noun: "image" };
    const said = (...events) => statusOf({ data: {}, model }, run(...events), null, 0, "")[1];
    const following = { event: "started", method: "tsne", training_steps: 600 };
    const drawing = { event: "phase", words: "Drawing the first layout", step: 9, iteration: 9, of: 600 };
    const events = [
      [],
      [{ event: "queue", phase: "queued" }],
      [{ event: "queue", phase: "starting" }],
      [following],
      [following, drawing],
      [started, snapshot(0)],
      [started, { event: "end", state: "interrupted" }],
    ];
    assert.deepEqual(
      events.map((some) => said(...some)),
      [
        "Waiting for an answer …",
        "Not begun yet",
        "Starting a worker …",
        "Waiting for the first step of the training …",
        "Drawing the first layout",
        "Loading …",
        "It ended before its first map.",
      ],
    );
  });

  it("says on the map what was refused and why it failed, until that is over", () => {
    const following = run({ event: "started", method: "tsne", training_steps: 600 });
    const said = (line, data = {}, trouble = null) => noticesOf({ data, pid: "p", trouble }, line);
    assert.deepEqual(said(following, { notices: ["No."] }, "Frame 7 is missing."), ["No.", "Frame 7 is missing."]);
    assert.deepEqual(said(following), []);
    const lost = { faithfulness: { neighbors_kept: 0.04, k: 10 } };
    assert.match(noticesOf({ data: { settings: [{}] }, pid: "p" }, following, lost)[0], /^Only 0.4 of 10 neighbors/);
    for (const gone of [said(following, { gone: true }, "No."), said({ ...following, state: "unknown" }, {}, "No.")])
      assert.match(gone.join("|"), /^This run was deleted. Its last layout stays here: [^|]+$/);
    reduceEvent(following, { event: "failed", reason: "It was killed." });
    assert.match(said(following).join(), /^It was killed. The last layout stays/);
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

  it("has places for training images on a common basis, and on the end of every projection, or says why not", () => {
    const replay = { event: "replay", basis: "last", frames: [{ step: 0, ...frame("r") }] };
    const live = run({ ...started, view: "fan" }, snapshot(0));
    const tsne = run(
      { event: "started", method: "tsne", iterations: 2 },
      { event: "frame", iteration: 1, of: 2, frame: frame("a") },
      { event: "finished", iteration: 2, frame: frame("b") },
    );
    const pca = run({ event: "started", method: "pca", iterations: null }, { event: "finished", frame: frame("p") });
    const said = (line) => framesOf(line).map((entry) => unplaced(line, entry));
    assert.deepEqual(said(run({ ...started, view: "fan" }, snapshot(0), replay)), [""]);
    assert.deepEqual(said(run({ ...started, view: "plane" }, snapshot(0))), [""]);
    assert.deepEqual(said(live), ["the training set appears when the training is finished"]);
    assert.deepEqual(said({ ...run(snapshot(0), replay), refit: true, refitted: [live.live[0]] }), [
      "the training set is not placed on refitted frames",
    ]);
    assert.deepEqual(said(tsne), ["the training set appears on the last frame", ""]);
    assert.deepEqual(said(pca), [""]);
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

  it("has a hole where it stopped following, until the layouts between have come", () => {
    const begun = { event: "started", method: "tsne", training_steps: 100 };
    const layout = (step) => ({ event: "frame", step, iteration: step, frame: { id: `${step}` } });
    const line = run(begun, layout(0), layout(5), layout(10), begun, layout(60));
    assert.deepEqual(line.hole, [10, 60]);
    const frames = [0, 5, 10, 30, 60, 100].map((step) => ({ step, id: `${step}` }));
    reduceEvent(line, { event: "replay", view: "tsne", frames });
    assert.deepEqual([line.hole, line.refitted], [null, null]);
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
