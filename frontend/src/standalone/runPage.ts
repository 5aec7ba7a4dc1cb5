// A run without a server: the same workbench as in the app, on what Python packed.
import type { InspectorProps, PictureInfo, RunEvent, Source } from "../protocol.ts";
import { decodeBase64, encodeBase64, type Bytes } from "../lib/base64.ts";
import { stream } from "../lib/eventStream.ts";
import { answerInPlace, type RunSource } from "../lib/server.ts";
import { Address } from "../workbench/address.ts";
import { PackedSource, unpackNumbers, type NeighborTable, type NumberKind } from "../workbench/source.ts";
import type { MapInput } from "../map/data/expandProps.ts";
import { ViewStore } from "../workbench/store.ts";
import { Workbench, type FurtherParts } from "../workbench/workbench.ts";
import { confidenceOf } from "./queryNet.ts";
import type { Answer, QueryNetData } from "./queryNet.ts";

/** Contents packed by dmlviz/export/page_contents.py; arrays are little-endian numbers, as bytes or in base64. */
export interface RunContents {
  run: string;
  view: string;
  /** What the map is, where it has something to say of itself; `follows`: it has a layout of each step of a training. */
  picture?: PictureInfo;
  follows?: boolean;
  begun: string;
  /** Title of the run, above the map in the full screen. */
  title?: string;
  dataset: string;
  classes: string[];
  whole_names?: Record<string, string>;
  n: number;
  /** Name of an item that is no test image. */
  noun?: string;
  labels: string | Bytes;
  tracked: number[];
  /** Null while the run is on: neighbors are those at its end. */
  near: { k: number; wide: NumberKind; items: string | Bytes; distances: string | Bytes; unit: number } | null;
  /** The test images: in the page itself, or files beside it. */
  sprites: { pngs?: string[]; urls?: string[]; tile: number };
  /** The net, in a page that embeds drawings by itself. */
  query?: QueryNetData;
  /** True if further frames may come, though the neighbors are known. */
  open?: boolean;
  /** True if there are neither scores nor a loss. */
  plain: boolean;
  /** Height of the map in pixels, in the page of a notebook (dmlviz/notebook/widget.py). */
  height?: number;
  /** Further files of the server, deflated, by their addresses below that of the run. */
  files?: Record<string, string | Bytes>;
  streams: { pid: string | null; events: RunEvent[]; frames: Record<string, string | Bytes> }[];
}

const HINT = "Click a point to see its nearest neighbors in the embedding.";

/** Another run of the same images, whose events the page's stream has; and the titles of both maps. */
export interface Beside {
  run: string;
  begun: string;
  titles: [string, string];
}

interface Options {
  /** Height of the map in pixels. */
  height?: number;
  /** True if the address of the page holds the view. */
  addressed?: boolean;
  /** Parts that a page has beside those of the workbench, and what the drawing pad is given. */
  further?: FurtherParts;
  pad?: unknown;
  /** What answers for the run, where it is not what was packed. */
  source?: RunSource;
}

export class RunPage {
  /** The view of the page. */
  readonly store = new ViewStore();
  private contents!: RunContents;
  private near: NeighborTable | null = null;
  private labels: ArrayLike<number> = [];
  private sprites: { urls: string[]; tile: number } = { urls: [], tile: 0 };
  private stop = () => {};
  private address: Address | null = null;
  private workbench: Workbench;

  constructor(
    place: ParentNode,
    contents: RunContents,
    private options: Options = {},
  ) {
    if (options.addressed) this.address = new Address(this.store);
    this.workbench = new Workbench(place, this.store, options.further);
    this.take(contents);
  }

  /** Take what is known of the run now, in place of what was known before. */
  take(contents: RunContents): void {
    this.forget();
    const { near, labels, sprites, run, begun, classes, files, dataset, n } = contents;
    this.contents = contents;
    (this.address ?? this.store).show({ run, dataset, n });
    this.near = near && {
      ...near,
      items: unpackNumbers(near.items, near.wide),
      distances: unpackNumbers(near.distances, "<u2"),
    };
    this.labels = unpackNumbers(labels, "<u2");
    const urlOf = (png: string) => URL.createObjectURL(new Blob([decodeBase64(png)], { type: "image/png" }));
    this.sprites = { urls: sprites.urls ?? (sprites.pngs ?? []).map(urlOf), tile: sprites.tile };
    const { source } = this.options;
    this.stop = source
      ? answerInPlace(run, source)
      : new PackedSource({ run, classes, labels: this.labels, near: this.near, files }).stop;
    stream.renew({ run, begun });
    for (const { pid, events, frames } of contents.streams) stream.feed({ run, pid, events, frames });
  }

