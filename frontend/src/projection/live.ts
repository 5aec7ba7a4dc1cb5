// A map that goes on from where it stands when its points or settings change, as dmlviz/projection/live.py. Pure: no DOM.
import { aligned, pca } from "./linear.ts";
import { nearestRows } from "../standalone/nearest.ts";
import { keptNeighbors, nearestOthers, normalized, type Neighbors } from "./neighbors.ts";
import { affinities, TSNE } from "./tsne.ts";
import { curve, fuzzyGraph, UMAP } from "./umap.ts";

/** Settings of all methods, named as in the catalog. */
export interface LayoutSettings {
  method: "pca" | "tsne" | "umap";
  metric: (typeof METRICS)[number];
  perplexity: number;
  /** Factor of t-SNE's attraction: 1 is t-SNE. */
  attraction: number;
  neighbors: number;
  min_dist: number;
  /** Of the Poincaré ball that the points lie in, whose distance is then the Euclidean one's; 0 for none. */
  curvature: number;
}

const METRICS = ["euclidean", "cosine"] as const;
const EARLY = 60; // iterations of t-SNE in which neighbors pull more strongly
const EARLY_ATTRACTION = 12;
const LATER_RATE = 0.25; // of a UMAP that goes on after a change: at 1 a frame is half noise
const COOLING = 1 / 300; // of that rate, by iteration: at 0 the map rests
const KEPT = 10;
const STILL = 3e-4; // of the map's spread: a mean movement of t-SNE in an iteration that nobody sees
const REST = 60; // such iterations
const [FIRST, NEXT, LAST] = [120, 25, 150]; // iterations of a net's first snapshot, of the next ones, and of the end

export class LiveLayout {
  iterations = 0;
  /** The nearest others in the space, of the current rows; as many as the method asks for, and KEPT at least. */
  near!: Neighbors;
  private rows: Float32Array = new Float32Array(0);
  private d = 1;
  private rate = 1;
  private still = 0;
  private mover: TSNE | UMAP | null = null;
  private shown: Float32Array = new Float32Array(0);
  private found = new Map<string, Neighbors>(); // of the current rows, by metric

  /** `ahead`: neighbors to look for at once, so that a setting that asks for more of them need not. */
  constructor(
    private settings: LayoutSettings,
    private random: () => number,
    private ahead = 0,
  ) {}

  /** Positions as they were last returned (n × 2). */
  get positions(): Float32Array {
    return this.shown;
  }

  /** The cost as it is now: KL(P ‖ Q) of t-SNE, the cross entropy of UMAP; null for PCA. */
  get cost(): number | null {
    return this.mover instanceof TSNE ? this.mover.divergence() : (this.mover?.crossEntropy() ?? null);
  }

  /** Whether it has come to rest, until a change. */
  get rests(): boolean {
    return this.mover instanceof UMAP ? this.rate === 0 : !this.mover || this.still >= REST;
  }

  /** What holds two neighbors together: t-SNE's p(i, j), or UMAP's weights. */
  get edges() {
    return this.mover?.edges ?? null;
  }

  /** Take rows (n × d) that have changed, or are others: as many go on from where they stand. */
  take(rows: Float32Array, d: number): void {
    const other = rows.length / d !== this.rows.length / this.d;
    [this.rows, this.d] = [rows, d];
    this.found.clear();
    this.begin(other);
  }

  /** Stand at these positions (n × 2), at rest until a change. */
  place(positions: Float32Array): void {
    const { mover } = this;
    if (!mover) return;
    mover.positions.set(positions);
    if (mover instanceof TSNE) mover.restart();
    this.shown = positions.slice();
    [this.iterations, this.rate, this.still] = [EARLY + 1, 0, REST];
  }

  /** Change settings: the map goes on with them; another method begins anew. */
  change(changed: Partial<LayoutSettings>): void {
    const before = this.settings;
    this.settings = { ...before, ...changed };
    const same = (["method", "metric", "perplexity", "neighbors"] as const).every(
      (name) => before[name] === this.settings[name],
    );
    this.rate = Math.max(this.rate, LATER_RATE);
    this.still = 0;
    if (this.mover instanceof UMAP) this.mover.ab = curve(this.settings.min_dist);
    if (!same && this.rows.length) this.begin(this.settings.method !== before.method);
  }

  /** Look for the neighbors by every metric, so that one that is chosen later need not. */
  foresee(): void {
    for (const metric of METRICS) this.nearest(metric, 0);
  }

  /** Begin anew, from PCA. */
  restart(): void {
    this.begin(true);
  }

