// A run without a server: map, inspector, scores and curve as in the app, fed from what Python packed.
import type { InspectorProps, RunEvent } from "../protocol.ts";
import { decodeBase64, encodeBase64, type Bytes } from "../lib/base64.ts";
import { stream } from "../lib/eventStream.ts";
import renderMap from "../map/control/main.ts";
import renderInspector from "../panels/inspector/inspector.ts";
import renderLossCurve from "../panels/loss_curve/lossCurve.ts";
import renderScores from "../panels/scores/scores.ts";
import { neighborsOf, unpackNumbers, type NeighborTable, type NumberKind } from "./neighborData.ts";
import type { Answer, QueryNetData } from "./queryNet.ts";

/** What dmlviz/export/page_contents.py packs; arrays are little-endian numbers, as bytes or in base64. */
export interface RunContents {
  run: string;
  view: string;
  begun: string;
  dataset: string;
  classes: string[];
  n: number;
  /** What an item is, where it is no test image. */
  noun?: string;
  labels: string | Bytes;
  tracked: number[];
  /** Null while the run is on: neighbors are those at its end. */
  near: { k: number; wide: NumberKind; items: string | Bytes; distances: string | Bytes; unit: number } | null;
  /** The test images: in the page itself, or files beside it. */
  sprites: { pngs?: string[]; urls?: string[]; tile: number };
  /** The net, in a page that embeds drawings by itself. */
  query?: QueryNetData;
  /** Whether there are neither scores nor a loss to show. */
  plain: boolean;
  /** Height of the map in pixels, in the page of a notebook (dmlviz/notebook/page.py). */
  height?: number;
  streams: { pid: string | null; events: RunEvent[]; frames: Record<string, string | Bytes> }[];
}

const HINT = "Click a point to see its nearest neighbors in the embedding.";
const LATER = "Neighbors are shown when the run is over.";
export const PARTS = ["map", "inspector", "scores", "loss_curve"] as const;

/** A place of its own for each component. */
export type Hosts = Record<(typeof PARTS)[number], ShadowRoot>;

export interface PageHooks {
  onPin(item: number | null): void;
  onSelect?(bits: string | null): void;
}

export class RunPage {
  private near: NeighborTable | null;
  private labels: ArrayLike<number>;
  private sprites: { urls: string[]; tile: number };
  private nearestUrl: string | undefined;
  private cleanups: (() => void)[] = [];

  constructor(
    private hosts: Hosts,
    private contents: RunContents,
    private hooks: PageHooks,
    private options: { height?: number } = {},
  ) {
    const { near, labels, sprites, run, begun } = contents;
    this.near = near && {
      ...near,
      items: unpackNumbers(near.items, near.wide),
      distances: unpackNumbers(near.distances, "<u2"),
    };
    this.labels = unpackNumbers(labels, "<u2");
    const urlOf = (png: string) => URL.createObjectURL(new Blob([decodeBase64(png)], { type: "image/png" }));
    this.sprites = { urls: sprites.urls ?? (sprites.pngs ?? []).map(urlOf), tile: sprites.tile };
    this.nearestUrl = near?.k ? URL.createObjectURL(this.nearestBytes()) : undefined;
    stream.renew({ run, begun });
    for (const { pid, events, frames } of contents.streams) stream.feed({ run, pid, events, frames });
  }

  /** Bring everything up to date, as the server does after a click. */
  show(pinned: number | null, selected: string | null = null, answer: Answer | null = null, trouble = ""): void {
    const { hosts, contents, sprites, labels } = this;
    const { run, view, begun, classes, n } = contents;
    const neighbors = pinned === null || !this.near ? [] : neighborsOf(this.near, pinned);
    const source = { run, view, begun, events_url: null };
    const deaf = { setStateValue: () => {}, setTriggerValue: () => {} };
    const cleanups = [
      renderMap({
        parentElement: hosts.map,
        name: "saved",
        data: {
          ...source,
          dataset: contents.dataset,
          classes,
          n,
          ...(contents.noun === undefined ? {} : { noun: contents.noun }),
          labels: Array.from(labels),
          tracked: contents.tracked,
          nearest_url: this.nearestUrl,
          sprites,
          ...(this.near ? { autoplay: true } : { running: true }),
          pinned,
          neighbors: neighbors.map(([item]) => item),
          distance: neighbors[0]?.[1],
          query: answer?.xy ? { xy: answer.xy, neighbors: answer.near.map(([item]) => item) } : undefined,
          ...(selected === null ? {} : { selected: { bits: selected } }),
          ...(this.options.height === undefined ? {} : { height: this.options.height }),
        },
        ...deaf,
        setStateValue: (name, value) => {
          if (name === "pinned") this.hooks.onPin(Number.isInteger(value) ? (value as number) : null);
          if (name === "selected") this.hooks.onSelect?.((value as { bits: string } | null)?.bits ?? null);
        },
      }),
      renderInspector({
        parentElement: hosts.inspector,
        data: this.inspected(pinned, neighbors, answer, trouble),
        ...deaf,
        setTriggerValue: (name, value) => {
          if (name === "pin") this.hooks.onPin(Number.isInteger(value) ? (value as number) : null);
        },
      }),
      renderScores({ parentElement: hosts.scores, data: source, ...deaf }),
      renderLossCurve({ parentElement: hosts.loss_curve, data: source, ...deaf }),
    ];
    this.cleanups = cleanups.filter((cleanup) => typeof cleanup === "function");
  }

  /** The pinned image or the drawing, with its neighbors; words where there is neither. */
  private inspected(
    pinned: number | null,
    neighbors: [number, number][],
    answer: Answer | null,
    trouble: string,
  ): InspectorProps {
    const { contents, labels, sprites } = this;
    const { run, classes, n } = contents;
    const known = { run, classes: Object.fromEntries(classes.map((name, label) => [label, name])), sprites, among: n };
    const rows = (pairs: [number, number][]): [number, number, number][] =>
      pairs.map(([item, distance]) => [item, labels[item], distance]);
    if (pinned !== null) {
      if (!this.near) return { placeholder: LATER };
      return { ...known, subject: { item: pinned, label: labels[pinned] }, near: rows(neighbors) };
    }
    if (!answer) return { placeholder: trouble || HINT };
    const votes = new Map<number, number>();
    for (const [item] of answer.near) votes.set(labels[item], (votes.get(labels[item]) ?? 0) + 1);
    const [label] = [...votes].reduce((best, other) => (other[1] > best[1] ? other : best));
    const { side: width, image } = answer;
    return {
      ...known,
      subject: {},
      near: rows(answer.near),
      vote: { label },
      title: `Looks like ${classes[label]}`,
      steps: [{ ink: encodeBase64(image), width, height: width, caption: "what the net sees" }],
    };
  }

  /** Take everything away. */
  destroy(): void {
    for (const cleanup of this.cleanups) cleanup();
    for (const url of [...this.sprites.urls, this.nearestUrl]) if (url) URL.revokeObjectURL(url);
  }

  /** The nearest of each, as the map takes it: int32 items, then float32 distances. */
  private nearestBytes(): Blob {
    const { near, contents } = this;
    const items = new Int32Array(contents.n);
    const distances = new Float32Array(contents.n);
    for (let i = 0; i < contents.n; i++) [items[i], distances[i]] = (near && neighborsOf(near, i)[0]) ?? [i, 0];
    return new Blob([items, distances]);
  }
}
