import assert from "node:assert/strict";
import test from "node:test";
import { toScreen, zoomAbout, pan } from "../../src/map/math/camera.ts";
import { MapLink, fromHome, intoWorld, stepBeside } from "../../src/map/control/linkedMaps.ts";
import { bus } from "../../src/lib/bus.ts";
import { close } from "../helpers.js";

const PORT = { width: 600, height: 400 };

test("two worlds of other units move alike on the screen", () => {
  const here = { x: 3, y: -2, k: 40 };
  const there = { x: -100, y: 5, k: 0.5 };
  const moved = pan(zoomAbout(here, PORT, 120, 90, 3.2), 31, -17);
  const along = intoWorld(fromHome(moved, here), there);
  // What stood at a place of the screen before stands at the same place now, on both.
  for (const [sx, sy] of [
    [0, 0],
    [300, 200],
    [577, 13],
  ]) {
    const at = (home) => [home.x + (sx - 300) / home.k, home.y + (200 - sy) / home.k];
    close(toScreen(along, PORT, ...at(there)), toScreen(moved, PORT, ...at(here)), 1e-9);
  }
});

test("home is home in every world", () => {
  const [here, there] = [
    { x: 3, y: 4, k: 5 },
    { x: 6, y: 7, k: 8 },
  ];
  assert.deepEqual(fromHome(here, here), { zoom: 1, x: 0, y: 0 });
  assert.deepEqual(intoWorld(fromHome(here, here), there), there);
});

test("trainings of one length go step by step, others by their share", () => {
  assert.equal(stepBeside(37, 600, 600), 37);
  assert.equal(stepBeside(300, 600, 120), 60);
  assert.equal(stepBeside(600, 600, 120), 120);
  assert.equal(stepBeside(0, 600, 120), 0);
  assert.equal(stepBeside(5, 0, 120), 5);
  assert.equal(stepBeside(5, 100, 0), 5);
});

function mapOf(run, link, total = 100, open = false) {
  const did = [];
  const player = { following: open, playing: false, pause: () => did.push("pause") };
  const map = {
    state: { data: { run, link } },
    did,
    hover: (item) => did.push(`hover ${item}`),
    playback: {
      player,
      open,
      entries: [{ step: total }],
      timeline: { total },
      seekInterpolated: (step) => did.push(`step ${step}`),
    },
    camera: {
      view: { x: 0, y: 0, k: 1 },
      target: null,
      automatic: true,
      home: () => ({ x: 0, y: 0, k: 1 }),
      set(eye) {
        did.push(`eye ${eye.k}`);
        map.link.onCamera(false);
      },
      goHome: () => did.push("home"),
    },
  };
  map.link = new MapLink(map);
  return map;
}

test("maps of a group do what one of them does, and no others", () => {
  const [a, b, other, alone] = [mapOf("a", "g"), mapOf("b", "g"), mapOf("c", "h"), mapOf("d")];
  bus.emit("hover", { run: "a", item: 3, source: a.state });
  bus.emit("hover", { run: "a", item: 5, source: {} });
  assert.deepEqual(b.did, ["hover 3"]);
  assert.deepEqual([a.did, other.did, alone.did], [[], [], []]);
  for (const view of [a, b, other, alone]) view.link.destroy();
  bus.emit("hover", { run: "a", item: 9, source: a.state });
  assert.equal(b.did.length, 1);
});

test("who looks along does not send the look back", () => {
  const [a, b] = [mapOf("a", "g"), mapOf("b", "g")];
  a.camera.automatic = false;
  a.camera.view = { x: 0, y: 0, k: 2 };
  a.link.onCamera(false);
  assert.deepEqual([a.did, b.did], [[], ["eye 2"]]);
  a.camera.automatic = true;
  a.link.onCamera(true);
  assert.deepEqual([a.did, b.did], [[], ["eye 2", "home"]]);
  for (const view of [a, b]) view.link.destroy();
});

test("maps of one run drawn in different ways share neither eye nor iterations", () => {
  const [a, b] = [mapOf("a", "g"), mapOf("a", "g", 500, true)];
  for (const view of [a, b]) view.state.data.links_views = false;
  b.camera.automatic = false;
  b.link.onCamera(false);
  b.link.onAction("play");
  bus.emit("frame", { source: b.state, step: 7, total: b.link.total, leads: b.link.leads });
  assert.deepEqual([a.did, b.did], [[], []]);
  for (const view of [a, b]) view.link.destroy();
});

test("the map that was played last leads, and the other follows it", () => {
  const [a, b] = [mapOf("a", "g", 600), mapOf("b", "g", 120)];
  const tell = (view, step) =>
    bus.emit("frame", { source: view.state, step, total: view.link.total, leads: view.link.leads });
  tell(a, 10);
  assert.deepEqual(b.did, []); // nobody has played yet
  a.link.onAction("play");
  tell(a, 300);
  assert.deepEqual(b.did, ["pause", "step 60"]);
  tell(b, 60);
  assert.deepEqual(a.did, []);
  b.link.onAction("seek");
  tell(b, 12);
  tell(a, 300);
  assert.deepEqual(a.did, ["pause", "step 60"]);
  b.link.onAction("markers");
  for (const view of [a, b]) view.link.destroy();
});

test("a map that learns leads until another is played", () => {
  const [a, b] = [mapOf("a", "g"), mapOf("b", "g", 100, true)];
  bus.emit("frame", { source: b.state, step: 7, total: b.link.total, leads: b.link.leads });
  assert.deepEqual(a.did, ["step 7"]);
  a.link.onAction("step");
  assert.equal(b.link.leads, false);
  for (const view of [a, b]) view.link.destroy();
});

test("the last layout of a map that learned is shown beside it, too", () => {
  const [a, b] = [mapOf("a", "g"), mapOf("b", "g", 100, true)];
  b.playback.open = false; // its training is over
  bus.emit("frame", { source: b.state, step: 100, total: b.link.total, leads: b.link.leads });
  assert.deepEqual(a.did, ["step 100"]);
  for (const view of [a, b]) view.link.destroy();
});
