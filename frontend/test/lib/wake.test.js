// When the computer was asleep, or is in a network again.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { onWake } from "../../src/lib/wake.ts";

/** A page whose clock is the test's. */
function page() {
  const state = { now: 0, hidden: false, woken: 0, look: () => {}, online: () => {} };
  onWake(() => state.woken++, {
    onOnline: (listener) => (state.online = listener),
    setInterval: (look) => (state.look = look),
    now: () => state.now,
    hidden: () => state.hidden,
  });
  const pass = (ms) => {
    state.now += ms;
    state.look();
  };
  return { state, pass };
}

describe("wake", () => {
  it("notices a sleep by the gap between two looks, once", () => {
    const { state, pass } = page();
    pass(1000);
    pass(2500); // a busy page
    assert.equal(state.woken, 0);
    pass(10_000);
    assert.equal(state.woken, 1);
    pass(1000);
    assert.equal(state.woken, 1);
  });

  it("leaves a hidden page alone until it is seen again", () => {
    const { state, pass } = page();
    state.hidden = true;
    pass(60_000);
    pass(60_000);
    assert.equal(state.woken, 0);
    state.hidden = false;
    pass(500);
    assert.equal(state.woken, 1);
  });

  it("acts as soon as there is a network again", () => {
    const { state } = page();
    state.online();
    assert.equal(state.woken, 1);
  });
});
