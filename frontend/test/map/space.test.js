import "../helpers.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Frames, quantize } from "../../src/map/data/frames.ts";
import { Orbit, place3d, rotated } from "../../src/map/math/orbit.ts";
import { mapRanks } from "../../src/map/control/publishState.ts";
import { between, geodesic, wedges } from "../../src/map/render/spaceOverlay.ts";
import { drawUnitArrow, unitVector } from "../../src/map/render/unitArrow.ts";
import { QueryMarker } from "../../src/map/math/queryMarker.ts";

const close = (a, b, by = 1e-4) => assert.ok(Math.abs(a - b) < by, `${a} is not ${b}`);
const frame = { id: "f", n: 3, dims: 3, center: [0, 0, 0], scale: 1, items: "all" };
const bytes = Int16Array.from([32767, 0, 0, 0, 32767, 0, 0, 0, -32767]).buffer;

test("a turn keeps every distance in three dimensions", () => {
  const orbit = new Orbit();
  orbit.turn(130, -45, 500);
  const [a, b] = [
    [1, 2, 3],
    [-2, 0.5, 1],
  ].map((point) => orbit.project(point));
  close(Math.hypot(...a.map((v, i) => v - b[i])), Math.hypot(3, 1.5, 2));
  const before = [...orbit.matrix];
  orbit.turn(40, 0, 500);
  orbit.turn(-40, 0, 500);
  orbit.matrix.forEach((v, i) => close(v, before[i]));
});

test("the flat places of a frame follow the turn, and what is in front is clearer", () => {
  const orbit = new Orbit();
  const placed = rotated(place3d(bytes, frame, null, 3), orbit);
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, -1],
  ].forEach((point, i) => {
    const [x, y] = orbit.project(point);
    close(placed.xy[2 * i], x);
    close(placed.xy[2 * i + 1], y);
  });
  const depth = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, -1],
  ].map((point) => orbit.project(point)[2]);
  assert.equal(depth.indexOf(Math.max(...depth)), [...placed.shade].indexOf(Math.max(...placed.shade)));
  close(placed.bounds[2], 1);
});

test("the shortest way in a ball of three dimensions is that of the disk through its center", () => {
  const flat = geodesic([0.6, 0.1], [-0.2, 0.7], 1);
  const solid = geodesic([0.6, 0, 0.1], [-0.2, 0, 0.7], 1);
  solid.forEach(([x, y, z], i) => [close(x, flat[i][0]), close(y, 0), close(z, flat[i][1])]);
});

test("the shortest way in a disk lies on a circle at right angles to the rim, and is straight through the center", () => {
  const radius = 2;
  const way = geodesic([1.2, 0.2], [-0.3, 1.5], radius);
  close(way[0][0], 1.2);
  close(way.at(-1)[1], 1.5);
  // A circle around m meets the rim at right angles where |m|² − its squared radius is that of the rim: so for each point
  // |p|² + radius² = 2 p·m.
  const [p, q] = [way[0], way.at(-1)];
  const [u, v] = [p, q].map(([x, y]) => (x * x + y * y + radius * radius) / 2);
  const determinant = p[0] * q[1] - p[1] * q[0];
  const m = [(u * q[1] - v * p[1]) / determinant, (v * p[0] - u * q[0]) / determinant];
  for (const [x, y] of way) close(x * x + y * y + radius * radius, 2 * (x * m[0] + y * m[1]));
  for (const [x, y] of geodesic([-1, -0.5], [1, 0.5], radius)) close(y, x / 2);
  close(geodesic([1.99999, 0], [1.99999, 0], radius)[3][0], 1.99999);
});

test("a frame that is kept is rotated anew when the eye has moved", () => {
  const orbit = new Orbit();
  const frames = new Frames({ url: null, tracked: async () => null, total: 3, orbit, fed: () => bytes });
  const first = [...frames.get(frame).xy];
  orbit.turn(90, 0, 400);
  assert.notDeepEqual([...frames.get(frame).xy], first);
  const [x, y] = orbit.project([1, 0, 0]);
  const at = frames.at(frame, 0);
  close(at[0], x);
  close(at[1], y);
});

