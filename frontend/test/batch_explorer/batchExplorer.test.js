import assert from "node:assert/strict";
import { test } from "node:test";

import { classBands, nameOf, sortByClass, parseBatch } from "../../src/batch_explorer/batch.ts";
import { ComparisonChoice, mostInformative } from "../../src/batch_explorer/comparisonChoice.ts";
import { ImageSpace } from "../../src/batch_explorer/batch.ts";
import { rings } from "../../src/batch_explorer/batchDrawing.ts";
import { mathml } from "../../src/batch_explorer/latexToMathml.ts";
import { marked } from "../../src/batch_explorer/distanceMatrix.ts";
import {
  MOMENTS,
  magnification,
  meanDistances,
  difficultyLabels,
  momentText,
  visible,
} from "../../src/batch_explorer/stepAnimation.ts";
import { cumulative, rebin, eerThreshold, mean, rates } from "../../src/batch_explorer/distanceHistogram.tsx";
import { JsonCache } from "../../src/batch_explorer/useBatch.ts";
import { meaningsOf } from "../../src/batch_explorer/difficultyLegend.tsx";
import { STROKES, pickLines, nearestLine } from "../../src/batch_explorer/difficultyLegend.tsx";
import { leavesOf } from "../../src/batch_explorer/classTree.tsx";
import { termsOf, termValues } from "../../src/batch_explorer/termFormula.ts";
import { figure, formulasOf, sentenceOf } from "../../src/batch_explorer/termFormula.ts";
import { close, pluck } from "../helpers.js";

const base64 = (array) => Buffer.from(array.buffer).toString("base64");
const floats = (values) => base64(Float32Array.from(values));

/** A batch of four images in a plane, two of each class, as the server tells it. */
function batchAnswer({
  loss = "triplet",
  params = { margin: 0.2, reduction: "mean" },
  tuples = {},
  thresholds = {},
  ...more
} = {}) {
  const places = floats([0, 0, 1, 0, 0, 2, 4, 0]);
  return {
    step: 7,
    loss: 0.5,
    active: 0.5,
    mean_of: "mean",
    labels: [3, 5, 3, 5],
    images: [9, 8, 7, 6],
    classes: [..."0123456789"],
    before: places,
    places,
    moved: floats([0, 0, 1, 0, 0, 1, 4, 0]),
    push: floats([0, 0, 1, 0, 0, 0, 0, 0]),
    force: floats([0, 1, 0, 0]),
    origin: [0, 0],
    view: "plane",
    normalize: false,
    thresholds: {
      measure: "euclidean",
      margin: 0.2,
      positive_threshold: null,
      decision_boundary: null,
      negative_threshold: null,
      is_hinge: true,
      ...thresholds,
    },
    tuples: {
      kind: "triplets",
      by: "selection",
      rows: base64(Int16Array.from([0, 2, 1, 2, 0, 3])),
      hardness: base64(Uint8Array.from([2, 0])),
      counts: [1, 0, 1],
      ...tuples,
    },
    selected_by: "Hardest negative",
    anchored: false,
    centers: null,
    loss_of: { name: loss, title: "Triplet", formula: "d", summary: "", params },
    ...more,
  };
}

const pairs = (rows, hardness, more) =>
  batchAnswer({
    loss: "contrastive",
    params: { margin: 1, pos_margin: 0, reduction: "mean" },
    ...more,
    tuples: {
      kind: "pairs",
      rows: base64(Int16Array.from(rows.flat())),
      hardness: base64(Uint8Array.from(hardness)),
      counts: [0, 0, rows.length],
      ...more?.tuples,
    },
  });

test("images stand by class and within a class as they came", () => {
  const order = sortByClass([5, 3, 5, 3, 1]);
  assert.deepEqual(order, [4, 1, 3, 0, 2]);
  assert.deepEqual(classBands([5, 3, 5, 3, 1], order), [
    { label: 1, from: 0, to: 1 },
    { label: 3, from: 1, to: 3 },
    { label: 5, from: 3, to: 5 },
  ]);
  assert.deepEqual(classBands([], []), []);
});

