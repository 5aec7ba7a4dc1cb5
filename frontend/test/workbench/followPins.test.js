// Pins are answered by the server: the newest pin wins, and what cannot be answered says why.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { pluck } from "../helpers.js";
import { bus } from "../../src/lib/bus.ts";
import { followPins, pinnedNeighbors } from "../../src/workbench/followPins.ts";
import { START, pageStore } from "../../src/workbench/store.ts";

const answers = [];
bus.on("neighbors", (answer) => answers.push(answer));
const settled = () => new Promise((done) => setTimeout(done, 5));
const { fetch } = globalThis;
let stop = () => {};

const shows = (run, moment = null) => bus.emit("frame", { run, moment });

/** Follow pins of run "a"; each question waits in the list until it is answered. */
function asked() {
  const questions = [];
  shows("a");
  globalThis.fetch = (url, { signal }) =>
    new Promise((done) => {
      const answer = (found) => done(Response.json(found));
      const refuse = (error) => done(Response.json({ error }, { status: 404 }));
      questions.push({ url, signal, answer, refuse });
    });
  stop = followPins(pageStore, (run) => run === "a");
  return questions;
}

afterEach(() => {
  stop();
  answers.length = 0;
  pageStore.set(START);
  globalThis.fetch = fetch;
});

test("of two pins the newer one is answered, whichever answer comes first", async () => {
  const questions = asked();
  bus.emit("pinned", { run: "a", item: 3 });
  bus.emit("pinned", { run: "a", item: 5 });
  questions[1].answer({ item: 5 });
  questions[0].answer({ item: 3 });
  await settled();
  assert.deepEqual(answers, [{ run: "a", item: 5, found: { item: 5 } }]);
  assert.equal(questions[0].signal.aborted, true);
  assert.deepEqual(pinnedNeighbors("a"), answers[0]);
});

test("a pin that is taken away has no neighbors, and its late answer is dropped", async () => {
  const questions = asked();
  bus.emit("pinned", { run: "a", item: 3 });
  bus.emit("pinned", { run: "a", item: null });
  questions[0].answer({ item: 3 });
  await settled();
  assert.deepEqual(answers, [{ run: "a", item: null }]);
});

test("another distance, and the end of the run, ask again about what is pinned", async () => {
  const questions = asked();
  bus.emit("pinned", { run: "a", item: 3 });
  pageStore.set({ metric: "cosine" });
  bus.emit("embedded", { run: "b" });
  bus.emit("embedded", { run: "a" });
  assert.deepEqual(
    pluck(questions, "url"),
    ["euclidean", "cosine", "cosine"].map((metric) => `dmlviz/runs/a/neighbors/3.json?metric=${metric}`),
  );
});

test("an image without an answer says why", async () => {
  const questions = asked();
  bus.emit("pinned", { run: "a", item: 3 });
  questions[0].refuse("Image 3 is not embedded yet.");
  await settled();
  assert.deepEqual(answers, [{ run: "a", item: 3, trouble: "Image 3 is not embedded yet." }]);
});

test("an image that one step does not know is asked about at no other step, but at the end", async () => {
  const questions = asked();
  shows("a", 10);
  bus.emit("pinned", { run: "a", item: 3 });
  questions[0].refuse("Image 3 is not among the 2,000 test images embedded at this step; choose another.");
  await settled();
  for (const moment of [20, 30]) shows("a", moment);
  assert.equal(questions.length, 1);
  shows("a", null);
  assert.equal(questions.length, 2);
});

test("runs that are not shown and stopped pages ask nothing", async () => {
  const questions = asked();
  bus.emit("pinned", { run: "b", item: 3 });
  stop();
  bus.emit("pinned", { run: "a", item: 3 });
  assert.equal(questions.length, 0);
});

test("a run of which the map has shown nothing yet is asked with its first step", async () => {
  asked();
  const urls = [];
  globalThis.fetch = (url) => (urls.push(url), Promise.resolve(Response.json({ item: 3 })));
  stop();
  stop = followPins(pageStore, () => true);
  bus.emit("pinned", { run: "new", item: 3 });
  bus.emit("embedded", { run: "new" });
  await settled();
  assert.deepEqual(urls, []);
  shows("new", 10);
  await settled();
  assert.deepEqual(
    urls.map((url) => url.split("runs/")[1]),
    ["new/neighbors/3.json?metric=euclidean&step=10"],
  );
});
