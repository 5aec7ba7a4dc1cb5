// The small modules of lib, each in a part of its own.
import assert from "node:assert/strict";
import test, { describe, it } from "node:test";
import { bus } from "../../src/lib/bus.ts";
import { h, wholeNames } from "../../src/lib/dom.ts";
import { addressOf, compareQuery, exploreQuery, navigate } from "../../src/lib/router.ts";
import { baseOf, fetchJson, serverUrl } from "../../src/lib/server.ts";
import { css, luminance, mix, parseColor } from "../../src/lib/theme.ts";

// How the parts of a page hear of one another.
describe("bus", () => {
  it("reaches listeners until they leave", () => {
    const got = [];
    const off = bus.on("hover", (detail) => got.push(detail.item));
    bus.emit("hover", { item: 3 });
    off();
    bus.emit("hover", { item: 4 });
    bus.emit("nobody", {});
    assert.deepEqual(got, [3]);
    assert.deepEqual(bus.last("hover"), { item: 4 }, "for a part that comes later");
  });
});

// A name that is shortened says the whole one under the mouse.
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

// Colors as themes write them.
describe("theme", () => {
  it("reads the colors that browsers and themes write", () => {
    assert.deepEqual(parseColor("#fff"), [255, 255, 255, 1]);
    assert.deepEqual(parseColor(" #10131780 "), [16, 19, 23, 128 / 255]);
    assert.deepEqual(parseColor("rgb(1, 2, 3)"), [1, 2, 3, 1]);
    assert.deepEqual(parseColor("rgba(1 2 3 / 50%)"), [1, 2, 3, 0.5]);
    for (const not of ["", "unset", "#12", "tomato"]) assert.equal(parseColor(not), null);
  });

  it("mixes, writes and weighs them", () => {
    assert.deepEqual(mix([0, 0, 0], [100, 200, 50], 0.5), [50, 100, 25]);
    assert.equal(css([1, 2, 3], 0.5), "rgba(1, 2, 3, 0.5)");
    assert.ok(luminance([255, 255, 255]) > 0.99 && luminance([16, 19, 23]) < 0.01);
  });
});

test("a page that one has left does not come back, until one does something else", () => {
  const [entries, events] = [[], new globalThis.EventTarget()];
  globalThis.History = class {
    pushState(_state, _unused, address) {
      entries.push(address);
    }
  };
  globalThis.history = new globalThis.History();
  globalThis.location = { href: "http://here/runs?search=a" };
  globalThis.PopStateEvent = class extends globalThis.Event {};
  globalThis.addEventListener = events.addEventListener.bind(events);
  globalThis.dispatchEvent = events.dispatchEvent.bind(events);
  navigate("/?run=1");
  globalThis.history.pushState({}, "", "/runs?run=1"); // Streamlit begins the page that was asked for before
  globalThis.history.pushState({}, "", "/?run=1&seed=2");
  assert.deepEqual(entries, ["/?run=1", "/?run=1&seed=2"]);
  events.dispatchEvent(new globalThis.Event("pointerdown"));
  globalThis.history.pushState({}, "", "/runs");
  assert.equal(entries.at(-1), "/runs");
});

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

// What the server answers, and what it refuses.
test("the base is what comes before Streamlit's own part of the script's address", () => {
  const script = "_stcore/bidi-components/dmlviz.workbench/page-0123456789abcdef.js";
  assert.equal(baseOf(`http://localhost:8501/${script}`), "http://localhost:8501/");
  assert.equal(baseOf(`https://school.example/x/y/${script}`), "https://school.example/x/y/");
  assert.equal(baseOf("file:///home/somebody/page.js"), "");
});

test("only the address of a route is changed", () => {
  for (const address of ["data:image/png;base64,AA", "blob:http://localhost/1", "/elsewhere", "dmlviz"])
    assert.equal(serverUrl(address), address);
});

test("what the server says of a damaged file is what the page says", async () => {
  const answer = new Response('{"error": "labels.npy of run 1 cannot be read: it is cut off."}', { status: 410 });
  await refuses(async () => answer, "labels.npy of run 1 cannot be read: it is cut off.");
});

test("an answer without a sentence is told by its number, and none at all by what to do; who gave up hears of it", async () => {
  await refuses(async () => new Response("<html>", { status: 502 }), "Labels: the server answered 502.");
  const offline = () => Promise.reject(new TypeError("Failed to fetch"));
  await refuses(offline, "Labels: the server cannot be reached; try again in a moment.");
  await refuses(offline, "Failed to fetch", { signal: { aborted: true } });
});

async function refuses(fetch, message, init) {
  const real = globalThis.fetch;
  globalThis.fetch = fetch;
  await assert.rejects(fetchJson("dmlviz/labels", "Labels", undefined, init), { message });
  globalThis.fetch = real;
}
