// What tests in Python ask of the page's modules (`page_script` in tests/conftest.py): the first argument names a
// function, which gets the JSON from standard input and returns what is printed as JSON.
import { readFileSync } from "node:fs";

import { NEGATIVE_COLOR, POSITIVE_COLOR } from "../src/batch_explorer/batchDrawing.ts";
import { mathml } from "../src/batch_explorer/latexToMathml.ts";
import { formulasOf } from "../src/batch_explorer/termFormula.ts";
import { PRESETS, meanScores } from "../src/learn/ranking_toy/scores.ts";
import { decodeBase64, encodeBase64 } from "../src/lib/base64.ts";
import { classColors } from "../src/lib/palette.ts";
import { wedges } from "../src/map/render/spaceOverlay.ts";
import { OPTIMIZERS } from "../src/program/optimizers.ts";
import { Machine, Memory, check } from "../src/program/program.ts";
import { randomNumbers } from "../src/lib/random.ts";
import { LiveLayout } from "../src/projection/live.ts";
import { aligned, pca } from "../src/projection/linear.ts";
import { keptNeighbors, nearestOthers } from "../src/projection/neighbors.ts";
import { affinities, conditionalProbabilities, TSNE } from "../src/projection/tsne.ts";
import { curve, fuzzyGraph, UMAP } from "../src/projection/umap.ts";
import { drawDot, gridPictures } from "../src/standalone/drawnImage.ts";
import { occlusion } from "../src/standalone/occlusion.ts";
import { confidenceOf } from "../src/standalone/queryNet.ts";

const hex = (color) => "#" + color.map((value) => value.toString(16).padStart(2, "0")).join("");
const themed = (color) => ({ light: hex(color.light), dark: hex(color.dark) });
const floats = (text) => new Float32Array(decodeBase64(text).buffer);
const text = (array) => encodeBase64(new Uint8Array(Float32Array.from(array).buffer));

function results({ program, constants, runs, plain, random }) {
  const packed = { program, constants: constants.map(decodeBase64) };
  check(packed);
  let drawn = 0;
  const next = random && (() => random[drawn++ % random.length]);
  const machine = new Machine(packed, new Memory([packed], plain), {}, next);
  return runs.map((inputs) => {
    for (const [name, values] of Object.entries(inputs)) machine.input(name).set(floats(values));
    machine.run();
    return Object.fromEntries(Object.keys(program.outputs).map((name) => [name, text(machine.output(name))]));
  });
}

function steps({ optimizer, settings, weights, gradients, rates }) {
  const own = Float32Array.from(weights);
  const update = OPTIMIZERS[optimizer](own, settings);
  return gradients.map((gradient, i) => {
    update(Float32Array.from(gradient), rates[i]);
    return Array.from(own);
  });
}

const SCRIPTS = {
  // The colors of classes, and of pairs of one class and of two.
  colors: () => ({
    classes: { light: classColors(40, false).map(hex), dark: classColors(40, true).map(hex) },
    same: themed(POSITIVE_COLOR),
    different: themed(NEGATIVE_COLOR),
  }),
  confidence: ({ calibration, images }) => images.map((image) => confidenceOf(calibration, image)),
  // Pictures of points of the plane, and of the corners of a grid.
  dots: (points) => ({ dots: points.map(([x, y]) => [...drawDot(x, y)]), grid: [...gridPictures()] }),
  // Formulas in LaTeX, and templates of terms filled with numbers, as MathML.
  formulas: ({ formulas, templates }) => {
    const filled = templates.flatMap(({ template, numbers }) => formulasOf(template, numbers, 0.5));
    return [...formulas, ...filled].map((latex) => mathml(latex));
  },
  // Which parts of two images hold them together, for a net of one layer (size × size × d).
  occlusion: (given) =>
    given.map(({ pair, size, weights, curvature }) => {
      const [area, d] = [size * size, weights[0].length];
      const embed = (images) =>
        Float32Array.from({ length: (images.length / area) * d }, (_, at) => {
          const from = Math.floor(at / d) * area;
          return weights.reduce((sum, row, i) => sum + (row[at % d] * images[from + i]) / 255, 0);
        });
      return occlusion(
        embed,
        pair.map((image) => Uint8Array.from(image)),
        size,
        curvature,
      ).map((map) => Array.from(map));
    }),
  // The weights after each step, by gradients that Python gives.
  optimizers: (given) => given.map(steps),
  // The layouts of points, and what they are made of.
  layouts: ({ rows, d, settings, start, iterations, minDist }) => {
    const near = nearestOthers(Float32Array.from(rows), d, settings.neighbors - 1);
    const wide = nearestOthers(Float32Array.from(rows), d, 3 * settings.perplexity);
    const tsne = new TSNE(Float32Array.from(start), affinities(wide, settings.perplexity));
    const umap = new UMAP(Float32Array.from(start), fuzzyGraph(near), randomNumbers(0), curve(minDist[0]));
    const squared = [1e-6, 0.01, 0.3, 1, 5, 200];
    const live = (method) => {
      const layout = new LiveLayout({ ...settings, method }, randomNumbers(0));
      layout.take(Float32Array.from(rows), d);
      const positions = layout.step(iterations);
      return { positions: Array.from(positions), kept: keptNeighbors(wide, positions), divergence: layout.cost };
    };
    const plain = ({ heads, tails, weights }) => [Array.from(heads), Array.from(tails), Array.from(weights)];
    return {
      neighbors: Array.from(wide.indices),
      probabilities: Array.from(conditionalProbabilities(wide, settings.perplexity)),
      affinities: plain(tsne.edges),
      graph: plain(umap.edges),
      curves: minDist.map(curve),
      gradient: Array.from(tsne.gradient(settings.attraction)),
      startDivergence: tsne.divergence(),
      startEntropy: umap.crossEntropy(),
      forces: squared.map((value) => [value, umap.force(value, true), umap.force(value, false)]),
      pca: Array.from(pca(Float32Array.from(rows), d)),
      aligned: Array.from(aligned(pca(Float32Array.from(rows), d), Float32Array.from(start))),
      tsne: live("tsne"),
      umap: live("umap"),
    };
  },
  // The nearest others of points of a ball.
  neighbors: ({ rows, d, k, curvature }) => {
    const { indices, squared } = nearestOthers(Float32Array.from(rows), d, k, curvature);
    return { indices: Array.from(indices), squared: Array.from(squared) };
  },
  // What programs that Python wrote give for its inputs: base64 of float32.
  programs: (given) => given.map(results),
  // The scores of lists of rankings, and the page's examples.
  ranking: (given) => ({
    given: given.map(meanScores),
    presets: PRESETS.map(({ title, rankings }) => ({ title, rankings, scores: meanScores(rankings) })),
  }),
  // The wedges that the map draws, and how long one set takes in microseconds.
  wedges: (questions) => {
    const began = performance.now();
    for (let i = 0; i < 1000; i++) wedges(questions[0].angles, questions[0].margins);
    const microseconds = performance.now() - began;
    return { wedges: questions.map(({ angles, margins }) => wedges(angles, margins)), microseconds };
  },
};

console.log(JSON.stringify(SCRIPTS[process.argv[2]](JSON.parse(readFileSync(0, "utf8")))));
