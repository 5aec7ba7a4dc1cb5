// A map of given positions for any page, and for Streamlit: the workbench of the app on what the host hands over.
import type { RunEvent } from "../protocol.ts";
import { bytesOf } from "../lib/base64.ts";
import { h } from "../lib/dom.ts";
import { stream } from "../lib/eventStream.ts";
import { whenGone, type ComponentArguments } from "../lib/mount.ts";
import { maxOf } from "../lib/extent.ts";
import { luminance, readTheme } from "../lib/theme.ts";
import { boundsOf, quantize } from "../map/data/frames.ts";
import style from "../notebook/notebook.css";
import type { ViewStore } from "../workbench/store.ts";
import { RunPage, type RunContents } from "./runPage.ts";

export interface MapData {
  /** Positions: n pairs, a flat Float32Array, or its bytes in base64. */
  coordinates: [number, number][] | Float32Array | string;
  /** What each point is, different for all: by these, a selection follows its points where others come or go. */
  ids?: string[];
  /** Class of each point: its number in `classes`; "no label" is gray. */
  labels?: number[];
  classes?: string[];
  /** Sheets of square pictures, 100 in a row and at most 10,000 on a sheet: their addresses, or PNG files in base64. */
  images?: { urls?: string[]; pngs?: string[]; tile: number };
  /** The nearest of each point, nearest first, with their distances: both n × k. */
  neighbors?: { indices: number[][]; distances: number[][] };
  /** What is selected and pinned at first. */
  view?: MapView;
  /** Height of the map in pixels. */
  height?: number;
}

export interface MapView {
  selected: number[];
  pinned: number | null;
}

const MAX_DISTANCE = 65535;
const NOTHING: MapView = { pinned: null, selected: [] };
let maps = 0;

/**
 * Show a map in `element`. `update` with the same points moves them; of other points, what was selected and pinned stays
 * by `ids`, or by its number as far as it goes. `onChange` hears what is selected and pinned then.
 */
export function embeddingMap(
  element: HTMLElement,
  data: MapData,
  onChange: (view: MapView, ids?: string[]) => void = () => {},
) {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const main = h("main");
  // Where the page has a theme, as in Streamlit, the map takes it; else it has one of its own.
  const hasTheme = getComputedStyle(element).getPropertyValue("--st-background-color") !== "";
  root.replaceChildren(h("style", null, hasTheme ? "main { font: 0.875rem/1.45 var(--st-font); }" : style), main);
  let run = "";
  let page: RunPage | null = null;
  let frames = 0;
  let givenNow = "";
  let kindNow = "";
  let idsNow: string[] | undefined;
  let told = "";

  function tell({ store }: RunPage) {
    const view = viewOf(store);
    if (told === (told = JSON.stringify(view))) return;
    onChange(view, idsNow);
  }

  function begin(contents: RunContents): RunPage {
    page?.destroy();
    run = contents.run = (maps++).toString(16).padStart(16, "0");
    frames = 0;
    const next = (page = new RunPage(main, contents, { height: data.height }));
    next.store.subscribe((change) => {
      if (change.has("pinned") || change.has("selected")) tell(next);
    });
    return next;
  }

  function update(data: MapData) {
    element.classList.toggle("dark", luminance(readTheme(element).background) < 0.3);
    const { view, ...rest } = data;
    const given = JSON.stringify(rest); // a script that ran again gives most often what it gave before
    if (page && given === givenNow) return page.show();
    givenNow = given;
    const xy = positions(data.coordinates);
    const n = xy.length / 2;
    const contents = contentsOf(run, n, data);
    const kind = JSON.stringify([n, contents.classes, data.ids]);
    if (page && kind === kindNow) page.take(contents);
    else {
      const kept = page ? follow(viewOf(page.store), idsNow, data.ids, n) : view;
      [kindNow, idsNow] = [kind, data.ids];
      const next = begin(contents);
      if (kept) next.store.set({ pinned: kept.pinned, selected: maskOf(kept.selected, n) });
      tell(next);
    }
    place(xy, n);
    page!.show();
  }

  function place(xy: Float32Array, n: number) {
    const [left, top, right, bottom] = boundsOf(xy) ?? [0, 0, 1, 1];
    const [center, scale] = [[(left + right) / 2, (top + bottom) / 2], Math.max(right - left, bottom - top, 1e-6) / 2];
    const id = `${run}-${frames}`;
    const snapshot = { time: 0, step: frames, metrics: {}, scored_on: "test" };
    const frame = { id, n, dims: 2, center, scale, items: "all" };
    const counts = { train_images: 0, validation_images: 0, test_images: n, scored_images: n, tracked: n };
    const start = { time: 0, event: "started", steps: null, device: "", view: "plane", dims: 2, ...counts };
    const events = [...(frames ? [] : [start]), { event: "snapshot", ...snapshot, frame }] as RunEvent[];
    stream.feed({
      run,
      events,
      frames: { [id]: new Uint8Array(quantize(xy, center, scale)) },
      from: frames && frames + 1,
    });
    frames++;
  }

  told = JSON.stringify(data.view ?? NOTHING);
  update(data);
  return {
    update,
    destroy() {
      page?.destroy();
      root.replaceChildren();
    },
  };
}

