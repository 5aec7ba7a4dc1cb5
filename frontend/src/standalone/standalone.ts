// @ts-nocheck
// The page of an exported run: map, inspector, readouts and curve as in the app, fed from the file instead of a server.
import renderCurve from "../panels/loss_curve/lossCurve.ts";
import renderInspector from "../panels/inspector/inspector.ts";
import renderMap from "../map/control/main.ts";
import renderReadouts from "../panels/scores/scores.ts";
import { stream } from "../lib/eventStream.ts";
import { bytesOf, neighboursOf, numbers } from "./neighborData.ts";

const HINT = "Click a point of the map: its nearest test images in the embedding appear here, with their distances.";

const kept = JSON.parse(document.getElementById("kept").textContent);
const near = { ...kept.near, items: numbers(kept.near.items, kept.near.wide), distances: numbers(kept.near.distances, "<u2") };
const labels = numbers(kept.labels, "<u2");
const pictures = kept.sprites.pngs.map((png) => URL.createObjectURL(new Blob([bytesOf(png)], { type: "image/png" })));
const sprites = { ...kept.sprites, pngs: undefined, urls: pictures };
let pinned = null;

/** A place of its own for a component. */
const host = (name) => document.getElementById(name).attachShadow({ mode: "open" });

const hosts = Object.fromEntries(["map", "inspector", "readouts", "curve"].map((name) => [name, host(name)]));

function pin(item) {
  pinned = Number.isInteger(item) ? item : null;
  show();
}

/** Bring everything up to date, as the server does after a click. */
function show() {
  const found = pinned === null ? [] : neighboursOf(near, pinned);
  const source = { run: kept.run, view: kept.view, begun: null, events_url: null };
  renderMap({
    parentElement: hosts.map,
    name: "saved",
    data: {
      ...source,
      dataset: kept.dataset,
      classes: kept.classes,
      n: kept.n,
      labels: Array.from(labels),
      watched: kept.watched,
      nearest_url: nearest,
      sprites,
      autoplay: true,
      pinned,
      neighbours: found.map(([item]) => item),
      distance: found[0]?.[1],
    },
    setStateValue: (name, value) => name === "pinned" && pin(value),
    setTriggerValue: () => {},
  });
  renderInspector({
    parentElement: hosts.inspector,
    data: pinned === null ? { placeholder: HINT } : {
      run: kept.run,
      classes: kept.classes,
      sprites,
      subject: { item: pinned, label: labels[pinned] },
      near: found.map(([item, distance]) => [item, labels[item], distance]),
      among: kept.n,
    },
    setTriggerValue: (name, value) => name === "pin" && pin(value),
  });
  renderReadouts({ parentElement: hosts.readouts, data: source, setStateValue: () => {}, setTriggerValue: () => {} });
  renderCurve({ parentElement: hosts.curve, data: source, setStateValue: () => {}, setTriggerValue: () => {} });
}

/** The nearest of each, as the map takes it: int32 items, then float32 distances. */
function nearestBytes() {
  const items = new Int32Array(kept.n);
  const distances = new Float32Array(kept.n);
  for (let i = 0; i < kept.n; i++) [items[i], distances[i]] = neighboursOf(near, i)[0] ?? [i, 0];
  return new Blob([items, distances]);
}

const nearest = near.k ? URL.createObjectURL(nearestBytes()) : undefined;
for (const { pid, events, frames } of kept.streams) stream.feed({ run: kept.run, pid, events, frames });
show();
globalThis.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