test("distances are symmetric, zero on the diagonal, and cosines know a zero vector", () => {
  const space = new ImageSpace(
    [
      [3, 0],
      [0, 4],
      [0, 0],
    ].map((point) => Float64Array.from(point)),
  );
  close(space.matrix("euclidean"), [0, 5, 3, 5, 0, 4, 3, 4, 0]);
  close(space.matrix("sqeuclidean"), [0, 25, 9, 25, 0, 16, 9, 16, 0]);
  close(space.matrix("cosine"), [0, 1, 1, 1, 0, 1, 1, 1, 0]);
});

/** The terms of two comparisons, as the server tells them. */
const TERMS = {
  terms: [[[1.2, 0, 2, 1]], []],
  symbols: ["d_{ap}", "d_{an}"],
  constants: { m: 0.2, negatives: 3 },
  formula: "[<m> + <d_{ap}> - <d_{an}>]_+",
  negative_formula: "",
  note: "One of <negatives> negatives.",
  count: "2 triplets",
  arcs: [],
  tree: [],
  reason: "",
};

test("a term shows its formula, the formula with its numbers, and what comes out", () => {
  const [term] = termsOf({ terms: TERMS }, 0);
  assert.deepEqual(term, {
    value: 1.2,
    formulas: ["[m + d_{ap} - d_{an}]_+ = [0.20 + 2 - 1]_+ = 1.20"],
    note: "One of 3 negatives.",
  });
  assert.deepEqual(termsOf({ terms: TERMS }, 1), []);
  assert.deepEqual([termsOf({ terms: null }, 0), termValues({ terms: null }, 0)], [[], []]);
  assert.deepEqual(termValues({ terms: TERMS }, 0), [1.2]);
});

test("a pair of two classes has its own formula where one is declared", () => {
  const terms = {
    ...TERMS,
    terms: [[[4, 0, 2, 0]], [[0, 1, 1, 0]]],
    formula: "<d_{ap}>^2",
    negative_formula: "[<m> - <d_{ap}>]_+",
  };
  const formulas = [0, 1].map((index) => termsOf({ terms }, index)[0].formulas[0]);
  assert.deepEqual(formulas, ["d_{ap}^2 = 2^2 = 4", "[m - d_{ap}]_+ = [0.20 - 1]_+ = 0"]);
});

test("a formula that names a number comes first, with what it comes to", () => {
  const template = "z = <s>\\cos(<\\theta°> + <m°>),\\quad \\log(1 + e^{<c> - <z>})";
  assert.deepEqual(formulasOf(template, { s: 64, "\\theta": 35.26, m: 28.6, c: -3, z: 28.4 }, 2e-9), [
    "z = s\\cos(\\theta + m) = 64\\cos(35.3° + 28.6°) = 28.4",
    "\\log(1 + e^{c - z}) = \\log(1 + e^{-3 - 28.4}) = 2.0\\cdot 10^{-9}",
  ]);
  assert.equal(sentenceOf("of <n>", { n: 7 }), "of 7");
});

test("a negative number has brackets after an operator and below an exponent", () => {
  const shown = (template, numbers) => formulasOf(template, numbers, 1)[0].split(" = ")[1];
  assert.equal(shown("<a> - <b>", { a: -1, b: -2 }), "-1 - (-2)");
  assert.equal(shown("<a>^2\\cdot <b>", { a: -1, b: -2 }), "(-1)^2\\cdot (-2)");
  assert.equal(shown("-<a>", { a: -1 }), "-(-1)");
  assert.equal(shown("\\max(<a>, <b>)", { a: -1, b: -3e38 }), "\\max(-1, -\\infty)");
});

test("the comparison with the largest term is chosen, until a person chooses", () => {
  const b = parseBatch(batchAnswer());
  assert.equal(mostInformative({ ...b, terms: { ...TERMS, terms: [[[0.1, 0]], [[0.7, 0]]] } }), 1);
  const choice = new ComparisonChoice();
  choice.show(b);
  assert.equal(choice.chosen, 0); // the hardest, as long as no terms are known
  b.terms = { ...TERMS, terms: [[[0, 0]], [[0.7, 0]]] };
  choice.renew();
  assert.deepEqual([choice.chosen, choice.isSatisfied(0), choice.isSatisfied(1)], [1, true, false]);
  choice.pick(0);
  choice.renew();
  assert.equal(choice.chosen, 0);
  choice.walk(1);
  assert.equal(choice.chosen, 1);
  choice.pickImage(2);
  assert.deepEqual([choice.images, choice.chosen], [[2], 1]);
});

