// A run without a server: the same workbench as in the app, on what Python packed.
import { type Bytes, bytesOf, decodeBase64, encodeBase64 } from "../lib/base64.ts";
import { stream } from "../lib/eventStream.ts";
import { context2d } from "../lib/dom.ts";
import { answerInPlace, type RunSource } from "../lib/server.ts";
import { dequantize, placeItems } from "../map/data/frames.ts";
import { tileOf } from "../lib/sprites.ts";
import type { MapInput } from "../map/data/expandProps.ts";
import type { InspectorProps, ItemNeighbors, LayoutSetting, OcclusionMaps } from "../protocol.ts";
import type { PictureInfo, RunEvent, Source } from "../protocol.ts";
import { Address } from "../workbench/address.ts";
import type { AskParts } from "../workbench/inspector/captions.ts";
import { ViewStore } from "../workbench/store.ts";
import { type FurtherParts, Workbench } from "../workbench/workbench.ts";
import { placeAmid } from "./nearest.ts";
import { type Answer, confidenceOf, type QueryNetData } from "./queryNet.ts";
import { unzlibSync } from "fflate";

const KINDS = { "<u2": Uint16Array, "<i4": Int32Array };
const UNFINISHED = "Neighbors are shown when the run is over.";
const ELSEWHERE = "This page has no server: it knows this of the end of the run only.";

export type NumberKind = keyof typeof KINDS;

/** The nearest of all n items, then the second nearest of all …; distances are kept in steps of `unit`. */
export interface NeighborTable {
  k: number;
  items: ArrayLike<number>;
  distances: ArrayLike<number>;
  unit: number;
}

/** Packed data of a run, beside its events. */
export interface PackedRun {
  run: string;
  classes: string[];
  labels: ArrayLike<number>;
  /** Null while the run is on. */
  near: NeighborTable | null;
  /** Deflated files of the server, by their addresses below that of the run. */
  files?: Record<string, string | Bytes>;
}

/** Little-endian numbers of `kind`, as every machine that has a browser keeps them; text is base64. */
export const unpackNumbers = (content: string | Bytes, kind: NumberKind): Uint16Array | Int32Array =>
  new KINDS[kind](bytesOf(content).buffer);

/** [item, distance] of the k nearest of `item`, nearest first. */
export function neighborsOf({ k, items, distances, unit }: NeighborTable, item: number): [number, number][] {
  const n = items.length / k;
  return Array.from({ length: k }, (_, rank) => [items[rank * n + item], distances[rank * n + item] * unit]);
}

/** A run that is packed into the page. */
export class PackedSource implements RunSource {
  /** Stops answering. */
  readonly stop: () => void;

  constructor(private contents: PackedRun) {
    this.stop = answerInPlace(contents.run, this);
  }

  fetch(path: string): Promise<Response> {
    const [file, query] = path.split("?");
    const item = /^neighbors\/(\d+)\.json$/.exec(file);
    return Promise.resolve(item ? this.neighbors(Number(item[1])) : this.file(file, (query ?? "").includes("step=")));
  }

  private neighbors(item: number): Response {
    const { near, labels, classes } = this.contents;
    if (!near) return refusal(UNFINISHED);
    const answer: ItemNeighbors = {
      item,
      label: labels[item],
      near: neighborsOf(near, item).map(([other, distance]) => [other, labels[other], distance]),
      classes: Object.fromEntries(classes.entries()),
    };
    return Response.json(answer);
  }

  private file(name: string, atStep: boolean): Response {
    const { files = {} } = this.contents;
    if (name === "nearest.bin") return new Response(this.nearest());
    if (name.startsWith("moved/") && "rows.bin" in files) return this.rows(files["rows.bin"]);
    if (!(name in files) || atStep) return refusal(ELSEWHERE);
    return new Response(unzlibSync(bytesOf(files[name])));
  }

  private rows(file: string | Bytes): Response {
    const { buffer, byteOffset } = unzlibSync(bytesOf(file)).slice();
    const [unit, curvature] = new Float32Array(buffer, byteOffset, 2);
    const rows = curvature
      ? new Float32Array(buffer, byteOffset + 8)
      : Float32Array.from(new Int16Array(buffer, byteOffset + 8), (steps) => steps * unit);
    return pointsToMove(rows, rows.length / this.contents.labels.length, curvature);
  }

  /** The nearest of each: int32 items, then float32 distances. */
  private nearest(): Blob {
    const { near, labels } = this.contents;
    const [items, distances] = [new Int32Array(labels.length), new Float32Array(labels.length)];
    for (let i = 0; i < labels.length; i++) {
      items[i] = near?.k ? near.items[i] : i;
      distances[i] = near?.k ? near.distances[i] * near.unit : 0;
    }
    return new Blob([items, distances]);
  }
}

