import assert from "node:assert/strict";
import test from "node:test";
import {
  isOver,
  secondsLeft,
  statusText,
  shareOf,
  initialStatus,
  reduceStatus,
  timeOf,
} from "../../src/workbench/progress/status.ts";

function after(...events) {
  const standing = initialStatus({ phase: "starting" });
  for (const event of events) reduceStatus(standing, event);
  return standing;
}
const started = { event: "started", steps: 600, time: 100 };
const step = (step, time, loss = 0.5) => ({ event: "step", step, time, loss });

test("who waits is told for what", () => {
  const waiting = (position, waitsFor = "") =>
    statusText({ ...after({ event: "queue", phase: "queued", position, of: 3 }), waitsFor });
  assert.equal(waiting(1), "Waits for its turn");
  assert.equal(waiting(2), "Waits for 1 job before it");
  assert.equal(waiting(1, "MNIST, NT-Xent"), "Waits for MNIST, NT-Xent");
  assert.equal(waiting(3, "MNIST, NT-Xent"), "Waits for MNIST, NT-Xent and 2 more");
});

test("time left follows the speed of the last seconds", () => {
  const slowThenFast = [started, step(10, 110), step(20, 120)];
  for (let i = 1; i <= 20; i++) slowThenFast.push(step(20 + 10 * i, 120 + i));
  const standing = after(...slowThenFast);
  assert.ok(Math.abs(secondsLeft(standing) - 38) < 1.5, `${secondsLeft(standing)}`);
});

test("no time is promised before there is a speed, nor after the end", () => {
  assert.equal(secondsLeft(after(started)), null);
  assert.equal(secondsLeft(after(started, step(1, 101), { event: "finished", step: 600 })), null);
  assert.equal(secondsLeft(after(started, step(0, 101), step(0, 102))), null);
});

test("a stopped training says where it stopped while its test images are scored", () => {
  const standing = after(started, step(10, 101), step(140, 110), { event: "stopping", step: 140 });
  assert.equal(statusText(standing), "Stopped at step 140; scoring the test set …");
  assert.equal(secondsLeft(standing), null);
  assert.equal(isOver(standing), false);
  reduceStatus(standing, { event: "stopped", step: 140, reason: "stopped by hand" });
  assert.equal(statusText(standing), "Stopped at step 140: stopped by hand");
});

test("a projection without a known number of iterations shows no share", () => {
  const standing = after({ event: "started", method: "umap", iterations: null, time: 1 });
  assert.equal(shareOf(standing), null);
});

test("a finished projection says how long it took", () => {
  const standing = after(
    { event: "started", method: "tsne", iterations: 600, time: 1 },
    { event: "frame", iteration: 599, of: 600, time: 80 },
    { event: "finished", seconds: 84.9 },
  );
  assert.equal(statusText(standing, "t-SNE"), "t-SNE: 600 iterations in 1 min 25 s");
});

test("a projection without iterations, and a run, say nothing of the kind", () => {
  const pca = after({ event: "started", method: "pca", iterations: null }, { event: "finished", seconds: 0.2 });
  assert.equal(statusText(pca, "PCA"), "PCA: done in 1 s");
});

test("a download is told in megabytes", () => {
  const standing = after({ event: "preparing", dataset: "mnist", done: 4_700_000, total: 11_600_000 });
  assert.equal(statusText(standing), "Downloading mnist: 4.7 MB of 11.6 MB");
  assert.ok(shareOf(standing) > 0.4);
});

test("after the last step all test images are embedded, and that is said", () => {
  assert.match(statusText(after(started, step(600, 120))), /the whole test set/);
});

test("a failure is its reason, and stays it when the stream ends", () => {
  const standing = after(
    started,
    { event: "failed", reason: "The loss became infinite." },
    { event: "end", state: "failed" },
  );
  assert.equal(statusText(standing), "The loss became infinite.");
  assert.ok(isOver(standing));
});

test("a run that died without a message is interrupted, not running", () => {
  const standing = after(started, step(5, 101), { event: "end", state: "interrupted" });
  assert.ok(isOver(standing));
  assert.match(statusText(standing), /Interrupted/);
});

test("a stopped run says where", () => {
  assert.equal(statusText(after(started, { event: "stopped", step: 42, reason: "" })), "Stopped at step 42");
});

test("a run that begins again forgets how it ended", () => {
  const standing = after(started, { event: "stopped", step: 42, reason: "by hand" }, started);
  assert.equal(isOver(standing), false);
  assert.equal(shareOf(standing), 0);
});

