// The colors of the classes, for every eye.
import assert from "node:assert/strict";
import test, { describe, it } from "node:test";
import { classColors } from "../../src/lib/palette.ts";
import { css, luminance } from "../../src/lib/theme.ts";
import { mount } from "../../src/lib/mount.ts";

describe("palette", () => {
  // Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
  const SEEN = {
    normal: [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
    protan: [
      [0.152286, 1.052583, -0.204868],
      [0.114503, 0.786281, 0.099216],
      [-0.003882, -0.048116, 1.051998],
    ],
    deutan: [
      [0.367322, 0.860646, -0.227968],
      [0.280085, 0.672501, 0.047413],
      [-0.01182, 0.04294, 0.968881],
    ],
    tritan: [
      [1.255528, -0.076749, -0.178779],
      [-0.078411, 0.930809, 0.147602],
      [0.004733, 0.691367, 0.3039],
    ],
  };
  const dot = (matrix, v) => matrix.map((row) => row.reduce((sum, x, i) => sum + x * v[i], 0));
  const linear = (rgb) => rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));

  function oklab(rgb, eye) {
    const light = dot(SEEN[eye], linear(rgb)).map((v) => Math.min(1, Math.max(0, v)));
    const cones = dot(
      [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
      ],
      light,
    ).map(Math.cbrt);
    return dot(
      [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.808675766],
      ],
      cones,
    );
  }

  function nearestPair(colors, eye) {
    const seen = colors.map((color) => oklab(color, eye));
    let least = Infinity;
    seen.forEach((a, i) =>
      seen.slice(i + 1).forEach((b) => {
        least = Math.min(least, 100 * Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
      }),
    );
    return least;
  }

  for (const dark of [false, true]) {
    it(`keeps ten classes apart for every eye on a ${dark ? "dark" : "light"} ground`, () => {
      const colors = classColors(10, dark);
      assert.ok(nearestPair(colors, "normal") > 15);
      for (const eye of ["protan", "deutan", "tritan"]) assert.ok(nearestPair(colors, eye) > 9, eye);
    });

    it(`stands out from a ${dark ? "dark" : "light"} ground`, () => {
      const ground = luminance(dark ? [16, 19, 23] : [255, 255, 255]);
      for (const color of classColors(10, dark)) {
        const [high, low] = [ground, luminance(color)].sort((a, b) => b - a);
        assert.ok((high + 0.05) / (low + 0.05) > (dark ? 3 : 1.7), css(color));
      }
    });
  }

  it("has a color of its own for every class beyond ten", () => {
    for (const dark of [false, true]) {
      const colors = classColors(47, dark).map(String);
      assert.equal(new Set(colors).size, 47);
      assert.ok(
        classColors(47, dark)
          .flat()
          .every((v) => Number.isInteger(v) && v >= 0 && v <= 255),
      );
    }
  });
});

function place() {
  globalThis.document = { createElement: () => ({ append() {}, remove() {} }) };
  return { isConnected: true, append() {} };
}

function counted() {
  const component = { updates: 0, destroyed: 0, destroy: () => component.destroyed++ };
  return component;
}

test("a component stays when Streamlit cleans up after a call that a newer one has overtaken", () => {
  const [parent, made] = [place(), []];
  const call = () =>
    mount(
      parent,
      "",
      () => made[made.push(counted()) - 1],
      (component) => component.updates++,
    );
  const cleanup = call();
  cleanup(); // as Streamlit does when the data change again while it loads the script
  const last = call();
  assert.equal(made.length, 1);
  assert.deepEqual([made[0].updates, made[0].destroyed], [2, 0]);

  parent.isConnected = false; // its place has left the page
  last();
  assert.equal(made[0].destroyed, 1);
  parent.isConnected = true;
  call();
  assert.equal(made.length, 2);
});
