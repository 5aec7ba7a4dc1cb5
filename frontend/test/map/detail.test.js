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
