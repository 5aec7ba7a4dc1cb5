// One comparison in full: its images, their distances, and the loss's formula with these numbers in it.
import { h } from "../lib/dom.ts";
import { digits, sentence } from "../lib/format.ts";
import { tileStyle } from "../lib/sprites.ts";
import type { Rgb } from "../lib/theme.ts";
import { nameOf, type LoadedBatch } from "./batch.ts";
import { DIFFICULTIES } from "./difficultyStyles.ts";
import type { Measure } from "./distances.ts";
import { mathml } from "./latexToMathml.ts";
import { termsOf } from "./lossTerms.ts";
import { figure } from "./termFormula.ts";

const SYMBOLS = { euclidean: "d", sqeuclidean: "d^2", cosine: "s" };
const TILE_PX = 42;

/** The nodes of a chosen comparison (its index), for the panel below the stage. */
export function termDetail(b: LoadedBatch, index: number, positive: Rgb, negative: Rgb): HTMLElement[] {
  const row = b.rows[index];
  const roles = { classes: ["image"], pairs: ["first", "second"], triplets: ["anchor", "positive", "negative"] };
  const pictures = roles[b.tuples.kind].map((role, k) => {
    const near = k > 0 && b.groups[row[k]] === b.groups[row[0]];
    return portrait(b, row[k], role, k === 0 ? null : near ? positive : negative);
  });
  const formulas = h("div", "formulas", ...formulaNodes(b, index));
  return [h("div", "who", ...pictures), h("div", "said", heading(b, index), formulas)];
}

/** Each term with its numbers; the formula of the loss and the values where no formula of a term is declared. */
function formulaNodes(b: LoadedBatch, index: number): HTMLElement[] {
  const terms = termsOf(b, index);
  if (terms.some(({ formulas }) => formulas.length)) {
    const notes = [...new Set(terms.map(({ note }) => note))].filter(Boolean);
    return [...terms.flatMap(({ formulas }) => formulas.map((latex) => formula(latex))), ...notes.map(words)];
  }
  return [formula(b.loss_of.formula), words(valuesOf(b, index))];
}

/** The result, in a sentence. */
function valuesOf({ terms, termsError }: LoadedBatch, index: number): string {
  if (!terms) return termsError || "Computing the terms …";
  if (terms.reason) return terms.reason;
  const values = terms.terms[index].map(([value]) => digits(value));
  if (!values.length) return "The loss has no term for this comparison.";
  return `Here ${values.length === 1 ? "it comes" : "its terms come"} to ${values.join(" and ")}.`;
}

function heading(b: LoadedBatch, index: number): HTMLElement {
  const row = b.rows[index];
  const noun = { pairs: "pair", triplets: "triplet", classes: "image" }[b.tuples.kind];
  const kind = DIFFICULTIES[b.hardness[index]];
  const title = h("p", {}, h("strong", {}, `${sentence(kind)} ${noun}.`));
  if (b.tuples.kind === "classes") {
    title.append(` Class ${b.classes[row[1]]}; the strongest other class is ${b.classes[row[2]]}.`);
    return title;
  }
  // A loss that may choose its distance calls it d, one on the sphere speaks of cosines.
  const own = b.loss_of.params.distance as Measure | undefined;
  const measure = own ?? b.thresholds.measure;
  const symbol = own ? "d" : SYMBOLS[measure];
  const suffixes = b.tuples.kind === "pairs" ? [""] : ["_{ap}", "_{an}"];
  suffixes.forEach((suffix, k) => {
    const distance = b.space.distance(row[0], row[k + 1], measure);
    title.append(" ", formula(`${symbol}${suffix} = ${figure(symbol === "s" ? 1 - distance : distance)}`, "span"));
  });
  return title;
}

function portrait(b: LoadedBatch, image: number, role: string, color: Rgb | null): HTMLElement {
  const tile = h("span", "tile");
  Object.assign(tile.style, tileStyle(b.sheet, image, TILE_PX));
  if (color) tile.style.outlineColor = `rgb(${color.join(",")})`;
  const caption = h("figcaption", {}, role, h("b", {}, nameOf(b, image)));
  return h("figure", { title: `training image ${b.images[image]}` }, tile, caption);
}

/** A formula; a plug-in's LaTeX that is beyond this page is shown as it is written. */
function formula(latex: string, tag: "div" | "span" = "div"): HTMLElement {
  const node = h(tag, "formula");
  try {
    node.innerHTML = mathml(latex); // everything in it is escaped
  } catch {
    node.append(h("code", {}, latex));
  }
  return node;
}

const words = (text: string) => h("p", "note", text);
