// The pictures of the Learn page: plots, the plane of forces, the three spaces.
import assert from "node:assert/strict";
import { test } from "node:test";

import spaces from "../../../app/content/three_spaces.json";
import { FORMULAS } from "../../src/losses/index.ts";
import { at, curves, marksOf, sceneOf } from "../../src/learn/loss_plot/scenes.ts";
import {
  arranged,
  arrowTips,
  ground,
  held,
  moved,
  nameOf,
  places,
  pulls,
  ring,
  SHOWN,
  stepped,
} from "../../src/learn/force_playground/arrangement.ts";
import { formatNumber, rangeOf, visibleParams } from "../../src/widgets/paramControls.ts";
import { scoreQuery } from "../../src/learn/map_at_r_demo/ranking.ts";

const near = (a, b, within = 1e-9) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
const MARGIN = { margin: 0.2, distance: "euclidean", reduction: "mean" };

// Every parameter of every loss, as far as its plot needs one.
const ANY = {
  margin: 0.4,
  pos_margin: 0.1,
  alpha: 2,
  beta: 5,
  base: 0.5,
  gamma: 2,
  regularizer: 0.1,
  distance: "euclidean",
  levels: 16,
  temperature: 0.5,
  scale: 4,
  squared: true,
  l2: 0.02,
  log: true,
  bins: 10,
  m1: 1,
  m2: 0.3,
  m3: 0.2,
  la: 4,
  centers: 2,
  weight: 0.1,
  support: 1,
  reduction: "mean",
};
const paramsOf = (name) => ({
  ...ANY,
  ...(name === "angular" ? { alpha: 40 } : {}),
  ...(/sphereface|large/.test(name) ? { margin: 2 } : {}),
});
const keptOf = (name) =>
  Object.fromEntries(sceneOf(name, paramsOf(name)).held.map((knob) => [knob.name, knob.default]));

// Their weights, or their margin, change with the points but are held constant in the gradient.
const HELD = ["circle", "hierarchical_triplet"];

test("the slope of every plot is that of its curve", () => {
  for (const name of Object.keys(FORMULAS)) {
    if (HELD.includes(name)) continue;
    const [params, kept] = [paramsOf(name), keptOf(name)];
    for (const side of [true, false]) {
      for (const x of [0.313, 0.877, 1.419]) {
        const between =
          (at(name, params, kept, side, x + 1e-6).value - at(name, params, kept, side, x - 1e-6).value) / 2e-6;
        near(at(name, params, kept, side, x).slopes[0], between, 1e-4 * Math.max(1, Math.abs(between)));
      }
    }
  }
});

test("a plot of contrastive is what its formula says, and marks its margin", () => {
  const params = { margin: 1, pos_margin: 0, reduction: "mean" };
  near(at("contrastive", params, {}, true, 0.5).value, 0.25);
  near(at("contrastive", params, {}, false, 0.5).value, 0.25);
  near(at("contrastive", params, {}, false, 0.5).slopes[0], -1);
  assert.deepEqual(marksOf("contrastive", params), [{ x: 1, label: "m" }]);
});

test("a margin beyond the axis makes the axis longer", () => {
  const params = { margin: 4, pos_margin: 0, reduction: "mean" };
  assert.equal(curves("contrastive", params, {}).high, 5);
  assert.equal(curves("contrastive", { ...params, margin: 1 }, {}).high, 2);
});

test("a triplet within its margin pulls with unit force at each end and both on the anchor", () => {
  const now = arranged("triplet");
  const { forces, loss, active, terms } = pulls(now, "triplet", MARGIN, true);
  assert.deepEqual([active, terms], [1, 1]);
  const [a, p, n] = now.points;
  const d = (x, y) => Math.hypot(x[0] - y[0], x[1] - y[1]);
  near(loss, 0.2 + d(a, p) - d(a, n));
  near(Math.hypot(...forces[1]), 1);
  near(Math.hypot(...forces[2]), 1);
  forces[0].forEach((force, k) => near(force, -forces[1][k] - forces[2][k]));
  near(forces[1][0], (a[0] - p[0]) / d(a, p));
});

