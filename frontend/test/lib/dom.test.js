// A name that is shortened says the whole one under the mouse.
import assert from "node:assert/strict";
import test from "node:test";
import { h, wholeNames } from "../../src/lib/dom.ts";

test("a shortened name has the whole one as its title, wherever it stands", () => {
  globalThis.document = {
    createElement: () => ({
      title: "",
      append() {},
      setAttribute(name, value) {
        this[name] = value;
      },
    }),
  };
  wholeNames.set("a…", "a long name");
  assert.equal(h("span", "name", "a…").title, "a long name");
  assert.equal(h("span", { title: "a…" }, "1").title, "a long name");
  assert.equal(h("span", { title: "Click" }, "b").title, "Click");
});
