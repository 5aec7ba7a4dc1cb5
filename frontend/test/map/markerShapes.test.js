// What the shapes of markers tell: the choices in turn, and the bytes of the renderers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { markersInWords, nextMarkers, shapeColumns, shapeIds } from "../../src/map/data/markerShapes.ts";
import { Model } from "../../src/map/data/model.ts";
import { computePointColors } from "../../src/map/render/pointColors.ts";

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