test("steps go downhill, on the plane and on the circle, for every loss that the plane shows", () => {
  for (const name of SHOWN) {
    for (const circle of [false, true]) {
      const proxies = /soft|face|combined|proxy|center/.test(name) && !/triplet_soft/.test(name);
      let now = arranged("batch", { proxies, circle });
      const first = pulls(now, name, paramsOf(name), false);
      for (let i = 0; i < 5; i++) now = stepped(now, pulls(now, name, paramsOf(name), false), 0.002);
      const { loss } = pulls(now, name, paramsOf(name), false);
      assert.ok(loss <= first.loss + 1e-9, `${name}: ${first.loss} became ${loss}`);
      if (circle) places(now).forEach((place) => near(Math.hypot(...place), 1));
    }
  }
});

test("on the circle a force lies along it", () => {
  const now = arranged("triplet", { circle: true });
  const { forces } = pulls(now, "triplet", MARGIN, true);
  forces.forEach(([x, y], i) => near(x * now.points[i][0] + y * now.points[i][1], 0));
});

test("the ground is the loss with the chosen point there", () => {
  const now = arranged("triplet");
  const shade = ground(now, "triplet", MARGIN, true, 1, 9);
  const middle = moved(now, 1, [0, 0]);
  near(shade[40], pulls(middle, "triplet", MARGIN, true).loss);
  near(
    ring(held(now), "triplet", MARGIN, true, 1, 4)[1],
    pulls(moved(held(now), 1, [0, 1]), "triplet", MARGIN, true).loss,
  );
});

test("arrows keep their proportions and end on the plane", () => {
  const now = arranged("triplet");
  const found = pulls(now, "triplet", MARGIN, true);
  const lengths = arrowTips(now, found).map((tip, i) =>
    Math.hypot(tip[0] - now.points[i][0], tip[1] - now.points[i][1]),
  );
  near(lengths[1] / lengths[0], Math.hypot(...found.forces[1]) / Math.hypot(...found.forces[0]));
  assert.ok(Math.max(...lengths) <= 0.55 + 1e-9);
});

test("a point dragged off the plane stays at its edge", () => {
  assert.deepEqual(moved(arranged("triplet"), 0, [9, -9]).points[0], [1.35, -1.35]);
  assert.equal(nameOf(arranged("batch", { proxies: true }), 9), "Proxy A");
});

test("what a person points at adds up to the scores of the library", () => {
  for (const space of spaces) {
    const all = space.points.map((_, i) => scoreQuery(space, i));
    const mean = (of) => all.reduce((sum, one) => sum + of(one), 0) / all.length;
    near(
      mean(({ average }) => average),
      space.scores.map_at_r,
      1e-4,
    );
    near(
      mean(({ first }) => Number(first)),
      space.scores.precision_at_1,
      1e-4,
    );
  }
});

test("sliders stay where values are usual, and numbers are short", () => {
  assert.deepEqual(rangeOf({ kind: "float", default: 1, minimum: 0, maximum: 100, step: 0.05 }), {
    low: 0,
    high: 2,
    step: 0.05,
  });
  assert.equal(rangeOf({ kind: "float", default: 0.1, minimum: 0.001, maximum: 10, step: 0.01 }).high, 1);
  assert.equal(rangeOf({ kind: "int", default: 4, minimum: 1, maximum: 8, step: 1 }).high, 8);
  assert.deepEqual(visibleParams([{ name: "margin" }, { name: "reduction" }]), [{ name: "margin" }]);
  assert.deepEqual(
    [formatNumber(-0.0000001), formatNumber(0.6551), formatNumber(-1.5), formatNumber(123456)],
    ["0", "0.655", "−1.5", "1.2e+5"],
  );
});
