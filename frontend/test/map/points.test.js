// What is drawn for each point: order, subset, shape, color, the marker of a query.
import assert from "node:assert/strict";
import test, { describe, it } from "node:test";
import { packBits } from "../../src/lib/base64.ts";
import { NO_VALUE, UNLABELED, classColors, groupColors } from "../../src/lib/palette.ts";
import { Subset } from "../../src/map/control/subset.ts";
import {
  columnText,
  groupingOf,
  markersInWords,
  middleRange,
  nextMarkers,
  shapeColumns,
  shapeIds,
} from "../../src/map/data/columns.ts";
import { Model } from "../../src/map/data/model.ts";
import { placesAt } from "../../src/map/data/trainPoints.ts";
import { QueryMarker } from "../../src/map/math/queryMarker.ts";
import { pictureOrder } from "../../src/map/render/thumbnails.ts";
import { computePointColors } from "../../src/map/render/pointColors.ts";

test("the first pictures stand for the fullest cells, and every item has its turn", () => {
  // Five about (0, 0), of which item 2 is in the middle; three about (10, 10), of which item 6 is.
  const xy = Float32Array.of(-1, 0, 1, 0, 0, 0, 0, 1, 0, -1, 9, 10, 10, 10, 11, 10);
  const order = [...pictureOrder(xy, new Uint8Array(8).fill(1))];
  assert.deepEqual(order.slice(0, 2), [2, 6]);
  assert.deepEqual(
    order.toSorted((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
});

test("hidden items come last", () => {
  const xy = Float32Array.of(0, 0, 5, 5, 5, 6);
  assert.equal(pictureOrder(xy, Uint8Array.of(0, 1, 1)).at(-1), 0);
});

test("items at one place keep their order", () => {
  assert.deepEqual([...pictureOrder(new Float32Array(6), new Uint8Array(3).fill(1))], [0, 1, 2]);
});

const points = {
  labels: [0, 1],
  steps: [0, 10, 30],
  places: [
    [
      [0, 0],
      [2, 2],
    ],
    [
      [1, 0],
      [2, 4],
    ],
    [
      [3, 2],
      [2, 8],
    ],
  ],
};

test("at a known step the training images are where that net put them", () => {
  assert.deepEqual(placesAt(points, 0), points.places[0]);
  assert.deepEqual(placesAt(points, 10), points.places[1]);
  assert.deepEqual(placesAt(points, 30), points.places[2]);
});

test("between two known steps they are on the straight way, and before and after them they rest", () => {
  assert.deepEqual(placesAt(points, 15), [
    [1.5, 0.5],
    [2, 5],
  ]);
  assert.deepEqual(placesAt(points, -1), points.places[0]);
  assert.deepEqual(placesAt(points, 99), points.places[2]);
});

function setUp(data = { projects: true }) {
  const model = new Model(["a", "b"], new Uint16Array(6), 6);
  const { store } = model;
  const state = { data, model, store, trouble: null, alone: null, subset: data.subset?.bits ?? null };
  const wishes = [];
  const subset = new Subset({
    state,
    scene: { camera: { goHome: () => {} } },
    send: (_, { bits }) => wishes.push(bits),
  });
  return { state, model, store, subset, wishes };
}
const some = Uint8Array.of(0, 1, 1, 0, 0, 0);
const bits = packBits(some);

test("what is selected is projected alone, and stays selected until it has come", () => {
  const { state, model, store, subset, wishes } = setUp();
  model.select(some);
  subset.project();
  assert.deepEqual(wishes, [bits]);
  assert.deepEqual([...model.selected], [...some]);
  state.data = { ...state.data, subset: { bits } };
  subset.arrive(bits);
  assert.equal(model.selected, null);
  assert.ok(store.undo());
  assert.deepEqual([...model.selected], [...some]);
});

test("the way back shows all images, with those of the subset selected", () => {
  const { model, store, subset, wishes } = setUp({ projects: true, subset: { bits } });
  store.set({ isolated: some });
  subset.leave();
  assert.deepEqual(wishes, [null]);
  assert.equal(model.isolated, null);
  assert.deepEqual([...model.selected], [...some]);
});

test("nothing selected, or no server, is a sentence and no request", () => {
  const { state, model, subset, wishes } = setUp({});
  subset.project();
  assert.match(state.trouble, /Select some points first/);
  model.select(some);
  subset.project();
  assert.match(state.trouble, /in Explore/);
  subset.leave();
  assert.deepEqual(wishes, []);
});

// The star of a query.
describe("query star", () => {
  const entry = (step) => ({ step, frame: { id: `f${step}` } });

  it("takes its place in each frame, by frame or by step, and moves in between", () => {
    const star = new QueryMarker();
    star.set({ frames: { f0: [0, 0], 10: [2, 4] } }, entry(0), true);
    assert.deepEqual(star.at(1), [0, 0]);
    star.move(entry(0), entry(10), 1);
    assert.deepEqual(star.at(0.5), [1, 2]);
    assert.deepEqual(star.trail([entry(0), entry(5), entry(10)], entry(10)), [
      [0, 0],
      [2, 4],
    ]);
  });

  it("goes on while a net trains, from where it is, and stands where it was last known", () => {
    const star = new QueryMarker();
    star.set({ trajectory: [[5, 1, 1, 1]], open: true }, entry(5), false);
    assert.equal(star.age, 0);
    star.age = 1;
    star.move(entry(5), entry(7), 1);
    assert.deepEqual(star.at(0.5), [1, 1]);
    const trajectory = [
      [5, 1, 1, 1],
      [7, 3, 1, 5],
    ];
    assert.equal(star.set({ trajectory, open: true }, entry(7), false), false);
    assert.equal(star.age, 1, "it does not land again");
    assert.deepEqual(star.to, [3, 1, 5]);
    assert.deepEqual(star.at(0.5), [2, 1]);
    star.move(entry(7), entry(6), 1);
    assert.deepEqual(star.to, [2, 1, 3]);
    star.move(entry(6), entry(3), 1);
    assert.equal(star.to, null, "it was not asked then");
  });

  it("stays where it is for a query with one place, and has none without a query", () => {
    const star = new QueryMarker();
    assert.equal(star.at(1), null);
    star.set({ xy: [3, 4] }, entry(0), true);
    star.move(entry(0), entry(1), 1);
    assert.deepEqual(star.at(0.3), [3, 4]);
    star.set(null, entry(0), true);
    assert.equal(star.at(0.3), null);
  });

  it("has no place in the frames of a projection that is still on its way", () => {
    const star = new QueryMarker();
    star.set({ xy: [3, 4] }, { ...entry(5), provisional: true }, true);
    assert.equal(star.at(1), null);
    star.move(entry(9), entry(9), 1);
    assert.deepEqual(star.at(0), [3, 4]);
  });

  it("lands anew for another query only, not for the same one sent again", () => {
    const star = new QueryMarker();
    assert.equal(star.set({ xy: [1, 1], neighbors: [] }, null, false), true);
    assert.equal(star.age, 0);
    star.age = 1;
    assert.equal(star.set({ xy: [1, 1], neighbors: [{ item: 3 }] }, null, false), false);
    assert.equal(star.age, 1);
  });
});

// What the shapes of markers tell: the choices in turn, and the bytes of the renderers.
const columns = shapeColumns([
  { name: "camera", low: null, high: null, values: ["camera 0", "camera 1"] },
  { name: "price", low: 0, high: 1, values: null },
  { name: "video", low: null, high: null, values: Array.from({ length: 11 }, (_, i) => String(i)) },
]);

test("a click goes from plain points to classes, then to each column of few categories", () => {
  const data = { columns_url: "/columns" };
  const seen = [];
  for (let markers = "plain", i = 0; i < 4; i++)
    seen.push((markers = nextMarkers({ markers, shapeColumns: columns, data })));
  assert.deepEqual(seen, ["class", "column.camera", "plain", "class"]);
  assert.deepEqual(seen.slice(0, 3).map(markersInWords), ["class", "camera", "plain points"]);
});

test("a run without columns has none of the run before", () => {
  assert.equal(nextMarkers({ markers: "class", shapeColumns: columns, data: {} }), "plain");
  assert.equal(nextMarkers({ markers: "column.camera", shapeColumns: columns, data: {} }), "class");
});

test("points take the color of their class and the shape of their camera", () => {
  const model = new Model(["a", "b"], Uint16Array.of(0, 1, 1), 3);
  model.marking = { url: "", names: ["camera 0", "camera 1", "camera 2"], ids: Uint16Array.of(2, 0, 1) };
  const theme = { dark: false, background: [255, 255, 255], text: [0, 0, 0], muted: [9, 9, 9] };
  const paint = (markers) =>
    computePointColors({
      model,
      colors: [
        [1, 2, 3],
        [4, 5, 6],
      ],
      theme,
      shapeIds: shapeIds({ markers, model }),
      colorBy: "class",
      spotlight: null,
    });
  const shapesOf = ({ marks }) => [...marks].filter((_, i) => i % 2 === 0);
  assert.deepEqual(shapesOf(paint("plain")), [0, 0, 0]);
  assert.deepEqual(shapesOf(paint("class")), [0, 1, 1]);
  assert.deepEqual(shapesOf(paint("column.camera")), [2, 0, 1]);
  assert.deepEqual([...paint("column.camera").paint.slice(0, 8)], [1, 2, 3, 255, 4, 5, 6, 255]);
});

// Columns that points are colored by: groups of categories, scales of numbers.
test("items without a value are a group of their own", () => {
  const grouping = groupingOf("u", ["Lima", "Oslo"], Float32Array.of(1, 0, NaN));
  assert.deepEqual(grouping.names, ["Lima", "Oslo", "(no value)"]);
  assert.deepEqual([...grouping.ids], [1, 0, 2]);
  assert.deepEqual(groupingOf("u", ["Lima"], Float32Array.of(0, 0)).names, ["Lima"]);
});

test("a scale ends where 1 of 100 numbers lie beyond", () => {
  const numbers = Float32Array.from({ length: 101 }, (_, i) => (i === 100 ? 1e6 : i));
  assert.deepEqual(middleRange(numbers), [1, 99]);
  assert.deepEqual(middleRange(Float32Array.of(NaN)), [0, 1]);
  assert.deepEqual(middleRange(Float32Array.of(3, 3)), [3, 4]);
});

test("groups take the place of classes", () => {
  const model = new Model(["a", "b"], Uint16Array.of(0, 0, 1), 3);
  assert.equal(model.groupBy(groupingOf("u", ["x", "y"], Float32Array.of(0, 1, 1))), true);
  model.soloClass(0);
  assert.deepEqual([...model.usable(Uint8Array.of(1, 1, 1))], [1, 0, 0]);
  assert.deepEqual(model.counts(Uint8Array.of(1, 1, 1)).total, [1, 2]);
  assert.equal(model.groupBy(groupingOf("u", ["x", "y"], Float32Array.of(0, 1, 1))), false);
  assert.equal(model.groupBy(null), true);
  assert.deepEqual(model.groups, ["a", "b"]);
});

test("numbers of a column of dates are written as dates, those of a few days with the time", () => {
  const start = Date.UTC(2024, 1, 28);
  assert.equal(columnText({ start, low: 0, high: 400 }, 1.5), "2024-02-29");
  assert.equal(columnText({ start, low: 0, high: 2 }, 1.5), "2024-02-29 12:00");
  assert.equal(columnText({ start: null, low: 0, high: 2 }, 1.23456), "1.235");
});

test("items without a label are gray, and neither right nor wrong", () => {
  const theme = { dark: false, muted: [100, 100, 100], background: [200, 200, 200] };
  const [first, none] = groupColors(["a", UNLABELED], theme);
  assert.deepEqual(first, classColors(1, false)[0]);
  assert.equal(new Set(none).size, 1, "gray");
  assert.deepEqual(groupColors(["a", NO_VALUE], theme)[1], none);
  assert.deepEqual(groupColors([UNLABELED], theme), classColors(1, false), "nothing to tell apart");
  const model = new Model(["a", "b", UNLABELED], Uint16Array.of(0, 1, 2), 3);
  model.nearest = { items: Int32Array.of(1, 2, 0), distances: new Float32Array(3) };
  assert.deepEqual(
    [0, 1, 2].map((i) => model.isWrong(i)),
    [true, false, false],
  );
});