  /** Go on by some iterations, and return the positions (n × 2), turned onto those before. */
  step(iterations: number): Float32Array {
    const { mover, settings } = this;
    if (!mover) return this.shown;
    for (let turn = 0; turn < iterations; turn++) {
      if (mover instanceof UMAP) {
        mover.step(this.rate);
        this.rate = Math.max(this.rate - COOLING, 0);
      } else {
        if (this.iterations === EARLY) mover.restart();
        mover.step(this.iterations < EARLY ? Math.max(EARLY_ATTRACTION, settings.attraction) : settings.attraction);
      }
      this.iterations++;
    }
    const before = this.shown;
    const now = aligned(mover.positions, before);
    let [moved, spread] = [0, 0];
    for (let i = 0; i < now.length; i++) {
      moved += Math.abs(now[i] - before[i]);
      spread += Math.abs(now[i]);
    }
    this.still = moved < STILL * iterations * spread ? this.still + iterations : 0;
    return (this.shown = now);
  }

  private rowsBy(metric: LayoutSettings["metric"]): Float32Array {
    return metric === "cosine" ? normalized(this.rows, this.d) : this.rows;
  }

  /** The curvature of the ball that a metric measures in; 0 for none. */
  ball(metric = this.settings.metric): number {
    return metric === "euclidean" ? this.settings.curvature : 0;
  }

  private nearest(metric: LayoutSettings["metric"], count: number): Neighbors {
    let found = this.found.get(metric);
    if (!found || found.k < count)
      found = nearestOthers(this.rowsBy(metric), this.d, Math.max(count, this.ahead), this.ball(metric));
    this.found.set(metric, found);
    return found;
  }

  private begin(anew: boolean): void {
    const { settings, d } = this;
    const rows = this.rowsBy(settings.metric);
    const wanted = { pca: 0, tsne: Math.floor(3 * settings.perplexity), umap: settings.neighbors - 1 }[settings.method];
    const count = Math.min(Math.max(wanted, KEPT), rows.length / d - 1);
    this.near = first(this.nearest(settings.metric, count), count);
    const used = first(this.near, wanted);
    if (settings.method === "pca") {
      const positions = pca(rows, d);
      this.shown = anew || this.mover ? positions : aligned(positions, this.shown);
      [this.mover, this.iterations] = [null, 0];
      return;
    }
    if (anew) this.iterations = 0;
    this.rate = Math.max(anew ? 1 : LATER_RATE, this.rate);
    this.still = 0;
    if (settings.method === "tsne") {
      const perplexity = Math.min(settings.perplexity, (used.k + 1) / 3);
      const edges = affinities(used, perplexity);
      if (!anew && this.mover instanceof TSNE) this.mover.edges = edges;
      else this.mover = new TSNE(spread(pca(rows, d), 1e-4, this.random), edges);
    } else {
      const edges = fuzzyGraph(used, settings.metric === "cosine");
      if (!anew && this.mover instanceof UMAP) this.mover.edges = edges;
      else this.mover = new UMAP(spread(pca(rows, d), 4, this.random), edges, this.random, curve(settings.min_dist));
    }
    if (anew) this.shown = this.mover.positions.slice();
  }
}

/**
 * Go on to rows (n × d) of a net that has learned: positions (n × 2), and how many of 10 neighbors they keep. Rows beyond
 * those before are other points: they begin among their nearest.
 */
export function followed(layout: LiveLayout, rows: Float32Array, d: number, isLast: boolean) {
  const before = layout.positions;
  const [known, n] = [before.length / 2, rows.length / d];
  layout.take(rows, d);
  if (known && n > known) {
    const places = new Float32Array(2 * n);
    places.set(before);
    for (let i = known; i < n; i++)
      for (const [near] of nearestRows(
        rows.subarray(0, known * d),
        rows.subarray(i * d, (i + 1) * d),
        3,
        -1,
        layout.ball(),
      ))
        for (const axis of [0, 1]) places[2 * i + axis] += before[2 * near + axis] / Math.min(3, known);
    layout.place(places);
    layout.change({});
  }
  const iterations = isLast ? LAST : known ? NEXT : FIRST;
  for (let done = 0; done < iterations; done += 5) layout.step(5);
  const { positions, near } = layout;
  return { positions: positions as Float32Array<ArrayBuffer>, kept: keptNeighbors(near, positions) };
}

/** Only the nearest `k` of all neighbors. */
function first(near: Neighbors, k: number): Neighbors {
  const { k: all, indices, squared } = near;
  if (k >= all) return near;
  const n = indices.length / all;
  const [kept, apart] = [new Int32Array(n * k), new Float64Array(n * k)];
  for (let i = 0; i < n; i++) {
    kept.set(indices.subarray(i * all, i * all + k), i * k);
    apart.set(squared.subarray(i * all, i * all + k), i * k);
  }
  return { k, indices: kept, squared: apart };
}

/** Positions of a standard deviation of `size` along the first axis, with a little noise, so that equal points separate. */
function spread(positions: Float32Array, size: number, random: () => number): Float32Array {
  let squares = 0;
  for (let i = 0; i < positions.length; i += 2) squares += (2 * positions[i] ** 2) / positions.length;
  const scale = size / (Math.sqrt(squares) || 1);
  return positions.map((x) => scale * x + 0.01 * size * (random() + random() + random() - 1.5) * 2);
}
