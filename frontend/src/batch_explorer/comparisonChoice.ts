// The chosen comparison of a batch, and the images whose comparisons are shown. Pure: no DOM.
import type { LoadedBatch } from "./batch.ts";
import { pickLines, type Shown } from "./difficultyLegend.tsx";
import type { Pair } from "./distanceMatrix.ts";
import { termValues } from "./termFormula.ts";

const NEGLIGIBLE = 0.01; // a term below it counts as satisfied

export class ComparisonChoice {
  /** The comparison that is explained. */
  chosen: number | null = null;
  /** Images whose comparisons are shown; all where there are none. */
  images: number[] = [];
  /** The kinds that are shown. */
  shown: Shown = [true, true, true];
  private batch: LoadedBatch | null = null;
  private byHand = false;
  private satisfaction = new Map<number, boolean>();

  /** Take another batch. */
  show(batch: LoadedBatch | null): void {
    this.batch = batch;
    this.images = [];
    this.byHand = false;
    this.renew();
  }

  /** The terms of the batch have come: choose by them, unless a person has chosen. */
  renew(): void {
    this.satisfaction.clear();
    if (!this.byHand) this.chosen = this.batch && mostInformative(this.batch);
  }

  pick(index: number): void {
    this.chosen = index;
    this.byHand = true;
  }

  /** Show the comparisons of one image only, or those of all again. */
  pickImage(image: number | null): void {
    if (!this.batch) return;
    const { rows, hardness } = this.batch;
    this.images = image === null || this.images.includes(image) ? [] : [image];
    const own = this.images.length ? rows.findIndex((row, k) => row[0] === image && this.shown[hardness[k]]) : -1;
    if (own >= 0) this.pick(own);
  }

  /** Choose a comparison of these two images, if there is one. */
  pickPair([i, j]: Pair): void {
    if (!this.batch || this.batch.tuples.kind === "classes") return;
    const find = (a: number, b: number) => this.batch?.rows.findIndex((row) => row[0] === a && row.includes(b)) ?? -1;
    const index = find(i, j) >= 0 ? find(i, j) : find(j, i);
    if (index >= 0) this.pick(index);
  }

  /** Choose the next comparison of those drawn, hard ones first. */
  walk(by: number): void {
    if (!this.batch) return;
    const list = pickLines(this.batch, { shown: this.shown, of: this.images }).reverse();
    if (list.length) this.pick(list[(list.indexOf(this.chosen ?? -1) + by + list.length) % list.length]);
  }

  /** True if the terms of a comparison are close to 0. */
  isSatisfied(index: number): boolean {
    let satisfied = this.satisfaction.get(index);
    if (satisfied === undefined) {
      const values = this.batch ? termValues(this.batch, index) : [];
      satisfied = values.length > 0 && values.every((value) => Math.abs(value) <= NEGLIGIBLE);
      this.satisfaction.set(index, satisfied);
    }
    return satisfied;
  }
}

/** The comparison whose term is largest among a hundred of those that have one, so that there is something to read. */
export function mostInformative(b: Pick<LoadedBatch, "rows" | "hardness" | "terms">): number | null {
  const all = b.rows.map((_, k) => k);
  const withTerm = all.filter((k) => termValues(b, k).length > 0);
  const some = withTerm.length ? withTerm : all;
  const every = Math.max(1, Math.floor(some.length / 100));
  let [best, most]: [number | null, number] = [null, -Infinity];
  for (let i = 0; i < some.length; i += every) {
    const value = termValues(b, some[i]).reduce((sum, term) => sum + term, 0) + b.hardness[some[i]] * 1e-9;
    if (value > most) [best, most] = [some[i], value];
  }
  return best;
}
