// Colors as themes write them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { css, luminance, mix, parseColor } from "../../src/lib/theme.ts";

describe("theme", () => {
  it("reads the colors that browsers and themes write", () => {
    assert.deepEqual(parseColor("#fff"), [255, 255, 255, 1]);
    assert.deepEqual(parseColor(" #10131780 "), [16, 19, 23, 128 / 255]);
    assert.deepEqual(parseColor("rgb(1, 2, 3)"), [1, 2, 3, 1]);
    assert.deepEqual(parseColor("rgba(1 2 3 / 50%)"), [1, 2, 3, 0.5]);
    for (const not of ["", "unset", "#12", "tomato"]) assert.equal(parseColor(not), null);
  });

  it("mixes, writes and weighs them", () => {
    assert.deepEqual(mix([0, 0, 0], [100, 200, 50], 0.5), [50, 100, 25]);
    assert.equal(css([1, 2, 3], 0.5), "rgba(1, 2, 3, 0.5)");
    assert.ok(luminance([255, 255, 255]) > 0.99 && luminance([16, 19, 23]) < 0.01);
  });
});
