import assert from "node:assert/strict";
import test from "node:test";
import { addressOf, compareQuery, exploreQuery } from "../../src/lib/router.ts";

test("pages are found beside the one that is left, wherever the app lies", () => {
  assert.equal(addressOf("", { run: "a b" }, { pathname: "/runs" }, "runs"), "/?run=a+b");
  assert.equal(addressOf("compare", {}, { pathname: "/lab/runs/" }, "runs"), "/lab/compare");
});

test("another run is shown from its own side, and what is set stays", () => {
  assert.deepEqual(exploreQuery({ run: "a", view: "tsne", pin: "3", "view.perplexity": "5", steps: "77" }, "b"), {
    run: "b",
    steps: "77",
  });
});

test("a run to compare comes first and moves the first one aside", () => {
  assert.deepEqual(compareQuery({}, "x"), { a: "x" });
  assert.deepEqual(compareQuery({ a: "y", b: "z" }, "x"), { a: "x", b: "y" });
  assert.deepEqual(compareQuery({ a: "x", b: "z" }, "x"), { a: "x", b: "z" });
});
