// The event streams that the parts of a page share.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pluck } from "../helpers.js";
import { createStreams } from "../../src/lib/eventStream.ts";
import { onWake } from "../../src/lib/wake.ts";

/** An EventSource whose server is the test. */
function browser() {
  const sources = [];
  const timers = [];
  class EventSource {
    constructor(url) {
      Object.assign(this, { url, readyState: 1 });
      sources.push(this);
    }
    close() {
      this.readyState = 2;
    }
    addEventListener(name, listener) {
      this[name] = listener;
    }
    send(event, id = "", name = "onmessage") {
      if (this.readyState === 1) this[name]({ data: JSON.stringify(event), lastEventId: String(id) });
    }
    fail(readyState) {
      this.readyState = readyState;
      this.onerror();
    }
  }
  const streams = createStreams({ EventSource, setTimeout: (act, delay) => timers.push([act, delay]) });
  const open = () => sources.filter(({ readyState }) => readyState === 1);
  return { streams, sources, timers, open };
}

function heard(streams, run, pid) {
  const events = [];
  streams.subscribe(run, (event) => events.push(event), pid);
  return {
    events,
    names: () => events.filter(({ event }) => event !== "connection").map(({ event, step }) => step ?? event),
  };
}

const step = (number) => ({ event: "step", step: number });

