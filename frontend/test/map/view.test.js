// What stands around the points: words for screen readers, legend, detail, accuracy, camera.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { loadLabels, loadMeasured, loadNearest } from "../../src/map/data/fetchItems.ts";
import { Tween } from "../../src/map/math/tween.ts";
import { CameraController } from "../../src/map/render/cameraController.ts";
import { Detail } from "../../src/map/render/detail.ts";
import { isAstray } from "../../src/map/render/overlayRenderer.ts";
import { summary } from "../../src/map/ui/words.ts";
import { matchingClasses, swatchColor } from "../../src/map/ui/legend.ts";
import { accuracyWords, percentRight } from "../../src/map/ui/cards.ts";
import { placed } from "../helpers.js";
import { PropsReceiver } from "../../src/map/control/applyProps.ts";
import { ViewStore } from "../../src/workbench/store.ts";

const model = { noun: "test image", usedClasses: 2, hidden: new Set(), selected: null };
const said = (timeline) => summary({ model, present: 1200, timeline, entry: { step: 1 } });

test("a map is announced with its step or iteration, which a method without iterations does not have", () => {
  assert.equal(said({ noun: "step", total: null }), "Map of 1,200 test images in 2 classes, step 1.");
  assert.equal(said({ noun: "iteration", total: 500 }), "Map of 1,200 test images in 2 classes, iteration 1.");
  assert.equal(said({ noun: "iteration", total: null }), "Map of 1,200 test images in 2 classes.");
});

// The legend of many classes: what the search finds, and in which order.
const classes = Array.from({ length: 1501 }, (_, i) => String(i).padStart(4, "0"));
const counts = (selected = {}) => ({
  total: classes.map((_, i) => (i >= 750 ? 8 : 0)),
  selected: classes.map((_, i) => selected[i] ?? 0),
});

test("only classes with items are offered", () => {
  const found = matchingClasses(classes, counts(), "");
  assert.equal(found.length, 751);
  assert.equal(found[0], 750);
});

test("a search finds parts of names, and the classes of the selection come first", () => {
  assert.deepEqual(
    matchingClasses(classes, counts(), " 149 "),
    [1149, 1490, 1491, 1492, 1493, 1494, 1495, 1496, 1497, 1498, 1499],
  );
  assert.deepEqual(matchingClasses(classes, counts({ 1200: 1, 900: 3 }), "").slice(0, 3), [900, 1200, 750]);
  assert.deepEqual(matchingClasses(classes, counts(), "nobody"), []);
});

test("labels beyond 255 stay what they are", async () => {
  assert.deepEqual([...(await loadLabels({ labels: [0, 255, 256, 1500] }))], [0, 255, 256, 1500]);
});

test("a class shows its color only where points are colored by it", () => {
  const own = [200, 30, 30];
  const theme = { muted: [120, 120, 120], background: [255, 255, 255] };
  const colored = (color) => ({ state: { color } });
  const state = { model: { grades: null, nearest: null, store: colored("class") }, theme };
  assert.deepEqual(swatchColor(state, own), own);
  assert.deepEqual(
    swatchColor({ ...state, model: { grades: { url: "price" }, nearest: null, store: colored("column.price") } }, own),
    theme.muted,
  );
  const errors = { ...state, model: { grades: null, nearest: {}, store: colored("error") } };
  assert.notDeepEqual(swatchColor(errors, own), own);
});

const MANY = 250_000;

test("fewer points are drawn while a slow picture moves, and all of them at rest", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let rests = 0;
  const detail = new Detail(() => rests++);
  assert.equal(detail.next(MANY, true), 1);
  detail.note(210);
  assert.equal(detail.next(MANY, true), 6);
  detail.note(45); // quick enough: it stays as it is
  assert.equal(detail.next(MANY, true), 6);
  assert.equal(rests, 0);
  t.mock.timers.tick(1000);
  assert.equal(rests, 1);
  assert.equal(detail.next(MANY, false), 1);
  assert.equal(detail.next(MANY, true), 6, "the next motion begins with what the last one learned");
  for (let i = 0; i < 3; i++) detail.note(8);
  assert.equal(detail.next(MANY, true), 3, "a quick machine gets its points back");
  for (let i = 0; i < 9; i++) detail.note(900);
  assert.equal(detail.next(MANY, true), 16);
});

test("a few thousand points are always all drawn", () => {
  const detail = new Detail(() => assert.fail("nothing is missing that could be drawn at rest"));
  detail.note(500);
  assert.equal(detail.next(20_000, true), 1);
});

test("a drawing is measured until it is done, and while it is slow no other one is begun", (t) => {
  let [now, busy, next] = [0, true, null];
  t.mock.method(performance, "now", () => now);
  globalThis.requestAnimationFrame = (look) => (next = look);
  const detail = new Detail(() => {});
  detail.next(MANY, true);
  detail.measure(0, () => busy);
  for (now = 16; now < 200; now += 16) next();
  assert.equal(detail.slow, false, "not done yet");
  busy = false;
  next();
  assert.equal(detail.slow, true);
  assert.ok(detail.next(MANY, true) > 4);
  detail.next(MANY, false);
  assert.equal(detail.slow, false, "at rest everything is drawn");
  detail.stop();
});

// Neighbors that an index found, and how far they can be relied on.
const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

/** Answer with these, one after the other. */
function answer(...responses) {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(url);
    return responses[asked.length - 1];
  };
  return asked;
}

const nearest = (...accuracy) =>
  new Response(
    new Uint8Array([
      ...new Uint8Array(Int32Array.of(1, 0).buffer),
      ...new Uint8Array(Float32Array.of(0.5, 0.25, ...accuracy).buffer),
    ]),
  );