  /** Bring everything up to date: the answer to a query, or why there is none; a run of the same images beside it. */
  show(answer: Answer | null = null, trouble = "", beside: Beside | null = null): void {
    const { contents, options, sprites, labels } = this;
    const { run, view, begun, classes, whole_names, n, noun, title, files = {} } = contents;
    const source: Source = { run, view, begun, events_url: null };
    const map: MapInput = {
      ...source,
      dataset: contents.dataset,
      classes,
      whole_names,
      n,
      ...(title === undefined ? {} : { title }),
      ...(contents.picture && { picture: contents.picture, follows: contents.follows }),
      ...(noun === undefined ? {} : { noun }),
      labels: Array.from(labels),
      tracked: contents.tracked,
      kept: [
        ...(this.near ? (["nearest"] as const) : []),
        ...(`values/${view}/center.f32` in files ? (["values"] as const) : []),
      ],
      sprites,
      ...(this.near && !contents.open ? { autoplay: true } : { running: true }),
      query: answer?.xy ? { xy: answer.xy, neighbors: answer.near.map(([item]) => item) } : undefined,
      ...(options.height === undefined ? {} : { height: options.height }),
    };
    const other = beside && { run: beside.run, begun: beside.begun };
    const linked = { link: "before", links_views: view === "live" };
    this.workbench.update({
      maps: other
        ? [
            { ...map, ...linked },
            { ...map, ...linked, picture: undefined, follows: undefined, view: "live", ...other, query: undefined },
          ]
        : [map],
      headings: (beside?.titles ?? []).map((title) => ({ title, text: "", missing: "" })),
      inspectors: [
        // without neighbors and pictures there is nothing to say of a point
        ...(this.hasNeighbors || sprites.urls.length ? [this.inspectorOf(answer, trouble)] : []),
        ...(other ? [{ ...this.inspectorOf(null, ""), run: other.run }] : []),
      ],
      ...(contents.plain ? {} : { scores: { ...source, view: "live" } }),
      has_loss: true,
      pad: options.pad,
    });
  }

  private get hasNeighbors(): boolean {
    return this.options.source !== undefined || this.near?.k !== 0;
  }

  /** The drawing with its neighbors; words where there is none. */
  private inspectorOf(answer: Answer | null, trouble: string): InspectorProps {
    const { contents, labels, sprites } = this;
    const { run, classes, n, noun, plain } = contents;
    const props = {
      run,
      ...(noun === undefined ? {} : { noun }),
      classes: Object.fromEntries(classes.entries()),
      sprites,
      among: n,
      given: plain || this.options.source !== undefined,
    };
    const has = this.options.source !== undefined || this.near?.k !== 0;
    if (!answer)
      return { ...props, placeholder: trouble || (has ? HINT : ""), example: !trouble && !this.options.source };
    const votes = new Map<number, number>();
    for (const [item] of answer.near) votes.set(labels[item], (votes.get(labels[item]) ?? 0) + 1);
    const [label, agreeing] = [...votes].reduce((best, other) => (other[1] > best[1] ? other : best));
    const distance = answer.near.reduce((sum, [, one]) => sum + one, 0) / answer.near.length;
    const neighbors = { distance, agreeing, name: classes[label] };
    const confidence = contents.query && confidenceOf(contents.query.calibration, neighbors);
    const { side: width, image } = answer;
    return {
      ...props,
      subject: {},
      near: answer.near.map(([item, distance]) => [item, labels[item], distance]),
      vote: { label },
      title: confidence?.title,
      far: confidence?.sentence,
      basis: confidence?.basis,
      steps: [{ ink: encodeBase64(image), width, height: width, caption: "what the net sees" }],
    };
  }

  /** Take everything away. */
  destroy(): void {
    this.workbench.destroy();
    this.address?.destroy();
    this.forget();
  }

  private forget(): void {
    this.stop();
    for (const url of this.sprites.urls) URL.revokeObjectURL(url); // addresses of files stay as they are
  }
}