function viewOf({ state: { pinned, selected } }: ViewStore): MapView {
  return { pinned, selected: selected ? [...selected.keys()].filter((item) => selected[item]) : [] };
}

/** The same view of other points. */
export function follow(
  { selected, pinned }: MapView,
  before?: string[],
  ids?: string[],
  n = ids?.length ?? 0,
): MapView {
  const rows = before && ids && new Map(ids.map((id, row) => [id, row]));
  const rowOf = (item: number) => (rows ? rows.get(before[item]) : item < n ? item : undefined);
  const kept = selected.map(rowOf).filter((row) => row !== undefined);
  return { selected: kept.sort((a, b) => a - b), pinned: pinned === null ? null : (rowOf(pinned) ?? null) };
}

function maskOf(items: number[], n: number): Uint8Array | null {
  const mask = new Uint8Array(n);
  for (const item of items) mask[item] = 1;
  return items.length ? mask : null;
}

function positions(values: MapData["coordinates"]): Float32Array {
  if (typeof values === "string") return new Float32Array(bytesOf(values).buffer);
  return values instanceof Float32Array ? values : new Float32Array(values.flat());
}

function contentsOf(run: string, n: number, data: MapData): RunContents {
  const { labels = Array<number>(n).fill(0), classes = [""], images = { tile: 1 }, neighbors } = data;
  const k = neighbors?.indices[0]?.length ?? 0;
  const [items, distances] = [new Int32Array(n * k), new Uint16Array(n * k)];
  const farthest = (neighbors?.distances ?? []).map((row) => row[k - 1]);
  const unit = maxOf(farthest, 1e-12) / MAX_DISTANCE;
  for (let i = 0; i < n; i++) {
    for (let rank = 0; rank < k; rank++) {
      items[rank * n + i] = neighbors!.indices[i][rank];
      distances[rank * n + i] = neighbors!.distances[i][rank] / unit;
    }
  }
  const bytes = (array: Int32Array | Uint16Array) => new Uint8Array(array.buffer);
  return {
    run,
    view: "live",
    begun: "given",
    dataset: "",
    classes,
    n,
    noun: "item",
    labels: bytes(Uint16Array.from(labels)),
    tracked: Array.from({ length: n }, (_, item) => item),
    near: { k, wide: "<i4", items: bytes(items), distances: bytes(distances), unit },
    sprites: images,
    plain: true,
    open: true,
    streams: [],
  } as RunContents;
}

const mounted = new WeakMap<object, ReturnType<typeof embeddingMap>>();

/** Show, or bring up to date, the map of a Streamlit script, which hears of points by their ids, where they have some. */
export default function component(host: ComponentArguments<MapData>): () => void {
  const { data, parentElement, setStateValue } = host;
  const map = mounted.get(parentElement);
  if (map) map.update(data);
  else {
    const place = parentElement.appendChild(h("div"));
    const tell = ({ selected, pinned }: MapView, ids?: string[]) => {
      const named = (item: number) => ids?.[item] ?? item;
      setStateValue("view", { selected: selected.map(named), pinned: pinned === null ? null : named(pinned) });
    };
    mounted.set(parentElement, embeddingMap(place, data, tell));
  }
  return whenGone(parentElement, () => {
    mounted.get(parentElement)?.destroy();
    mounted.delete(parentElement);
  });
}
