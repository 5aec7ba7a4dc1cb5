// Items: their addresses, and what the person does with them: classes, selection, colors, thumbnails, keys.
import assert from "node:assert/strict";
import test, { describe, it } from "node:test";
import { tileOf, tileStyle } from "../../src/lib/sprites.ts";
import { KEYS } from "../../src/welcome/help.ts";
import { isTaken, keyAction } from "../../src/map/control/keys.ts";
import { expandProps } from "../../src/map/data/expandProps.ts";
import { Model } from "../../src/map/data/model.ts";
import { computePointColors, errorColor, pointStyle } from "../../src/map/render/pointColors.ts";
import { roomFor, thumbnailSize } from "../../src/map/render/thumbnails.ts";
import { random } from "../helpers.js";

const labels = Uint8Array.of(0, 1, 2, 0, 1, 2);
const model = () => new Model(["a", "b", "c"], labels, 6);
const mask = (...items) => Uint8Array.from({ length: 6 }, (_, i) => (items.includes(i) ? 1 : 0));
const chosen = (m) => (m.selected ? [...m.selected.keys()].filter((i) => m.selected[i]) : []);

describe("model", () => {
  it("lets only items with a place and a shown class be used", () => {
    const m = model();
    m.toggleClass(1);
    assert.deepEqual([...m.usable(mask(0, 1, 2))], [1, 0, 1, 0, 0, 0]);
    m.toggleClass(1);
    assert.deepEqual([...m.usable(mask(0, 1, 2))], [1, 1, 1, 0, 0, 0]);
  });

  it("shows one class alone, and all again the second time", () => {
    const m = model();
    m.soloClass(2);
    assert.deepEqual([...m.hidden], [0, 1]);
    m.soloClass(0);
    assert.deepEqual([...m.hidden], [1, 2]);
    m.soloClass(0);
    assert.equal(m.hidden.size, 0);
  });

  it("takes hidden items out of the selection, and does not bring them back", () => {
    const m = model();
    m.select(mask(0, 1, 2));
    m.toggleClass(1);
    assert.deepEqual(chosen(m), [0, 2]);
    m.toggleClass(1);
    assert.deepEqual(chosen(m), [0, 2]);
    m.soloClass(1);
    assert.equal(m.selected, null);
  });

  it("replaces, adds to and takes from the selection; an empty one is none", () => {
    const m = model();
    m.select(mask(0, 1));
    m.select(mask(3), "add");
    assert.deepEqual(chosen(m), [0, 1, 3]);
    m.select(mask(1, 5), "subtract");
    assert.deepEqual(chosen(m), [0, 3]);
    m.select(mask(4));
    assert.deepEqual(chosen(m), [4]);
    m.select(mask());
    assert.equal(m.selected, null);
  });

  it("counts present and selected items of each class", () => {
    const m = model();
    m.select(mask(0, 1));
    assert.deepEqual(m.counts(mask(0, 1, 3, 4)), { total: [2, 2, 0], selected: [1, 1, 0] });
  });

  it("knows wrong items by their nearest neighbor in the embedding, and claims nothing without it", () => {
    const m = model();
    assert.equal(m.isWrong(0), false);
    assert.equal(m.nearestOf(0), null);
    m.nearest = { items: Int32Array.of(3, 0, 5, 0, 1, 2), distances: new Float32Array(6).fill(0.5) };
    assert.deepEqual(
      [0, 1, 2].map((i) => m.isWrong(i)),
      [false, true, false],
    );
    assert.deepEqual(m.nearestOf(1), { item: 0, distance: 0.5 });
    m.store.set({ pinned: 1 });
    m.neighbors = [{ item: 4, distance: 0.1 }];
    assert.deepEqual(m.nearestOf(1), { item: 4, distance: 0.1 });
  });
});