describe("stream", () => {
  it("opens one source however often it is asked", () => {
    const { streams, sources } = browser();
    for (let i = 0; i < 3; i++) streams.open({ run: "a", events_url: "/a" });
    assert.deepEqual(pluck(sources, "url"), ["/a"]);
  });

  it("tells late listeners everything from the beginning, and everyone what comes", () => {
    const { streams, sources } = browser();
    const early = heard(streams, "a");
    streams.open({ run: "a", events_url: "/a" });
    sources[0].send(step(1), 1);
    sources[0].send(step(2), 2);
    const late = heard(streams, "a");
    assert.deepEqual(late.names(), [1, 2]);
    sources[0].send(step(3), 3);
    assert.deepEqual(late.names(), [1, 2, 3]);
    assert.deepEqual(early.names(), [1, 2, 3]);
    assert.deepEqual(heard(streams, "b").names(), []);
  });

  it("drops lines that a reconnect repeats, but never a queue place, which has no line of its own", () => {
    const { streams, sources } = browser();
    const { names } = heard(streams, "a");
    streams.open({ run: "a", events_url: "/a" });
    sources[0].send(step(1), 0);
    sources[0].send({ event: "queue", position: 2, of: 2 }, 0);
    sources[0].send(step(1), 0);
    sources[0].send(step(2), 1);
    assert.deepEqual(names(), [1, "queue", 2]);
  });

  it("forgets what it heard of a run that begins again elsewhere, on the same line", () => {
    const { streams, sources } = browser();
    const { names } = heard(streams, "a");
    streams.open({ run: "a", events_url: "/a" });
    sources[0].send(step(1), 0);
    sources[0].send(step(2), 1);
    sources[0].send({ event: "begun" });
    sources[0].send(step(1), 0);
    assert.deepEqual(names(), [1, 2, "begun", 1]);
    assert.deepEqual(heard(streams, "a").names(), [1]);
  });

  it("passes over a line that is not JSON", () => {
    const { streams, sources } = browser();
    const { names } = heard(streams, "a");
    streams.open({ run: "a", events_url: "/a" });
    sources[0].onmessage({ data: '{"event": "st', lastEventId: "1" });
    sources[0].send(step(1), 1);
    assert.deepEqual(names(), [1]);
  });

  it("closes at the end and stays closed", () => {
    const { streams, open } = browser();
    const { names } = heard(streams, "a");
    streams.open({ run: "a", events_url: "/a" });
    open()[0].send({ event: "finished" }, 1);
    open()[0].send({ event: "end", state: "finished" });
    assert.deepEqual(names(), ["finished", "end"]);
    streams.open({ run: "a", events_url: "/a" });
    assert.equal(open().length, 0);
    assert.deepEqual(heard(streams, "a").names(), ["finished", "end"]);
  });

  it("leaves a short drop to the browser, and comes back after a refusal, later each time, after the last line", () => {
    const { streams, sources, timers } = browser();
    streams.open({ run: "a", events_url: "/a?x=1" });
    sources[0].send(step(1), 7);
    sources[0].fail(0);
    assert.equal(timers.length, 0);
    sources[0].fail(2);
    timers.at(-1)[0]();
    assert.equal(sources[1].url, "/a?x=1&after=7");
    sources[1].fail(2);
    assert.ok(timers[1][1] > timers[0][1]);
    timers[1][0]();
    sources[2].send(step(2), 8);
    sources[2].fail(2);
    assert.equal(timers[2][1], timers[0][1]);
  });

  it("does not come back to a run that was left meanwhile", () => {
    const { streams, sources, timers } = browser();
    streams.open({ run: "a", events_url: "/a" });
    sources[0].fail(2);
    streams.close("a");
    timers[0][0]();
    assert.equal(sources.length, 1);
  });

  it("follows more than two on one source, which stays until all are over and goes on where each stood", () => {
    const { streams, open, timers } = browser();
    const { names } = heard(streams, "a");
    const { names: ofOther } = heard(streams, "a", "q");
    streams.open({ run: "a", events_url: "/a" });
    open()[0].send(step(1), 4);
    streams.open({ run: "a", pid: "p", events_url: "/p" });
    streams.open({ run: "a", pid: "q", events_url: "/q" });
    streams.open({ run: "a", events_url: "/a" }); // asked again at the next rerun: no to and fro
    const all = "dmlviz/events?of=a&after=4&of=a/q&after=&of=a/p&after=";
    assert.deepEqual(pluck(open(), "url"), [all]);
    open()[0].send(step(7), 0, 1);
    open()[0].send(step(2), 5, 0);
    open()[0].send({ event: "end", state: "finished" }, 5, 2);
    assert.deepEqual(pluck(open(), "url"), [all]);
    assert.deepEqual([names(), ofOther()], [[1, 2], [7]]);
    open()[0].fail(0);
    timers.at(-1)[0]();
    assert.deepEqual(pluck(open(), "url"), ["/a?after=5", "/q?after=0"]);
  });

  it("forgets a run that is trained again, tells its listeners, and opens its stream anew", () => {
    const { streams, open } = browser();
    const { names } = heard(streams, "a");
    streams.renew({ run: "a", begun: "1" });
    streams.open({ run: "a", events_url: "/a?begun=1" });
    open()[0].send(step(1), 0);
    open()[0].send({ event: "end", state: "finished" });
    streams.renew({ run: "a", begun: "1" });
    assert.deepEqual(names(), [1, "end"]);
    for (let component = 0; component < 2; component++) streams.renew({ run: "a", begun: "2" });
    streams.open({ run: "a", events_url: "/a?begun=2" });
    assert.deepEqual(pluck(open(), "url"), ["/a?begun=2"]);
    open()[0].send(step(7), 0);
    assert.deepEqual(names(), [1, "end", "begun", 7]);
    assert.deepEqual(heard(streams, "a").names(), [7]);
  });

  it("rests before it comes back to a server that refuses, whatever else happens meanwhile", () => {
    const { streams, sources, timers } = browser();
    streams.open({ run: "a", events_url: "/a" });
    sources[0].fail(2);
    streams.open({ run: "b", events_url: "/b" });
    assert.deepEqual(pluck(sources, "url"), ["/a", "/b"]);
    timers[0][0]();
    assert.deepEqual(pluck(sources, "url"), ["/a", "/b", "/a"]);
  });

  it("connects anew at once when it is told to, after the last line, and not to a run that is over", () => {
    const { streams, sources, timers, open } = browser();
    const { names } = heard(streams, "a");
    streams.open({ run: "over", events_url: "/over" });
    open()[0].send({ event: "end", state: "finished" });
    streams.open({ run: "a", events_url: "/a" });
    open()[0].send(step(1), 7);
    streams.reconnect();
    assert.deepEqual(pluck(open(), "url"), ["/a?after=7"]);
    open()[0].send(step(2), 8);
    assert.deepEqual(names(), [1, 2]);
    open()[0].fail(2); // it rests
    streams.reconnect();
    assert.equal(open().at(-1).url, "/a?after=8");
    const before = sources.length;
    timers[0][0]();
    assert.equal(sources.length, before);
  });

  it("takes the record of an exported page once, with its frames by their hash", () => {
    const { streams, open } = browser();
    const { names } = heard(streams, "a");
    const record = { run: "a", events: [step(1), step(2)], frames: { f1: btoa("\x01\x02") } };
    streams.feed(record);
    streams.feed(record);
    streams.open({ run: "a", events_url: "/a" });
    assert.deepEqual(names(), [1, 2]);
    assert.deepEqual(open(), []);
    assert.deepEqual([...new Uint8Array(streams.frame("f1"))], [1, 2]);
    assert.equal(streams.frame("f2"), undefined);
  });

  it("takes the lines of a record that grows, each once, until its end", () => {
    const { streams } = browser();
    const { names } = heard(streams, "a");
    const frames = {};
    streams.feed({ run: "a", events: [step(1), step(2)], frames, from: 0 });
    streams.feed({ run: "a", events: [step(1), step(2), step(3)], frames, from: 0 });
    streams.feed({ run: "a", events: [{ event: "end", state: "finished" }], frames, from: 3 });
    streams.feed({ run: "a", events: [step(4)], frames, from: 4 });
    assert.deepEqual(names().slice(0, 3), [1, 2, 3]);
    assert.equal(names().length, 4);
  });

  it("forgets runs that nobody listens to, but none that somebody does", () => {
    const { streams } = browser();
    const { names } = heard(streams, "kept");
    const frames = {};
    for (let i = 0; i < 20; i++) streams.feed({ run: `r${i}`, events: [step(i)], frames });
    streams.feed({ run: "kept", events: [step(1)], frames });
    assert.deepEqual(heard(streams, "r0").names(), []);
    assert.deepEqual(names(), [1]);
  });
});

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
