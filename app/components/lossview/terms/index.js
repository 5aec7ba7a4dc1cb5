// The terms of a loss with the numbers of this batch: for the losses known here; of others only distances are shown.
import { figure } from "../math.js";
import { mean, partners } from "./numbers.js";
import { PAIRS } from "./pairs.js";
import { PROXIES } from "./proxies.js";
import { STRUCTURED } from "./structured.js";
import { TRIPLETS } from "./triplets.js";

const TERMS = { ...PAIRS, ...TRIPLETS, ...STRUCTURED, ...PROXIES };

/** Names of the losses whose terms can be filled with numbers. */
export const known = Object.keys(TERMS);

/**
 * The terms that a comparison takes part in: [{images, value, latex, note}], `latex` being the formula, the numbers in
 * it, and what comes out. Empty for a loss that is not known here.
 */
export function termsOf(b, row) {
  const loss = TERMS[b.loss_of.name];
  if (!loss) return [];
  return unitsOf(b, loss.unit, row).map((images) => {
    const value = loss.value(b, images);
    return { images, value, latex: `${loss.latex(b, images)} = ${figure(value)}`, note: loss.note?.(b, images) ?? "" };
  });
}

/** Every term of the batch, put together as the loss does; null where that is not known here. */
export function lossOf(b) {
  const loss = TERMS[b.loss_of.name];
  const rows = loss && everyUnit(b, loss.unit);
  if (!rows) return null;
  const values = rows.map((row) => loss.value(b, row));
  return loss.reduced ? loss.reduced(values, rows, b) : mean(values, b);
}

/** The mean of what? A phrase for the number of terms, or "" where they are not all known. */
export function countOf(b) {
  const loss = TERMS[b.loss_of.name];
  const rows = loss && everyUnit(b, loss.unit);
  if (!rows) return "";
  const noun = { pair: "pairs", triplet: "triplets", image: "images" }[loss.unit];
  return `${rows.length.toLocaleString("en")} ${noun ?? (loss.unit.endsWith("anchor") ? "anchors" : "positive pairs")}`;
}

const same = (b, i, j) => b.labels[i] === b.labels[j];

function unitsOf(b, unit, row) {
  const [a, p, n] = row;
  if (unit === "image" || unit.endsWith("anchor")) return [[a]];
  if (unit === "triplet") return row.length === 3 ? [row] : [];
  if (unit === "pair") return b.seen.kind === "pairs" || row.length === 2 ? [[a, p]] : [[a, p], [a, n]];
  return same(b, a, p) ? [[a, p]] : [];
}

function everyUnit(b, unit) {
  const total = b.seen.counts.reduce((sum, count) => sum + count, 0);
  const all = b.rows.length === total;
  const every = b.labels.map((_, i) => i);
  if (unit === "image") return every.map((i) => [i]);
  if (unit === "every anchor") return every.map((a) => [a]);
  if (unit === "anchor") return every.filter((a) => complete(b, a)).map((a) => [a]);
  if (unit === "positive anchor") return every.filter((a) => partners(b, a).positives.length).map((a) => [a]);
  if (unit === "triplet") return all && b.seen.kind === "triplets" ? b.rows : null;
  if (unit === "pair") {
    if (!all) return null;
    return b.seen.kind === "pairs" ? b.rows : b.rows.flatMap(([a, p, n]) => [[a, p], [a, n]]);
  }
  if (b.seen.kind === "triplets" && b.seen.by === "selection") {
    return all ? [...new Map(b.rows.map(([a, p]) => [`${a} ${p}`, [a, p]])).values()] : null;
  }
  const pairs = every.flatMap((a) => partners(b, a).positives.map((p) => [a, p]));
  return unit === "pair of a class" && !b.anchored ? pairs.filter(([a, p]) => a < p) : pairs;
}

const complete = (b, a) => partners(b, a).positives.length > 0 && partners(b, a).negatives.length > 0;