test("what is still computed is asked for again when that work is over", async () => {
  const asked = answer(
    Response.json({ work: "0a" }, { status: 202 }),
    Response.json({ live: true }),
    Response.json({ live: false }),
    nearest(0.75, 1000),
  );
  const found = await loadNearest({ nearest_url: "/slow" }, 2);
  assert.deepEqual(asked, ["/slow", "dmlviz/work/0a?wait=1", "dmlviz/work/0a?wait=1", "/slow"]);
  assert.deepEqual([...found.items], [1, 0]);
  assert.deepEqual([...found.distances], [0.5, 0.25]);
  assert.deepEqual(found.accuracy, { recall: 0.75, measured: 1000 });
});

test("exact neighbors and values have no accuracy", async () => {
  answer(nearest());
  assert.equal((await loadNearest({ nearest_url: "/exact" }, 2)).accuracy, null);
  answer(new Response(Float32Array.of(1, 0.5).buffer));
  assert.deepEqual(await loadMeasured("/values", 2), { numbers: Float32Array.of(1, 0.5), accuracy: null });
  answer(new Response(Float32Array.of(1, 0.5, 0.5, 800).buffer));
  assert.deepEqual((await loadMeasured("/values-by-index", 2)).accuracy, { recall: 0.5, measured: 800 });
});

test("only if all are right is it 100%", () => {
  assert.equal(percentRight({ recall: 0.99999, measured: 1000 }), "99.9%");
  assert.equal(percentRight({ recall: 1, measured: 1000 }), "100%");
  assert.equal(
    accuracyWords({ recall: Math.fround(0.98), measured: 1000 }, "point"),
    "Neighbors by an index: 98% of the ten nearest are right, measured on 1,000 points.",
  );
});

// The camera of a map, and whether a person has lost sight of all points.
const port = { width: 400, height: 400, insets: { left: 0, right: 0, top: 0, bottom: 0 } };

/** A camera on frames of two points, and what shows a frame `size` wide. */
function setUp(still) {
  const stage = { port, model: null, frame: null, invalidate: () => {} };
  const camera = new CameraController(stage, { extraBounds: () => null, still: () => still });
  const show = (size) => {
    stage.frame = { xy: Float32Array.of(0, 0, size, size), present: Uint8Array.of(1, 1) };
    camera.follow();
  };
  show(1);
  camera.put(camera.home());
  return { camera, show };
}

test("the camera glides to new data, and jumps there for who asked for less motion", () => {
  for (const still of [false, true]) {
    const { camera, show } = setUp(still);
    show(5);
    assert.equal(camera.target === null, still);
    assert.equal(camera.view.k === camera.home().k, still);
    camera.zoom(2, 200, 200, true);
    assert.notEqual(camera.target, null, "a motion of one's own is no surprise");
  }
});

test("a person is astray where no point that is shown is in sight, unless points move or the eye follows them", () => {
  const tween = Tween.rest(
    placed([
      [0, 0],
      [10, 0],
    ]),
  );
  const scene = (view, rest = {}) => ({
    camera: { automatic: false, view },
    tween,
    t: 1,
    settled: true,
    usable: Uint8Array.of(1, 0),
    port: { width: 200, height: 100 },
    ...rest,
  });
  assert.equal(isAstray(scene({ x: 0, y: 0, k: 50 })), false);
  assert.equal(isAstray(scene({ x: 5, y: 0, k: 50 })), true);
  assert.equal(isAstray(scene({ x: 10, y: 0, k: 50 })), true, "the point there is hidden");
  assert.equal(isAstray(scene({ x: 5, y: 0, k: 50 }, { settled: false })), false);
  assert.equal(isAstray(scene({ x: 5, y: 0, k: 50 }, { usable: Uint8Array.of(0, 0) })), false, "nowhere is any");
  assert.equal(isAstray({ ...scene(null), camera: { automatic: true, view: { x: 5, y: 0, k: 50 } } }), false);
});

const nothing = new Proxy(() => nothing, { get: (_, key) => (key === Symbol.toPrimitive ? () => "" : nothing) });

test("a map stays when its pictures come, which bring labels; nothing of a run is shown with another's items", async () => {
  const sent = { run: "a", view: "live", begun: "1", dataset: "digits", classes: ["x", "y"], n: 2, labels_url: "/1" };
  const seen = [];
  const playback = { forget: () => seen.push("forgets"), follow: ({ run }) => seen.push(run) };
  const state = {
    store: new ViewStore(),
    theme: { text: [0, 0, 0], background: [9, 9, 9], muted: [5, 5, 5] },
    data: sent,
    pid: null,
    model: {},
  };
  const parts = { state, playback, scene: nothing, layout: nothing, orbit: {}, marker: nothing, selection: nothing };
  const act = {
    summary: () => "",
    repaint() {},
    recolor() {},
    refresh() {},
    trouble: (text) => seen.push(text),
    send() {},
  };
  const receiver = new PropsReceiver({ ...parts, ...act, subset: nothing });
  const answers = { "/1": [0, 1], "/2": [1, 0] };
  globalThis.fetch = async (url) => new Response(new Uint16Array(answers[url]));
  const shown = async (change) => {
    receiver.apply(Object.assign(state, { data: { ...state.data, ...change } }).data);
    await new Promise((done) => setTimeout(done, 5));
    return [[...state.model.labels], seen.splice(0)];
  };
  assert.deepEqual(await shown({}), [
    [0, 1],
    ["forgets", "a"],
  ]);
  assert.deepEqual(await shown({ labels_url: "/2" }), [[1, 0], []]);
  assert.deepEqual(await shown({ run: "b", labels_url: "/1" }), [[0, 1], ["b"]]);
  assert.deepEqual(await shown({ run: "c", dataset: "other", labels_url: "/2" }), [
    [1, 0],
    ["forgets", "c"],
  ]);
});
