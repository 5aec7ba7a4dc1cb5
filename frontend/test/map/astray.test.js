// Whether a person has lost sight of all points.
import assert from "node:assert/strict";
import { it } from "node:test";
import { Tween } from "../../src/map/math/tween.ts";
import { isAstray } from "../../src/map/render/astray.ts";
import { placed } from "../helpers.js";

it("a person is astray where no point that is shown is in sight, unless points move or the eye follows them", () => {
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
