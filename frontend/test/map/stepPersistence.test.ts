// @ts-nocheck
// The step at which a replay is left standing: told once, after a moment, and not at the end.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Leaving } from "../../src/map/control/stepPersistence.ts";

function standing(at, { playing = false, open = false, pid = null } = {}) {
  const told = [];
  const entries = [{ step: 0 }, { step: 10 }, { step: 20 }];
  const playback = { entries, shown: entries[at], open, player: { playing } };
  const view = { playback, pid, intake: { adopted: {} }, setState: (name, value) => told.push([name, value]) };
  return { view, told, leaving: new Leaving(view) };
}

test("a replay left standing is told once, and its echo is no wish", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { view, told, leaving } = standing(1);
  leaving.look();
  context.mock.timers.tick(500);
  assert.deepEqual(told, []);
  leaving.look();
  context.mock.timers.tick(700);
  leaving.look();
  context.mock.timers.tick(700);
  assert.deepEqual(told, [["step", 10]]);
  assert.equal(view.intake.adopted.step, "10");
});

test("whoever goes on to the end takes it back", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { view, told, leaving } = standing(1);
  leaving.know(10);
  view.playback.shown = view.playback.entries[2];
  leaving.look();
  context.mock.timers.tick(700);
  assert.deepEqual(told, [["step", null]]);
});

for (const [what, at, more] of [["plays", 1, { playing: true }], ["trains", 1, { open: true }], ["is a projection", 1, { pid: "x" }], ["is at its end", 2, {}]]) {
  test(`nothing is told while it ${what}`, (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { told, leaving } = standing(at, more);
    leaving.look();
    context.mock.timers.tick(2000);
    assert.deepEqual(told, []);
  });
}
