// One comparison in full: its images, their distances, and the loss's formula with these numbers in it.
import { figure } from "../losses/format.ts";
import { h } from "../lib/dom.ts";
import { digits } from "../lib/format.ts";
import { tileStyle } from "../lib/sprites.ts";
import { mathml } from "./latexToMathml.ts";
import { DIFFICULTIES } from "./difficultyStyles.ts";
import { termsOf } from "./lossTerms.ts";

import type { Rgb } from "../lib/theme.ts";
import type { LoadedBatch } from "./batch.ts";

const NAMES = { euclidean: "d", sqeuclidean: "d^2", cosine: "s" };
const SIZE = 42;

/** The nodes of a chosen comparison (its index), for the panel below the stage. */
export function termDetail(b: LoadedBatch, index: number, positive: Rgb, negative: Rgb): HTMLElement[] {
  const row = b.rows[index];
  const classes = b.seen.kind === "classes";
  const roles = classes
    ? ["image"]
    : b.seen.kind === "pairs"
      ? ["first", "second"]
      : ["anchor", "positive", "negative"];
  const pictures = h("div", { class: "who" });
  roles.forEach((role, k) => {
    const near = k > 0 && b.labels[row[k]] === b.labels[row[0]];
    pictures.append(portrait(b, row[k], role, k === 0 ? null : near ? positive : negative));
  });
  const terms = termsOf(b, row);
  const said = h("div", { class: "said" }, heading(b, index));
  const formulas = h("div", { class: "formulas" });
  if (!terms.length) {
    formulas.append(formula(b.loss_of.formula), words(valuesOf(b, index)));
  }
  for (const term of terms) {
    formulas.append(formula(term.latex));
    if (term.note) formulas.append(words(term.note));
  }
  said.append(formulas);
  return [pictures, said];
}

/** What comes out, for a loss that the page has no formula with numbers of. */
function valuesOf({ terms }: LoadedBatch, index: number): string {
  if (!terms) return "";
  const values = terms[index] ?? [];
  if (!values.length) return "This loss has no term for such a comparison alone.";
  return `Here ${values.length === 1 ? "it comes" : "its terms come"} to ${values.map((value) => digits(value)).join(" and ")}.`;
}

function heading(b: LoadedBatch, index: number): HTMLElement {
  const row = b.rows[index];
  const kind = DIFFICULTIES[b.hardness[index]];
  const title = h("p", {}, h("strong", {}, titleOf(b, kind)));
  if (b.seen.kind === "classes") {
    title.append(` Class ${b.classes[row[1]]}; the strongest other class is ${b.classes[row[2]]}.`);
    return title;
  }
  // A loss that may choose its distance calls it d, one on the sphere speaks of cosines.
  const own = b.params.distance as LoadedBatch["reach"]["measure"] | undefined;
  const measure = own ?? b.reach.measure;
  const name = own ? "d" : NAMES[measure];
  const value = (other: number) => (name === "s" ? b.batch.s(row[0], other) : b.batch.d(row[0], other, measure));
  const known: [string, number][] =
    b.seen.kind === "pairs"
      ? [["", row[1]]]
      : [
          ["_{ap}", row[1]],
          ["_{an}", row[2]],
        ];
  for (const [suffix, other] of known) {
    title.append(" ", formula(`${name}${suffix} = ${figure(value(other))}`, "span"));
  }
  return title;
}

function titleOf(b: LoadedBatch, kind: string): string {
  const word = kind[0].toUpperCase() + kind.slice(1);
  return { pairs: `${word} pair.`, triplets: `${word} triplet.`, classes: `${word} image.` }[b.seen.kind];
}

function portrait(b: LoadedBatch, image: number, role: string, color: Rgb | null): HTMLElement {
  const tile = h("span", { class: "tile" });
  Object.assign(tile.style, tileStyle(b.sheet, image, SIZE));
  if (color) tile.style.outlineColor = `rgb(${color.join(",")})`;
  return h(
    "figure",
    { title: `training image ${b.images[image]}` },
    tile,
    h("figcaption", {}, `${role}`, h("b", {}, b.classes[b.labels[image]])),
  );
}

function formula(latex: string, tag: "div" | "span" = "div"): HTMLElement {
  const node = h(tag, { class: "formula" });
  node.innerHTML = mathml(latex); // our own LaTeX and numbers, never a person's text
  return node;
}

const words = (text: string) => h("p", { class: "note" }, text);
