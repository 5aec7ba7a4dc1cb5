import assert from "node:assert/strict";
import test from "node:test";
import { moveTo, placeOf } from "../../src/classroom/presence.ts";

const PAGES = ["compare", "runs", "learn", "class"];
const at = (pathname, search = "") => placeOf({ pathname, search }, PAGES);

test("a page is known by the end of its address, wherever the app lies", () => {
  assert.deepEqual(at("/", "?run=a&guess=2&code=X"), { page: "", query: { run: "a" }, root: "/" });
  assert.deepEqual(at("/lab/learn", "?loss=triplet"), { page: "learn", query: { loss: "triplet" }, root: "/lab/" });
  assert.deepEqual(at("/runs/runs/").page, "runs");
  assert.equal(at("/runs/runs").root, "/runs/");
  assert.equal(at("/lab/").root, "/lab/");
});

test("a page goes to another address only where more than step and pin differ", () => {
  const here = at("/lab/", "?run=a&step=3");
  assert.deepEqual(moveTo({ page: "", query: { run: "a", step: "9" } }, here, null), { address: null });
  assert.deepEqual(moveTo({ page: "", query: { run: "a", pin: "4" } }, here, null), { address: null, pin: 4 });
  assert.deepEqual(moveTo({ page: "", query: { run: "b", pin: "4" } }, here, null), { address: "/lab/?run=b&pin=4" });
  assert.deepEqual(moveTo({ page: "learn", query: {} }, here, null), { address: "/lab/learn" });
  const pinned = at("/", "?pin=4&run=a");
  assert.deepEqual(moveTo({ page: "", query: { run: "a" } }, pinned, null), { address: null, pin: null });
});

test("a student's own guess comes along to a lesson, the teacher's does not", () => {
  const lead = { page: "", query: { lesson: "x", task: "1", guess: "3" } };
  assert.equal(moveTo(lead, at("/"), 2).address, "/?lesson=x&task=1&guess=2");
  assert.equal(moveTo(lead, at("/"), null).address, "/?lesson=x&task=1");
});