test("a map turned onto the one beside it has all turned alike: points, one point, a star; then back", () => {
  const orbit = new Orbit();
  const flat = { ...frame, dims: 2, n: 2, scale: 2, center: [1, 0] };
  const places = quantize(Float32Array.of(2, 1, 0, -1), [1, 0], 2);
  const get = () => new Frames({ url: null, tracked: async () => null, total: 2, orbit, fed: () => places });
  orbit.flat = [0, 1, 1, 0]; // a mirror, as numpy has it: rows times the matrix
  [1, 2, -1, 0].forEach((v, j) => close([...get().get(flat).xy][j], v));
  [-1, 0].forEach((v, axis) => close(get().at(flat, 1)[axis], v));
  assert.deepEqual(orbit.toPlane([3, 5]), [5, 3]);
  close(get().get(flat).bounds[1], 0);
  orbit.flat = [0, 1, -1, 0];
  assert.deepEqual(orbit.toPlane([3, 5]), [-5, 3]);
  orbit.flat = null;
  [2, 1, 0, -1].forEach((v, j) => close([...get().get(flat).xy][j], v));
});

test("tracked items of three dimensions take their own places", () => {
  const placed = rotated(place3d(bytes, { ...frame, items: "tracked" }, [4, 0, 2], 6), new Orbit());
  assert.deepEqual([...placed.present], [1, 0, 1, 0, 1, 0]);
  assert.throws(() => place3d(bytes, { ...frame, items: "tracked" }, [1], 6), /watches 1/);
  assert.throws(() => place3d(bytes.slice(2), frame, null, 3), /need 18/);
});

test("who is near is asked in three dimensions, not of the view", () => {
  const places = [0, 0, 0, 0.1, 0, 9, 1, 1, 0];
  assert.deepEqual(
    [...mapRanks(places, [1, 1, 1], [0, 0, 0], [1, 2], 0)],
    [
      [1, 2],
      [2, 1],
    ],
  );
});

test("a query's star in three dimensions is seen through the orbit", () => {
  const star = new QueryMarker((place) => place.slice(0, 2));
  star.set({ xy: [1, 2, 3] }, {}, true);
  assert.deepEqual(star.at(1), [1, 2]);
});

test("without a margin wedges meet halfway; ArcFace's leave the margin free between two centers", () => {
  const angles = [0, 1, 3];
  const plain = wedges(angles, [1, 0, 0]);
  close(plain[0][1], 0.5);
  close(plain[1][0], 0.5);
  const arc = wedges(angles, [1, 0.4, 0]);
  close(arc[1][0] - arc[0][1], 0.4);
  assert.deepEqual(wedges(angles, [1, 1.2, 0])[0][1], 0);
});

test("CosFace's wedge ends where its own cosine less the margin is the other's", () => {
  const [[, to]] = wedges([0, 2], [1, 0, 0.3]);
  close(Math.cos(to) - 0.3, Math.cos(2 - to));
});

test("SphereFace's wedge is where the multiplied angle is still the smaller", () => {
  const [[, to]] = wedges([0, 2.5], [4, 0, 0]);
  close(4 * to, 2.5 - to, 1e-3);
});

test("the arrow of the pinned image ends on the unit circle", () => {
  assert.deepEqual(unitVector([3, -4]), [0.6, -0.8]);
  assert.equal(unitVector([0, 0]), null);
  const did = [];
  const context = new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...args) =>
          did.push([name, ...args]),
      set: () => true,
    },
  );
  const theme = { muted: [0, 0, 0], primary: [0, 0, 0], background: [0, 0, 0], text: [0, 0, 0], font: "serif" };
  drawUnitArrow(context, [0, 2], ([x, y]) => [100 + 50 * x, 100 - 50 * y], theme);
  const moves = did.filter(([name]) => name === "moveTo").map(([, x, y]) => [x, y]);
  assert.deepEqual(moves, [
    [100, 0],
    [100, 50],
  ]);
  assert.deepEqual(did.find(([name]) => name === "arc").slice(1, 4), [100, 100, 50]);
  did.length = 0;
  drawUnitArrow(context, [0, 0], (point) => point, theme);
  assert.deepEqual(did, []);
});

test("class centers go straight from frame to frame, and stay where the next has none", () => {
  assert.deepEqual(between([[0, 0]], [[2, 4]], 0.5), [[1, 2]]);
  assert.deepEqual(between([[0, 0]], undefined, 0.5), [[0, 0]]);
});
