// The step at which a replay is left standing: told once, after a moment, and not at the end.
import assert from "node:assert/strict";
import { test } from "node:test";

import { StepPersistence } from "../../src/map/control/stepPersistence.ts";

function standing(at, { playing = false, open = false, pid = null } = {}) {
  const saved = [];
  const entries = [{ step: 0 }, { step: 10 }, { step: 20 }];
  const playback = { entries, shown: entries[at], open, player: { playing } };
  return {
    playback,
    saved,
    persistence: new StepPersistence(
      playback,
      () => pid,
      (step) => saved.push(step),
    ),
  };
}

test("a replay left standing is told once", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { saved, persistence } = standing(1);
  persistence.schedule();
  context.mock.timers.tick(500);
  assert.deepEqual(saved, []);
  persistence.schedule();
  context.mock.timers.tick(700);
  persistence.schedule();
  context.mock.timers.tick(700);
  assert.deepEqual(saved, [10]);
});

test("whoever goes on to the end takes it back", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { playback, saved, persistence } = standing(1);
  persistence.setSaved(10);
  playback.shown = playback.entries[2];
  persistence.schedule();
  context.mock.timers.tick(700);
  assert.deepEqual(saved, [null]);
});

for (const [what, at, more] of [
  ["plays", 1, { playing: true }],
  ["trains", 1, { open: true }],
  ["is a projection", 1, { pid: "x" }],
  ["is at its end", 2, {}],
]) {
  test(`nothing is told while it ${what}`, (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { saved, persistence } = standing(at, more);
    persistence.schedule();
    context.mock.timers.tick(2000);
    assert.deepEqual(saved, []);
  });
}

test("a frame of the run before is no step of this one", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { playback, saved, persistence } = standing(1);
  playback.shown = { step: 590 }; // of the live run, until the first frame of its replay is there
  persistence.schedule();
  context.mock.timers.tick(700);
  assert.deepEqual(saved, []);
});