test("where the loss sees no labels, images are views and have numbers, no classes", () => {
  const labeled = parseBatch(batchAnswer());
  assert.deepEqual(meaningsOf(labeled), ["same class", "different classes"]);
  assert.equal(nameOf(labeled, 0), labeled.classes[labeled.labels[0]]);
  const views = parseBatch(batchAnswer({ copy_of: [0, 0, 1, 1] }));
  assert.deepEqual(meaningsOf(views), ["view of the same one", "of another one"]);
  assert.equal(nameOf(views, 1), `image ${views.images[1]}`);
});

test("the three strokes differ without color", () => {
  assert.equal(new Set(STROKES.map(({ dash }) => dash.join())).size, 3);
  assert.ok(STROKES[0].width < STROKES[1].width && STROKES[1].width < STROKES[2].width);
});

test("of many comparisons each kind keeps some, and a picked image its own", () => {
  const rows = Array.from({ length: 1000 }, (_, i) => [i % 10, 10, 11]);
  const hardness = rows.map((_, i) => (i < 5 ? 2 : i < 200 ? 1 : 0));
  const b = { rows, hardness, tuples: { kind: "triplets" } };
  const some = pickLines(b, { most: 100 });
  assert.ok(some.length <= 112);
  assert.equal(some.filter((k) => hardness[k] === 2).length, 5);
  assert.ok(pickLines(b, { of: [3] }).every((k) => rows[k][0] === 3));
  assert.deepEqual(pickLines(b, { of: [10] }), []); // a partner is not an anchor
  assert.ok(pickLines(b, { shown: [true, false, true] }).every((k) => hardness[k] !== 1));
  assert.deepEqual(pickLines({ rows: [], hardness: [], tuples: { kind: "pairs" } }), []);
});

test("the nearest line is found on its whole length and nowhere else", () => {
  const lines = [
    [7, 0, 0, 100, 0],
    [8, 0, 50, 0, 50],
  ];
  assert.equal(nearestLine(lines, 50, 4), 7);
  assert.equal(nearestLine(lines, 107, 0), null);
  assert.equal(nearestLine(lines, 2, 52), 8);
  assert.equal(nearestLine([], 0, 0), null);
});

test("mined pairs are marked both ways round, triplets in the row of their anchor", () => {
  const both = marked(parseBatch(pairs([[0, 1]], [2], { tuples: { by: "selection" } })));
  assert.deepEqual([both[1], both[4], both[2]], [3, 3, 0]);
  const one = marked(parseBatch(batchAnswer()));
  assert.deepEqual([one[0 * 4 + 2], one[0 * 4 + 1], one[1 * 4 + 0], one[2 * 4 + 3]], [3, 3, 0, 1]);
  assert.equal(marked(parseBatch(pairs([[0, 1]], [2], { tuples: { by: "all" } }))).some(Boolean), false);
});

test("every moment has a momentText, and only some show lines, forces and movement", () => {
  const b = { ...parseBatch(batchAnswer()), terms: TERMS };
  const means = meanDistances(b, b.space.matrix("euclidean"));
  close([means.same, means.different], [(2 + 3) / 2, (1 + 4 + Math.sqrt(5) + Math.sqrt(20)) / 4]);
  const said = MOMENTS.map((_, moment) => momentText(b, moment, means));
  assert.equal(new Set(said).size, 6);
  assert.match(said[2], /Hardest negative selected 2 triplets/);
  assert.match(said[3], /mean of 2 triplets/);
  assert.match(said[4], /3 of 4 images have a near-zero gradient/);
  assert.deepEqual(
    MOMENTS.map((_, moment) => visible(moment).lines),
    [false, false, true, true, true, false],
  );
  assert.match(
    momentText(parseBatch(batchAnswer({ force: floats([1, 1, 1, 1]) })), 4, means),
    /every image has a gradient/,
  );
  assert.deepEqual([visible(4).arrows, visible(5, 0).gone, visible(5).gone], [true, 0, 1]);
  assert.equal(difficultyLabels(b).length, 3);
});

