// The page of an exported run: map, inspector, scores and curve as in the app, fed from the file instead of a server.
import type { Drawing, InspectorProps, RunEvent } from "../protocol.ts";
import { decodeBase64, encodeBase64 } from "../lib/base64.ts";
import { stream } from "../lib/eventStream.ts";
import renderMap from "../map/control/main.ts";
import renderInspector from "../panels/inspector/inspector.ts";
import renderLossCurve from "../panels/loss_curve/lossCurve.ts";
import renderScores from "../panels/scores/scores.ts";
import renderPad from "../panels/query_pad/queryPad.ts";
import { drawnImage } from "./drawnImage.ts";
import { neighborsOf, unpackNumbers, type NeighborTable, type NumberKind } from "./neighborData.ts";
import { QueryNet, type Answer, type QueryNetData } from "./queryNet.ts";

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
  sprites: { pngs?: string[]; urls?: string[]; tile: number };
  query?: QueryNetData;
  streams: { pid: string | null; events: RunEvent[]; frames: Record<string, string> }[];
}

const HINT = "Click a point to see its nearest neighbors in the embedding.";
const PAD_HINT = "Draw; this page embeds it and finds its neighbors.";
const K = 10;
const NAMES = ["map", "inspector", "scores", "loss_curve"] as const;

const pageData = JSON.parse(document.getElementById("kept")?.textContent ?? "") as PageData;
const { run, view, classes, n } = pageData;
const near: NeighborTable = {
  ...pageData.near,
  items: unpackNumbers(pageData.near.items, pageData.near.wide),
  distances: unpackNumbers(pageData.near.distances, "<u2"),
};
const labels = unpackNumbers(pageData.labels, "<u2");
const pngs = (pageData.sprites.pngs ?? []).map((png) =>
  URL.createObjectURL(new Blob([decodeBase64(png)], { type: "image/png" })),
);
const sprites = { urls: pageData.sprites.urls ?? pngs, tile: pageData.sprites.tile };
let pinned: number | null = null;
let answer: Answer | null = null;
let trouble = "";

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
  if (pinned !== null) answer = null;
  show();
}

/** The net, fetched with the first stroke; none where the page brings no net. */
let net: Promise<QueryNet> | null = null;

/** Embed a drawing, or forget the last one. */
async function ask(drawing: Drawing | null): Promise<void> {
  trouble = "";
  answer = null;
  if (drawing && pageData.query) {
    try {
      net ??= QueryNet.load(pageData.query);
      answer = (await net).answer(decodeBase64(drawing.ink), drawing.side, K);
      pinned = null;
    } catch {
      net = null;
      trouble = "The net could not be loaded from this site; reload the page.";
    }
  }
  show();
}

/** Bring everything up to date, as the server does after a click. */
function show(): void {
  const found = pinned === null ? [] : neighborsOf(near, pinned);
  const query = answer?.xy ? { xy: answer.xy, neighbors: answer.near.map(([item]) => item) } : undefined;
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
      query,
    },
    ...deaf,
    setStateValue: (name, value) => {
      if (name === "pinned") pin(value);
    },
  });
  renderInspector({
    parentElement: hosts.inspector,
    data: inspected(found),
    ...deaf,
    setTriggerValue: (name, value) => {
      if (name === "pin") pin(value);
    },
  });
  renderScores({ parentElement: hosts.scores, data: source, ...deaf });
  renderLossCurve({ parentElement: hosts.loss_curve, data: source, ...deaf });
}

/** The pinned image or the drawing, with its neighbors; words where there is neither. */
function inspected(found: [number, number][]): InspectorProps {
  const known = { run, classes: Object.fromEntries(classes.map((name, label) => [label, name])), sprites, among: n };
  const rows = (pairs: [number, number][]): [number, number, number][] =>
    pairs.map(([item, distance]) => [item, labels[item], distance]);
  if (pinned !== null) return { ...known, subject: { item: pinned, label: labels[pinned] }, near: rows(found) };
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

/** The nearest of each, as the map takes it: int32 items, then float32 distances. */
function nearestBytes(): Blob {
  const items = new Int32Array(n);
  const distances = new Float32Array(n);
  for (let i = 0; i < n; i++) [items[i], distances[i]] = neighborsOf(near, i)[0] ?? [i, 0];
  return new Blob([items, distances]);
}

const nearestUrl = near.k ? URL.createObjectURL(nearestBytes()) : undefined;
for (const { pid, events, frames } of pageData.streams) stream.feed({ run, pid, events, frames });
const padHost = document.getElementById("query")?.attachShadow({ mode: "open" });
if (padHost)
  renderPad({
    parentElement: padHost,
    key: run,
    data: { hint: PAD_HINT },
    ...deaf,
    setStateValue: (_name, value) => void ask(value as Drawing | null),
  });
show();
globalThis.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);

/** The page's own net and preparation, for whoever wants to check them. */
export { embed } from "./netProgram.ts";
export const loadNet = (): Promise<QueryNet> | null =>
  pageData.query ? (net ??= QueryNet.load(pageData.query)) : null;
export const prepareDrawing = (ink: Uint8Array, side: number): Uint8Array | null =>
  pageData.query ? drawnImage(ink, side, pageData.query.framing) : null;
