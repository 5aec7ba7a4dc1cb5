// A part that fails says so in its place, and takes no other part with it.
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { onAnimationFrame } from "../../src/lib/hooks.ts";
import { guarded, heeding, within } from "../../src/lib/boundary.ts";
import { AnimationLoop } from "../../src/map/render/animationLoop.ts";
import { bus } from "../../src/lib/bus.ts";
import { createStreams } from "../../src/lib/eventStream.ts";
import { ViewStore } from "../../src/workbench/store.ts";
import { Workbench } from "../../src/workbench/workbench.ts";

/** As much of an element as the workbench needs. */
class Element {
  children = [];
  dataset = {};
  text = "";
  parent = null;
  get isConnected() {
    return this.parent !== null;
  }
  get lastElementChild() {
    return this.children.at(-1);
  }
  setAttribute() {}
  append(...nodes) {
    for (const node of nodes) this.insertBefore(node, null);
  }
  insertBefore(node, next) {
    if (typeof node === "string") return void (this.text += node);
    node.remove();
    node.parent = this;
    this.children.splice(next ? this.children.indexOf(next) : this.children.length, 0, node);
  }
  remove() {
    this.parent?.children.splice(this.parent.children.indexOf(this), 1);
    this.parent = null;
  }
  attachShadow() {
    const shadow = new Element();
    shadow.parent = this;
    return (this.shadow = shadow);
  }
  get words() {
    return this.text + [...this.children, ...(this.shadow ? [this.shadow] : [])].map(({ words }) => words).join(" ");
  }
}

const NAMES = ["welcome", "map", "compare", "pad", "inspector", "scores", "loss_curve", "detail"];
const DATA = { welcome: {}, maps: [{ run: "a", link: null }], compare: {}, pad: {}, inspectors: [{}], scores: {} };

describe("the workbench", () => {
  before(() => {
    globalThis.document = { createElement: () => new Element() };
    console.error = () => {};
  });

  const open = (faults) => {
    const [store, place, heard] = [new ViewStore(), new Element(), []];
    const part = (name) => [
      name,
      ({ parentElement, store }) => {
        if (faults.drawing === name) throw new Error("no drawing");
        const text = new Element();
        text.text = `${name} is drawn`;
        parentElement.append(text);
        const off = store.subscribe(() => {
          if (faults.hearing === name) throw new Error("no hearing");
          heard.push(name);
        });
        return () => {
          off();
          if (faults.leaving === name) throw new Error("no leaving");
        };
      },
    ];
    const workbench = new Workbench(place, store, Object.fromEntries(NAMES.map(part)));
    const update = () => workbench.update({ ...DATA, has_loss: true });
    update();
    return { store, place, heard, update, workbench };
  };
  const failures = (place) => place.words.match(/[\w ]+ failed \([\w ]+\)/g) ?? [];

  for (const name of NAMES) {
    it(`goes on where ${name} cannot be drawn, and draws it anew`, () => {
      const faults = { drawing: name };
      const { place, update } = open(faults);
      for (const other of NAMES) assert.equal(place.words.includes(`${other} is drawn`), other !== name);
      assert.equal(failures(place).length, 1);
      assert.match(failures(place)[0], /failed \(no drawing\)/);
      faults.drawing = null;
      update();
      assert.ok(place.words.includes(`${name} is drawn`));
      assert.deepEqual(failures(place), []);
    });

    it(`goes on where ${name} cannot follow the view or be left`, () => {
      const { store, place, heard, workbench } = open({ hearing: name, leaving: name });
      store.set({ pinned: 3 });
      assert.deepEqual(
        heard,
        NAMES.filter((other) => other !== name),
      );
      assert.equal(failures(place).length, 1);
      assert.match(failures(place)[0], /failed \(no hearing\)/);
      workbench.destroy();
    });
  }
});

describe("listeners", () => {
  it("of an event are all called, whoever throws", () => {
    const got = [];
    const bad = () => {
      throw new Error("bad");
    };
    const streams = createStreams();
    const offs = [bad, (event) => got.push(event)].flatMap((listener) => [
      bus.on("play", listener),
      streams.subscribe("a", listener),
    ]);
    bus.emit("play", { run: "a" });
    streams.feed({ run: "a", events: [{ event: "end" }], frames: {} });
    offs.forEach((off) => off());
    bus.emit("play", { run: "b" });
    assert.deepEqual(got, [{ run: "a" }, { event: "end" }]);
  });

  it("tell of a failure where the part stands that began to listen", () => {
    const [outer, inner, calls] = [new Element(), new Element(), []];
    within(outer, "Outer", () => {
      calls.push(guarded(() => assert.fail("late")));
      within(inner, "Inner", () => {});
    });
    calls[0]();
    assert.match(outer.words, /^Outer failed \(late\)/);
    assert.equal(inner.words, "");
  });

  it("tell of an error in an animation frame, in a promise, and at an element of the part", async () => {
    const [place, frames] = [new Element(), []];
    globalThis.requestAnimationFrame = (callback) => frames.push(callback);
    const fails = (words) => () => {
      throw new Error(words);
    };
    const told = () => place.words.match(/failed \((\w+)\)/)?.[1];
    let loop, redraw, heed;
    within(place, "A part", () => {
      loop = new AnimationLoop(fails("tick"));
      redraw = onAnimationFrame(fails("redraw"));
      heed = heeding();
    });
    loop.start();
    frames.pop()();
    assert.equal(told(), "tick");
    redraw();
    frames.pop()();
    assert.equal(told(), "redraw");
    heed(Promise.resolve().then(fails("fetch")));
    await new Promise(setImmediate);
    assert.equal(told(), "fetch");
    guarded(fails("click"))({ currentTarget: { parentNode: place } }); // made after an await: nothing is being drawn
    assert.equal(told(), "click");
    within(place, "A part", () => {});
    assert.equal(told(), undefined);
  });
});
