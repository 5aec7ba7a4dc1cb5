import assert from "node:assert/strict";
import { test } from "node:test";
import { Detail } from "../../src/map/render/detail.ts";

const MANY = 250_000;

test("fewer points are drawn while a slow picture moves, and all of them at rest", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let rests = 0;
  const detail = new Detail(() => rests++);
  assert.equal(detail.next(MANY, true), 1);
  detail.note(210);
  assert.equal(detail.next(MANY, true), 6);
  detail.note(45); // quick enough: it stays as it is
  assert.equal(detail.next(MANY, true), 6);
  assert.equal(rests, 0);
  t.mock.timers.tick(1000);
  assert.equal(rests, 1);
  assert.equal(detail.next(MANY, false), 1);
  assert.equal(detail.next(MANY, true), 6, "the next motion begins with what the last one learned");
  for (let i = 0; i < 3; i++) detail.note(8);
  assert.equal(detail.next(MANY, true), 3, "a quick machine gets its points back");
  for (let i = 0; i < 9; i++) detail.note(900);
  assert.equal(detail.next(MANY, true), 16);
});

test("a few thousand points are always all drawn", () => {
  const detail = new Detail(() => assert.fail("nothing is missing that could be drawn at rest"));
  detail.note(500);
  assert.equal(detail.next(20_000, true), 1);
});

test("a drawing is measured until it is done, and while it is slow no other one is begun", (t) => {
  let [now, busy, next] = [0, true, null];
  t.mock.method(performance, "now", () => now);
  globalThis.requestAnimationFrame = (look) => (next = look);
  const detail = new Detail(() => {});
  detail.next(MANY, true);
  detail.measure(0, () => busy);
  for (now = 16; now < 200; now += 16) next();
  assert.equal(detail.slow, false, "not done yet");
  busy = false;
  next();
  assert.equal(detail.slow, true);
  assert.ok(detail.next(MANY, true) > 4);
  detail.next(MANY, false);
  assert.equal(detail.slow, false, "at rest everything is drawn");
  detail.stop();
});