test("times are short words", () => {
  assert.deepEqual([0.2, 59, 60, 80, 3600, 7500].map(timeOf), [
    "1 s",
    "59 s",
    "1 min",
    "1 min 20 s",
    "1 h 0 min",
    "2 h 5 min",
  ]);
});

test("a layout that goes on after a pause goes on counting", () => {
  const paused = after(
    { event: "started", iterations: 600 },
    { event: "frame", iteration: 200, of: 600, time: 1 },
    { event: "stopped", iteration: 210, reason: "paused" },
  );
  assert.equal(statusText(paused), "Paused at iteration 210 of 600");
  reduceStatus(paused, { event: "started", iterations: 600, iteration: 210, time: 2 });
  assert.equal(statusText(paused), "Iteration 210 of 600");
});

test("a layout whose worker died stands where it was, so that it can go on", () => {
  const cut = after(
    { event: "started", iterations: 600 },
    { event: "frame", iteration: 200, of: 600, time: 1 },
    { event: "failed", step: 0, reason: "The worker was killed." },
  );
  assert.deepEqual([cut.done, cut.phase, statusText(cut)], [200, "failed", "The worker was killed."]);
});

test("a library that shows no positions says what it does, and its own speed tells the time left", () => {
  const waits = [
    { event: "started", method: "umap", iterations: 500, time: 0 },
    { event: "frame", iteration: 0, of: 500, time: 1 },
    { event: "phase", words: "umap-learn is compiling", iteration: 0, of: 500, time: 2 },
  ];
  const compiling = after(...waits);
  assert.equal(statusText(compiling), "umap-learn is compiling");
  assert.equal(shareOf(compiling), null);
  assert.equal(secondsLeft(compiling), null);
  const phase = (iteration, time) => ({
    event: "phase",
    words: "umap-learn moves the points",
    iteration,
    of: 500,
    time,
  });
  const moving = after(...waits, phase(100, 90), phase(200, 92));
  assert.equal(statusText(moving), "umap-learn moves the points: iteration 200 of 500");
  assert.equal(shareOf(moving), 0.4);
  assert.equal(secondsLeft(moving), 6);
  const over = after(...waits, phase(200, 92), { event: "frame", iteration: 500, of: 500, time: 95 });
  assert.match(statusText(over), /Measuring/);
});

test("a map that follows a training counts its steps, and the iterations of its settling", () => {
  const settling = (iteration) => ({ event: "phase", words: "Settling all 596 test images", iteration, of: 600 });
  const layout = { event: "frame", iteration: 195, of: 200, step: 195 };
  const follows = [{ event: "started", method: "tsne", iterations: 600, training_steps: 200, time: 0 }, layout];
  const words = (...events) => statusText(after(...follows, ...events), "t-SNE");
  assert.equal(words(), "Step 195 of 200");
  assert.equal(words(settling(56)), "Settling all 596 test images: iteration 56 of 600");
  assert.equal(words(settling(600)), "Measuring map quality …");
  assert.equal(words(settling(600), { event: "finished", iteration: 200, seconds: 9 }), "t-SNE: 200 steps in 9 s");
  const collapsed = { event: "stopped", iteration: 195, reason: "All 596 embeddings are equal." };
  assert.equal(words(settling(0), collapsed), "Stopped at step 195: All 596 embeddings are equal.");
});

test("a run on a machine of the fleet says where, and which machine was lost before", () => {
  const machine = (name, lost = "") => ({ event: "machine", machine: name, lost });
  assert.equal(statusText(after(machine("gpu-1"))), "Starting … · on gpu-1");
  assert.equal(statusText(after(started, machine("gpu-1"), step(3, 101))), "Step 3 of 600, loss 0.500 · on gpu-1");
  const waiting = after(machine("", "gpu-1 was lost."), { event: "queue", phase: "queued", position: 1, of: 1 });
  assert.equal(statusText(waiting), "Waits for its turn · gpu-1 was lost.");
  const again = after(machine("gpu-2", "gpu-1 was lost."), started, step(3, 101));
  assert.equal(statusText(again), "Step 3 of 600, loss 0.500 · gpu-1 was lost. Begun again on gpu-2.");
  const over = after(machine("gpu-2"), started, { event: "finished", step: 600, seconds: 12 });
  assert.equal(statusText(over, "A run"), "A run: 600 steps in 12 s on gpu-2");
});

test("a run that was deleted while it trained goes on no more, and has nothing to stop", () => {
  const standing = after(started, step(3, 101), { event: "end", state: "unknown" });
  assert.deepEqual([statusText(standing), isOver(standing)], ["This run was deleted", true]);
});
