// The camera of a map, and whether a person has lost sight of all points.
import assert from "node:assert/strict";
import test from "node:test";
import { Tween } from "../../src/map/math/tween.ts";
import { CameraController } from "../../src/map/render/cameraController.ts";
import { isAstray } from "../../src/map/render/overlayRenderer.ts";
import { placed } from "../helpers.js";

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