/** Where a map of its own, as t-SNE, has the images at its end, x and y of each; null for the net's own plane. */
export function positionsAtEnd({ streams, view, tracked, n }: RunContents): Float32Array | null {
  const { events, frames } = streams.find(({ pid }) => pid === view) ?? {};
  const end = events?.findLast((event) => event.event === "finished");
  const frame = end && "frame" in end && end.frame;
  if (!frames || !frame) return null;
  if (frame.dims !== 2) return new Float32Array(0); // which has no place for a drawing
  const places = dequantize(bytesOf(frames[frame.id]).buffer, frame);
  const { xy, present } = placeItems(places, frame, Int32Array.from(tracked), n);
  return xy.map((value, at) => (present[at >> 1] ? value : NaN));
}

/** As the server gives points that are to move: all of them, here. */
export function pointsToMove(rows: Float32Array, d: number, curvature: number): Response {
  const n = rows.length / d;
  const items = Int32Array.from({ length: n }, (_, i) => i);
  return new Response(
    new Blob([Int32Array.of(n), Float32Array.of(curvature), items, rows as Float32Array<ArrayBuffer>]),
  );
}

const refusal = (error: string): Response => Response.json({ error }, { status: 404 });

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
  /** The settings of each method by which the page draws images itself. */
  layouts?: Record<string, LayoutSetting[]>;
  /** Those that move the map; `onSettings` hears of a change. */
  settings?: LayoutSetting[];
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
  /** Finds which parts of two images (gray) hold them together, while that can be asked. */
  parts?: (pair: Uint8Array[]) => Promise<OcclusionMaps>;
  /** What answers for the run, where it is not what was packed. */
  source?: RunSource;
  /** Hears which settings of the layout a person has changed. */
  onSettings?: (values: Record<string, number | string>) => void;
}

export class RunPage {
  /** The view of the page. */
  readonly store = new ViewStore();
  private contents!: RunContents;
  private near: NeighborTable | null = null;
  private end: Float32Array | null = null;
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
    this.end = positionsAtEnd(contents);
    stream.renew({ run, begun });
    for (const { pid, events, frames } of contents.streams) stream.feed({ run, pid, events, frames });
  }

  /** Bring everything up to date: the answer to a query, or why there is none; a run of the same images beside it. */
  show(answer: Answer | null = null, trouble = "", beside: Beside | null = null): void {
    const { contents, options, sprites, labels } = this;
    const { run, view, begun, classes, whole_names, n, noun, title, files = {} } = contents;
    const source: Source = { run, view, begun, events_url: null };
    const xy = answer && (this.end ? placeAmid(answer.near, this.end) : answer.xy);
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
      layouts: contents.layouts,
      settings: contents.settings,
      kept: this.near ? ["nearest"] : [],
      measures: Object.keys(files).flatMap((path) => path.match(`^values/${view}/(.+)[.]f32$`)?.[1] ?? []),
      sprites,
      ...(this.near && !contents.open ? { autoplay: true } : { running: true }),
      query: xy ? { xy, neighbors: answer.near.map(([item]) => item) } : undefined,
      ...(options.height === undefined ? {} : { height: options.height }),
    };
    const other = beside && { run: beside.run, begun: beside.begun };
    const linked = { link: "before", links_views: view === "live" };
    const data = {
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
        ...(other ? [{ ...this.inspectorOf(null, ""), run: other.run, parts: undefined }] : []),
      ],
      ...(contents.plain ? {} : { scores: { ...source, view: "live" } }),
      has_loss: true,
      pad: options.pad,
    };
    const setTriggerValue = (name: string, value: unknown) => {
      if (name === "settings") options.onSettings?.((value as { values: Record<string, number | string> }).values);
    };
    this.workbench.update(data, { setStateValue: () => {}, setTriggerValue });
  }

  private partsOf(answer: Answer | null): AskParts | undefined {
    const { parts: ask } = this.options;
    const pixels = (item: number) => this.pixelsOf(item);
    if (!ask || !this.sprites.urls.length) return undefined;
    return async (item, subject) =>
      ask([subject === undefined ? answer!.image : await pixels(subject), await pixels(item)]);
  }

  /** The gray values of a test image, from its sheet. */
  private async pixelsOf(item: number): Promise<Uint8Array> {
    const { tile } = this.sprites;
    const { url, x, y } = tileOf(this.sprites, item);
    const sheet = Object.assign(new Image(), { src: url });
    await sheet.decode();
    const context = context2d(Object.assign(document.createElement("canvas"), { width: tile, height: tile }));
    context.drawImage(sheet, -x, -y);
    return Uint8Array.from(context.getImageData(0, 0, tile, tile).data.filter((_, i) => i % 4 === 0));
  }

  private get hasNeighbors(): boolean {
    return this.options.source !== undefined || this.near?.k !== 0;
  }

  /** The drawing with its neighbors; words where there is none. */
  private inspectorOf(answer: Answer | null, trouble: string): InspectorProps & { parts?: AskParts } {
    const { contents, labels, sprites } = this;
    const { run, classes, n, noun, plain } = contents;
    const props = {
      run,
      ...(noun === undefined ? {} : { noun }),
      classes: Object.fromEntries(classes.entries()),
      sprites,
      among: n,
      given: plain || this.options.source !== undefined,
      parts: this.partsOf(answer),
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
