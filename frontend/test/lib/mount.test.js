import assert from "node:assert/strict";
import test from "node:test";

import { mount } from "../../src/lib/mount.ts";

globalThis.document = { createElement: () => ({ append() {}, remove() {} }) };

function place() {
  return { isConnected: true, append() {} };
}

function counted() {
  const component = { updates: 0, destroyed: 0, destroy: () => component.destroyed++ };
  return component;
}

test("a component stays when Streamlit cleans up after a call that a newer one has overtaken", () => {
  const [parent, made] = [place(), []];
  const call = () =>
    mount(
      parent,
      "",
      () => made[made.push(counted()) - 1],
      (component) => component.updates++,
    );
  const cleanup = call();
  cleanup(); // as Streamlit does when the data change again while it loads the script
  const last = call();
  assert.equal(made.length, 1);
  assert.deepEqual([made[0].updates, made[0].destroyed], [2, 0]);

  parent.isConnected = false; // its place has left the page
  last();
  assert.equal(made[0].destroyed, 1);
  parent.isConnected = true;
  call();
  assert.equal(made.length, 2);
});
