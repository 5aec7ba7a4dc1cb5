// The page of an exported run: map, inspector, scores and curve as in the app, fed from the file instead of a server.
import type { RunEvent } from "../protocol.ts";
import { decodeBase64 } from "../lib/base64.ts";
import { stream } from "../lib/eventStream.ts";
import renderMap from "../map/control/main.ts";
import renderInspector from "../panels/inspector/inspector.ts";
import renderLossCurve from "../panels/loss_curve/lossCurve.ts";
import renderScores from "../panels/scores/scores.ts";
import { neighborsOf, unpackNumbers, type NeighborTable, type NumberKind } from "./neighborData.ts";

/** What dmlviz/export/page.py puts into the page; arrays are base64 of little-endian numbers. */
interface PageData {
  run: string;
  view: string;
  dataset: string;
  classes: string[];
  n: number;
  labels: string;
  tracked: number[];
  near: { k: number; wide: NumberKind; items: string; distances: string; unit: number };
  sprites: { pngs: string[]; tile: number };
  streams: { pid: string | null; events: RunEvent[]; frames: Record<string, string> }[];
}

const HINT = "Click a point to see its nearest neighbors in the embedding.";
const NAMES = ["map", "inspector", "scores", "loss_curve"] as const;

const pageData = JSON.parse(document.getElementById("kept")?.textContent ?? "") as PageData;
const { run, view, classes, n } = pageData;
const near: NeighborTable = {
  ...pageData.near,
  items: unpackNumbers(pageData.near.items, pageData.near.wide),
  distances: unpackNumbers(pageData.near.distances, "<u2"),
};
const labels = unpackNumbers(pageData.labels, "<u2");
const urls = pageData.sprites.pngs.map((png) =>
  URL.createObjectURL(new Blob([decodeBase64(png)], { type: "image/png" })),
);
const sprites = { urls, tile: pageData.sprites.tile };
let pinned: number | null = null;

/** A place of its own for each component. */
const hosts = Object.fromEntries(
  NAMES.map((name) => {
    const node = document.getElementById(name);
    if (!node) throw new Error(`the page has no place for ${name}`);
    return [name, node.attachShadow({ mode: "open" })];
  }),
) as Record<(typeof NAMES)[number], ShadowRoot>;

const deaf = { setStateValue: () => {}, setTriggerValue: () => {} };

function pin(item: unknown): void {
  pinned = Number.isInteger(item) ? (item as number) : null;
  show();
}

/** Bring everything up to date, as the server does after a click. */
function show(): void {
  const found = pinned === null ? [] : neighborsOf(near, pinned);
  const source = { run, view, begun: null, events_url: null };
  renderMap({
    parentElement: hosts.map,
    name: "saved",
    data: {
      ...source,
      dataset: pageData.dataset,
      classes,
      n,
      labels: Array.from(labels),
      tracked: pageData.tracked,
      nearest_url: nearestUrl,
      sprites,
      autoplay: true,
      pinned,
      neighbors: found.map(([item]) => item),
      distance: found[0]?.[1],
    },
    ...deaf,
    setStateValue: (name, value) => {
      if (name === "pinned") pin(value);
    },
  });
  renderInspector({
    parentElement: hosts.inspector,
    data:
      pinned === null
        ? { placeholder: HINT }
        : {
            run,
            classes: Object.fromEntries(classes.map((name, label) => [label, name])),
            sprites,
            subject: { item: pinned, label: labels[pinned] },
            near: found.map(([item, distance]) => [item, labels[item], distance]),
            among: n,
          },
    ...deaf,
    setTriggerValue: (name, value) => {
      if (name === "pin") pin(value);
    },
  });
  renderScores({ parentElement: hosts.scores, data: source, ...deaf });
  renderLossCurve({ parentElement: hosts.loss_curve, data: source, ...deaf });
}

/** The nearest of each, as the map takes it: int32 items, then float32 distances. */
function nearestBytes(): Blob {
  const items = new Int32Array(n);
  const distances = new Float32Array(n);
  for (let i = 0; i < n; i++) [items[i], distances[i]] = neighborsOf(near, i)[0] ?? [i, 0];
  return new Blob([items, distances]);
}

const nearestUrl = near.k ? URL.createObjectURL(nearestBytes()) : undefined;
for (const { pid, events, frames } of pageData.streams) stream.feed({ run, pid, events, frames });
show();
globalThis.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
