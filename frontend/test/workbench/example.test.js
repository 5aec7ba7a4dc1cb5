// The example beside the map belongs to the run that is shown, whichever answer comes first.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import "../helpers.js";
import { bus } from "../../src/lib/bus.ts";
import { Example } from "../../src/workbench/inspector/example.tsx";

const { fetch } = globalThis;
const later = (ms) => new Promise((done) => setTimeout(done, ms));
const shows = (run) => bus.emit("frame", { run, moment: null, index: 0, playing: false });
afterEach(() => void (globalThis.fetch = fetch));

test("a run is never asked about the example of the run before", async () => {
  const questions = [];
  globalThis.fetch = (url) => new Promise((done) => questions.push({ url, answer: (of) => done(Response.json(of)) }));
  const example = new Example(() => {});
  const props = (run) => ({ run, among: "all", example: true });

  example.of(props("a"));
  shows("a");
  await later(200);
  assert.match(questions[0].url, /runs\/a\/example/);
  example.of(props("b")); // whose map shows nothing yet
  questions[0].answer({ item: 34 });
  await later(200);
  assert.deepEqual(questions.slice(1), []);

  shows("b");
  await later(200);
  questions[1].answer({ item: 7 });
  await later(5);
  assert.match(questions[1].url, /runs\/b\/example/);
  assert.match(questions[2].url, /runs\/b\/neighbors\/7/);
  example.destroy();
});