describe("paint", () => {
  const theme = { dark: false, background: [255, 255, 255], muted: [120, 120, 120], text: [0, 0, 0] };
  const colors = [
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
  ];
  const paint = (m, rest = {}) =>
    computePointColors({ model: m, colors, theme, shapeIds: null, colorBy: "class", spotlight: null, ...rest });
  const layers = ({ marks }) => [0, 1, 2, 3, 4, 5].map((i) => marks[2 * i + 1]);

  it("gives each class its color, and hidden classes no layer", () => {
    const m = model();
    m.toggleClass(2);
    const made = paint(m);
    assert.deepEqual([...made.paint.subarray(4, 8)], [0, 255, 0, 255]);
    assert.deepEqual(layers(made), [1, 1, 0, 1, 1, 0]);
  });

  it("brings the selection, or the class pointed at, to the front and fades the rest", () => {
    const m = model();
    assert.deepEqual(layers(paint(m, { spotlight: 1 })), [1, 2, 1, 1, 2, 1]);
    m.select(mask(0));
    const made = paint(m);
    assert.deepEqual(layers(made), [2, 1, 1, 1, 1, 1]);
    assert.ok(made.paint[4 * 1 + 3] < 64 && made.paint[3] === 255);
  });

  it("marks wrong items in error colors, in front", () => {
    const m = model();
    m.nearest = { items: Int32Array.of(1, 4, 5, 0, 1, 2), distances: new Float32Array(6) };
    const made = paint(m, { colorBy: "error" });
    assert.deepEqual(layers(made), [2, 1, 1, 1, 1, 1]);
    assert.deepEqual([...made.paint.subarray(0, 3)], errorColor(theme));
  });

  it("has a shape for each of ten classes on demand only", () => {
    assert.deepEqual(
      [...paint(model(), { shapeIds: labels }).marks].filter((_, j) => j % 2 === 0),
      [0, 1, 2, 0, 1, 2],
    );
    assert.ok([...paint(model()).marks].filter((_, j) => j % 2 === 0).every((shape) => shape === 0));
  });
});

describe("look", () => {
  const port = { width: 760, height: 520 };

  it("makes points smaller and paler the more there are, larger the closer the eye", () => {
    const [few, many, crowd] = [2000, 10000, 60000].map((n) => pointStyle(n, port, 1));
    assert.ok(few.radius > many.radius && many.radius > crowd.radius && crowd.radius >= 1.1);
    assert.ok(few.opacity >= many.opacity && many.opacity > crowd.opacity && crowd.opacity >= 0.45);
    assert.ok(pointStyle(10000, port, 8).radius > many.radius);
    assert.ok(pointStyle(10000, port, 1e4).radius <= 8);
  });
});

describe("thumbnails", () => {
  it("come only close up and when few points are on the stage", () => {
    assert.equal(thumbnailSize(1, 100, 28), 0);
    assert.equal(thumbnailSize(20, 5000, 28), 0);
    assert.ok(thumbnailSize(20, 300, 28) >= 28);
    assert.equal(thumbnailSize(20, 300, 8) % 8, 0);
  });

  it("never overlap, and leave out only those for which there is no room", () => {
    const places = Array.from({ length: 600 }, () => random() * 500);
    const items = [...Array(300).keys()];
    const size = 30;
    const taken = roomFor(items, places, size);
    const clash = (a, b) =>
      Math.abs(places[2 * a] - places[2 * b]) < size && Math.abs(places[2 * a + 1] - places[2 * b + 1]) < size;
    taken.forEach((a, i) => taken.slice(i + 1).forEach((b) => assert.ok(!clash(a, b))));
    const near = (a, b) =>
      Math.abs(places[2 * a] - places[2 * b]) < size + 2 && Math.abs(places[2 * a + 1] - places[2 * b + 1]) < size + 2;
    for (const j of items) assert.ok(taken.includes(j) || taken.some((other) => near(j, other)));
    assert.equal(taken[0], 0);
  });

  it("show the tile of the item itself, on the sheet where it lies", () => {
    const layout = { urls: ["a", "b"], tile: 28 };
    assert.deepEqual(tileOf(layout, 0), { sheet: 0, url: "a", x: 0, y: 0 });
    assert.deepEqual(tileOf(layout, 9999), { sheet: 0, url: "a", x: 2772, y: 2772 });
    assert.deepEqual(tileOf(layout, 10101), { sheet: 1, url: "b", x: 28, y: 28 });
    const style = tileStyle(layout, 101, 56);
    assert.equal(style.backgroundPosition, "-56px -56px");
    assert.equal(style.backgroundSize, "5600px auto");
  });

  it("finds tiles on a sheet that says itself how they lie, as that of a recorded batch does", () => {
    const batch = { urls: ["a", "b"], tile: 8, columns: 20, per_sheet: 60 };
    assert.deepEqual(tileOf(batch, 41), { sheet: 0, url: "a", x: 8, y: 16 });
    assert.deepEqual(tileOf(batch, 61), { sheet: 1, url: "b", x: 8, y: 0 });
    const style = tileStyle(batch, 41, 40);
    assert.deepEqual([style.backgroundPosition, style.backgroundSize], ["-40px -80px", "800px auto"]);
  });
});

