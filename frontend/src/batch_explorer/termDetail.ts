// @ts-nocheck
// One comparison in full: its images, their distances, and the loss's formula with these numbers in it.
import { figure } from "../losses/format.ts";
import { element } from "../lib/dom.ts";
import { tileStyle } from "../lib/sprites.ts";
import { mathml } from "./latexToMathml.ts";
import { KINDS } from "./difficultyStyles.ts";
import { termsOf } from "./lossTerms.ts";

const NAMES = { euclidean: "d", sqeuclidean: "d^2", cosine: "s" };
const SIZE = 42;

/** The nodes of a chosen comparison (its index), for the panel below the stage. */
export function describe(b, index, positive, negative) {
  const row = b.rows[index];
  const classes = b.seen.kind === "classes";
  const roles = classes ? ["image"] : b.seen.kind === "pairs" ? ["first", "second"] : ["anchor", "positive", "negative"];
  const pictures = element("div", { class: "who" });
  roles.forEach((role, k) => {
    const near = k > 0 && b.labels[row[k]] === b.labels[row[0]];
    pictures.append(portrait(b, row[k], role, k === 0 ? null : near ? positive : negative));
  });
  const terms = termsOf(b, row);
  const said = element("div", { class: "said" }, heading(b, index));
  const formulas = element("div", { class: "formulas" });
  if (!terms.length) {
    formulas.append(formula(b.loss_of.formula), words("The terms of this loss are not put together here; the distances are."));
  }
  for (const term of terms) {
    formulas.append(formula(term.latex));
    if (term.note) formulas.append(words(term.note));
  }
  said.append(formulas);
  return [pictures, said];
}

function heading(b, index) {
  const row = b.rows[index];
  const kind = KINDS[b.hardness[index]];
  const title = element("p", {}, element("strong", {}, title_of(b, kind)));
  if (b.seen.kind === "classes") {
    title.append(` Class ${b.classes[row[1]]}; the strongest other class is ${b.classes[row[2]]}.`);
    return title;
  }
  // A loss that may choose its distance calls it d, one on the sphere speaks of cosines.
  const measure = b.params.distance ?? b.reach.measure;
  const name = b.params.distance ? "d" : NAMES[measure];
  const value = (other) => (name === "s" ? b.batch.s(row[0], other) : b.batch.d(row[0], other, measure));
  const known = b.seen.kind === "pairs" ? [["", row[1]]] : [["_{ap}", row[1]], ["_{an}", row[2]]];
  for (const [index_, other] of known) {
    title.append(" ", formula(`${name}${index_} = ${figure(value(other))}`, "span"));
  }
  return title;
}

function title_of(b, kind) {
  const word = kind[0].toUpperCase() + kind.slice(1);
  return { pairs: `${word} pair.`, triplets: `${word} triplet.`, classes: `${word} image.` }[b.seen.kind];
}

function portrait(b, image, role, colour) {
  const tile = element("span", { class: "tile" });
  Object.assign(tile.style, tileStyle(b.sheet, image, SIZE));
  if (colour) tile.style.outlineColor = `rgb(${colour.join(",")})`;
  return element(
    "figure",
    { title: `training image ${b.images[image]}` },
    tile,
    element("figcaption", {}, `${role}`, element("b", {}, b.classes[b.labels[image]])),
  );
}

function formula(latex, tag = "div") {
  const node = element(tag, { class: "formula" });
  node.innerHTML = mathml(latex); // our own LaTeX and numbers, never a person's text
  return node;
}

const words = (text) => element("p", { class: "note" }, text);
