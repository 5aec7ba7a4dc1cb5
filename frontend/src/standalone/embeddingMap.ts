// A map of given positions for any page, and for Streamlit: the workbench of the app on what the host hands over.
import type { RunEvent } from "../protocol.ts";
import { bytesOf } from "../lib/base64.ts";
import { h } from "../lib/dom.ts";
import { stream } from "../lib/eventStream.ts";
import { whenGone, type ComponentArguments } from "../lib/mount.ts";
import { luminance, readTheme } from "../lib/theme.ts";
import { boundsOf, quantize } from "../map/data/frames.ts";
import style from "../notebook/notebook.css";
import { RunPage, type RunContents } from "./runPage.ts";

export interface MapData {
  /** Positions: n pairs, a flat Float32Array, or its bytes in base64. */
  coordinates: [number, number][] | Float32Array | string;
  /** Class of each point: its number in `classes`. */
  labels?: number[];
  classes?: string[];
  /** Sheets of square pictures, 100 in a row and at most 10,000 on a sheet: their addresses, or PNG files in base64. */
  images?: { urls?: string[]; pngs?: string[]; tile: number };
  /** The nearest of each point, nearest first, with their distances: both n × k. */
  neighbors?: { indices: number[][]; distances: number[][] };
  /** Height of the map in pixels. */
  height?: number;
}

export interface MapView {
  selected: number[];
  pinned: number | null;
}

const MAX_DISTANCE = 65535;
let maps = 0;

/** Show a map in `element`. `update` with as many points moves them; `onChange` hears what a person selects and pins. */
export function embeddingMap(element: HTMLElement, data: MapData, onChange: (view: MapView) => void = () => {}) {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const main = h("main");
  // Where the page has a theme, as in Streamlit, the map takes it; else it has one of its own.
  const hasTheme = getComputedStyle(element).getPropertyValue("--st-background-color") !== "";
  root.replaceChildren(h("style", null, hasTheme ? "main { font: 14px/1.45 var(--st-font); }" : style), main);
  let run = "";
  let page: RunPage | null = null;
  let frames = 0;
  let kindNow = "";

  function begin(contents: RunContents): RunPage {
    page?.destroy();
    run = contents.run = (maps++).toString(16).padStart(16, "0");
    frames = 0;
    const next = (page = new RunPage(main, contents, { height: data.height }));
    const { store } = next;
    store.subscribe((change) => {
      if (!change.has("pinned") && !change.has("selected")) return;
      const { pinned, selected } = store.state;
      onChange({ pinned, selected: selected ? [...selected.keys()].filter((item) => selected[item]) : [] });
    });
    return next;
  }

  function update(data: MapData) {
    const xy = positions(data.coordinates);
    const n = xy.length / 2;
    const contents = contentsOf(run, n, data);
    element.classList.toggle("dark", luminance(readTheme(element).background) < 0.3);
    const kind = JSON.stringify([n, contents.classes]);
    const current = page && kind === kindNow ? page : begin(contents);
    if (kind === kindNow) current.take(contents);
    kindNow = kind;
    place(xy, n);
    current.show();
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

  update(data);
  return {
    update,
    destroy() {
      page?.destroy();
      root.replaceChildren();
    },
  };
}

function positions(values: MapData["coordinates"]): Float32Array {
  if (typeof values === "string") return new Float32Array(bytesOf(values).buffer);
  return values instanceof Float32Array ? values : new Float32Array(values.flat());
}

function contentsOf(run: string, n: number, data: MapData): RunContents {
  const { labels = Array<number>(n).fill(0), classes = [""], images = { tile: 1 }, neighbors } = data;
  const k = neighbors?.indices[0]?.length ?? 0;
  const [items, distances] = [new Int32Array(n * k), new Uint16Array(n * k)];
  const unit = Math.max(1e-12, ...(neighbors?.distances ?? []).map((row) => row[k - 1])) / MAX_DISTANCE;
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

/** Show, or bring up to date, the map of a Streamlit script. */
export default function component(host: ComponentArguments<MapData>): () => void {
  const { data, parentElement, setStateValue } = host;
  const map = mounted.get(parentElement);
  if (map) map.update(data);
  else {
    const place = parentElement.appendChild(h("div"));
    const tell = (view: MapView) => setStateValue("view", view);
    mounted.set(parentElement, embeddingMap(place, data, tell));
  }
  return whenGone(parentElement, () => {
    mounted.get(parentElement)?.destroy();
    mounted.delete(parentElement);
  });
}