describe("keys", () => {
  it("leaves fields all keys, other controls those that press and move, and the page none", () => {
    globalThis.Element ??= class {};
    globalThis.HTMLInputElement ??= class {};
    globalThis.document ??= { body: null };
    const element = (matches, tabIndex) =>
      Object.assign(new globalThis.Element(), { matches: () => matches, tabIndex });
    const [field, button, page] = [element(true, 0), element(false, 0), element(false, -1)];
    const undo = keyAction({ key: "z", ctrlKey: true });
    const play = keyAction({ key: " " });
    assert.deepEqual(
      [field, button, page].map((node) => isTaken([node], undo)),
      [true, false, false],
    );
    assert.deepEqual(
      [field, button, page].map((node) => isTaken([node], play)),
      [true, true, false],
    );
  });

  const NAMES = {
    Space: [" "],
    "−": ["-"],
    Esc: ["Escape"],
    "Arrow keys": ["Up", "Down", "Left", "Right"].map((way) => `Arrow${way}`),
  };
  const press = (key, ctrlKey = false) => JSON.stringify(keyAction({ key, code: "", ctrlKey }));

  it("are all in Help, and all in Help do something", () => {
    const listed = KEYS.flatMap(([keys]) =>
      keys.split(" and ").flatMap((part) => (part === "," ? part : part.split(", "))),
    );
    const done = new Set(
      listed.flatMap((name) =>
        (NAMES[name] ?? [name]).map((key) => press(key.replace("Ctrl+", ""), key.startsWith("Ctrl+"))),
      ),
    );
    assert.ok(!done.has("null"));
    const keys = [...Array(95)].map((_, i) => String.fromCharCode(32 + i));
    const named = ["Escape", "Home", "End", "PageUp", "PageDown", "Enter", "Delete", "Backspace", "Tab", "F1"];
    const all = [...keys, ...named, ...NAMES["Arrow keys"]].flatMap((key) => [press(key), press(key, true)]);
    assert.deepEqual(
      all.filter((action) => action !== "null" && !done.has(action)),
      [],
    );
  });

  it("are the same with Caps Lock and on a keyboard of another alphabet", () => {
    assert.deepEqual(keyAction({ key: "L", code: "KeyL" }), ["mode", "lasso"]);
    assert.deepEqual(keyAction({ key: "д", code: "KeyL" }), ["mode", "lasso"]);
    assert.deepEqual(keyAction({ key: "я", code: "KeyZ", ctrlKey: true }), ["undo"]);
    assert.deepEqual(keyAction({ key: "ω", code: "KeyV" }), ["mode", "pan"]);
  });

  it("mean what the help says, and leave shortcuts of browser and page alone", () => {
    assert.deepEqual(keyAction({ key: " " }), ["play"]);
    assert.deepEqual(keyAction({ key: "ArrowUp" }), ["walk", [0, 1]]);
    assert.deepEqual(keyAction({ key: "Escape" }), ["clear"]);
    assert.equal(keyAction({ key: "r" }), null);
    assert.equal(keyAction({ key: "l", ctrlKey: true }), null);
  });
});

const run = { run: "a1", view: "live", begun: "7f" };

test("addresses follow from the run, and only those that there are", () => {
  const { tracked_url, nearest_url, values } = expandProps({ ...run, kept: ["tracked"], measures: ["center"] });
  assert.deepEqual(
    [tracked_url, nearest_url, values],
    ["dmlviz/runs/a1/tracked_items.json?7f", undefined, { center: "dmlviz/runs/a1/values/live/center.f32?7f" }],
  );
});

test("what is given goes before what follows", () => {
  assert.equal(expandProps({ ...run, kept: ["nearest"], nearest_url: "/n" }).nearest_url, "/n");
});

test("the neighbors of a query are links without distances", () => {
  const { query } = expandProps({ ...run, query: { xy: [0, 1], neighbors: [3] } });
  assert.deepEqual(query, { xy: [0, 1], neighbors: [{ item: 3 }] });
  assert.equal(expandProps(run).query, null);
});