test("a small step is shown larger, and that is said; no step is no step", () => {
  const b = (way) => parseBatch(batchAnswer({ moved: floats([0, way, 1, way, 0, 2 + way, 4, way]) }));
  assert.deepEqual(
    [1, 0.05, 0.0041, 0].map((way) => magnification(b(way))),
    [1, 2, 20, null],
  );
  assert.match(momentText(b(0.0041), 5), /enlarged 20×/);
  assert.doesNotMatch(momentText(b(1), 5), /enlarged/);
  assert.match(momentText(b(0), 5), /moved nothing/);
});

test("a margin is a ring around the anchor where the picture is the space", () => {
  const b = parseBatch(batchAnswer());
  close(pluck(rings(b, b.rows[0]), "radius"), [2, 2.2]);
  assert.deepEqual(rings(parseBatch(batchAnswer({ view: "fan" })), [0, 2, 1]), []);
  const squared = parseBatch(batchAnswer({ thresholds: { measure: "sqeuclidean", margin: 0.41 } }));
  close(pluck(rings(squared, [0, 2, 1]), "radius"), [2, 2.1]);
});

test("a threshold accepts and rejects what lies on its sides", () => {
  const histograms = { same: [8, 2, 0, 0], different: [0, 0, 5, 5], high: 4 };
  assert.deepEqual(rates(histograms, 2), { accepted: 0, rejected: 0 });
  assert.equal(cumulative(histograms.same, 4, 0.5), 0.4);
  assert.equal(rates(histograms, 4).accepted, 1);
  assert.equal(rates(histograms, 0).rejected, 1);
  const mixed = { same: [6, 4], different: [4, 6], high: 2 };
  const at = rates(mixed, eerThreshold(mixed));
  assert.ok(Math.abs(at.accepted - at.rejected) < 1e-6);
  assert.deepEqual(rates({ same: [0], different: [0], high: 1 }, 0.5), { accepted: 0, rejected: 1 });
  assert.deepEqual(rebin([1, 1, 2, 0], 2), [0.5, 0.5]);
  assert.equal(mean([0, 4], 2), 1.5);
});

test("formulas become MathML, and an unknown command is no silent gap", () => {
  assert.match(mathml("\\frac{a}{b_1}"), /<mfrac><mrow><mi>a<\/mi><\/mrow><mrow><msub><mi>b<\/mi><mn>1<\/mn><\/msub>/);
  assert.match(mathml("x \\text{ for } y"), /<mtext>\u00a0for\u00a0<\/mtext>/);
  assert.throws(() => mathml("\\nothing"), /unknown/);
  assert.throws(() => mathml("{a"), /lacks/);
  assert.match(mathml("\\tfrac12[J]"), /<mfrac><mn>1<\/mn><mn>2<\/mn><\/mfrac><mo/);
  assert.deepEqual([0.1234, 12.34, 1234.5, 0, 2, 1e-6, 0.99971].map(figure), [
    "0.12",
    "12.3",
    "1235",
    "0",
    "2",
    "1.0\\cdot 10^{-6}",
    "0.99971",
  ]);
});

test("of questions asked while one is open only the last is asked, each once", async () => {
  const asked = [];
  const release = [];
  const fetch = (url) => (asked.push(url), new Promise((resolve) => release.push(() => resolve({ url }))));
  const came = [];
  const answers = new JsonCache((url) => came.push(url), fetch);
  for (const url of ["a", "b", "c"]) assert.equal(answers.get(url), null);
  assert.deepEqual(asked, ["a"]);
  release[0]();
  await new Promise(setImmediate);
  assert.deepEqual(asked, ["a", "c"]);
  release[1]();
  await new Promise(setImmediate);
  assert.deepEqual(answers.get("a"), { url: "a" });
  assert.deepEqual(
    [came, asked],
    [
      ["a", "c"],
      ["a", "c"],
    ],
  );
});

test("a class tree draws its classes in the order in which they are merged", () => {
  const leaf = (label) => ({ label, height: 0.1, children: [] });
  const tree = [leaf(4), leaf(7), leaf(9), { label: -1, height: 1, children: [0, 2] }];
  tree.push({ label: -1, height: 2, children: [3, 1] });
  assert.deepEqual(leavesOf(tree), [[4], [7], [9], [4, 9], [4, 9, 7]]);
});
