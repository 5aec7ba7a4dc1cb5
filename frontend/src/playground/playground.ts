// A page that trains in this tab: settings above the workbench, and everything that the workbench does on what is trained.
import type { Drawing, LayoutSetting, OcclusionMaps, RunEvent } from "../protocol.ts";
import { decodeBase64, encodeBase64 } from "../lib/base64.ts";
import { placeAmid } from "../standalone/nearest.ts";
import { h } from "../lib/dom.ts";
import { grouped } from "../lib/format.ts";
import { drawnImage } from "../standalone/drawnImage.ts";
import type { Answer } from "../standalone/queryNet.ts";
import { RunPage, type RunContents } from "../standalone/runPage.ts";
import renderPad from "../workbench/query_pad/queryPad.tsx";
import { TRACKED, type Settings } from "./contents.ts";
import { keptRun, type KeptRun } from "./keep.ts";
import style from "./playground.css";
import { readSettings, selectOf, settingsForm, writeSettings } from "./settings.ts";
import { METHODS, type Method } from "./tabLayout.ts";
import { TabSource, type Opened } from "./tabSource.ts";

interface Kept {
  datasets: Record<string, string>;
  losses: string;
  /** Further trainings by name, with their data sets. */
  tasks?: Record<string, string>;
  /** The folder of the scripts. */
  root: string;
  /** The settings of each method that draws maps in this tab. */
  layouts: Record<string, LayoutSetting[]>;
}

const HINT = "Draw; this page embeds it and finds its neighbors.";
const kept = JSON.parse(document.getElementById("kept")?.textContent ?? "") as Kept;
const place = document.getElementById("playground");
if (!place) throw new Error("the page has no place for the training");

const train = h("button", { class: "train", disabled: true }, "Train");
const keep = h("button", { hidden: true, title: "A file for `dmlviz runs import`" }, "Keep");
const status = h("p", { class: "status", role: "status" }, "Loading …");
const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
const controls = h("div", "controls");
const comparing = h("input", { type: "checkbox", change: () => compare() });
const compared = h("label", { class: "compare", hidden: true }, comparing, "Compare with the run before");
const root = place.attachShadow({ mode: "open" });
const below = h("div");
root.append(h("style", null, style), h("div", "settings", controls, train, keep, status, compared), trouble, below);

let opened: Opened;
let settings: Settings;
let ran: Settings; // of the run on the page: the form may say something else already
let page: RunPage | null = null;
/** The run before, on the same images. */
let last: { run: string; begun: string; title: string } | null = null;
let running = false;
let steps = 0;
let score = "";
let untrained = false; // whether the run on the page waits for the click
let changed = false;
let away = false; // whether the tab was in the background meanwhile
let begun = ""; // when the training began
let shown = ""; // since when the run has been on the page
let answer: Answer | null = null;
let asked: Uint8Array | null = null; // the drawing that it is about: asked again at each snapshot

const tab = new TabSource(`${kept.root}playground_worker.js`, {
  news(events, ended) {
    report(events, ended);
    if (ended) end();
  },
  trouble: complain,
  drawn: show,
});

function complain(sentence: string): void {
  trouble.textContent = sentence;
  trouble.hidden = !sentence;
  if (sentence) end();
}

/** Load a data set and show its settings; those of before stay where the page has them. */
async function open(dataset: string): Promise<void> {
  train.disabled = true;
  status.textContent = `Loading ${kept.datasets[dataset]} …`;
  opened = await tab.open(`${dataset}.bin`, kept.losses);
  const read = readSettings(new URLSearchParams(location.search), opened);
  settings = read.settings;
  if (!page && read.map in METHODS) tab.draw(read.map as Method);
  complain(read.trouble);
  train.disabled = false;
  const plain = opened.simd ? "" : " It has no vector instructions of WebAssembly here: that takes longer.";
  status.textContent = `This page trains in your browser, on ${grouped(opened.data.labels.train.length)} ${noun()}s.${plain}`;
  showForm();
  prepare();
}

const noun = (): string => (opened.data.framing.point ? "point" : "image");

function showForm(): void {
  const maps: [string, string][] = [["live", "Linear view"], ...Object.entries(METHODS)];
  const map = selectOf("Map", maps, tab.layout?.method ?? "live", chooseMap);
  const form = settingsForm(opened, kept.datasets, settings, change);
  form.append(map);
  controls.replaceChildren(form);
}

/** Show another map of this training, and of the next ones. */
function chooseMap(name: string): void {
  tab.draw(name in METHODS ? (name as Method) : null);
  const query = new URLSearchParams(location.search);
  query.set("map", name);
  history.replaceState(history.state, "", `${location.pathname}?${query}${location.hash}`);
  page?.take(contentsNow());
  show();
}

function change(next: Settings, dataset = opened.data.dataset): void {
  const other = dataset !== opened.data.dataset || next.net !== settings.net;
  settings = next;
  writeSettings(settings, dataset, opened);
  if (running && other) tab.stop();
  else if (running) {
    [changed, ran] = [true, settings];
    tab.change(settings);
    show();
  }
  if (dataset !== opened.data.dataset) last = null;
  if (dataset !== opened.data.dataset) return void open(dataset).catch(() => {});
  showForm();
  if (untrained) prepare();
}

/** Show the untrained net, so that a click on Train finds all in place; a trained one becomes the run before. */
function prepare(): void {
  const trained = page && !untrained && steps > 0;
  if (trained && last?.run !== tab.run) last = { run: tab.run, begun: shown, title: titleNow() };
  [untrained, answer, asked, steps, ran] = [true, null, null, 0, settings];
  shown = new Date().toISOString();
  begun = new Date().toISOString();
  tab.prepare(settings, Boolean(trained));
  const contents = contentsNow();
  if (page) page.take(contents);
  else {
    page = new RunPage(below, contents, {
      addressed: true,
      source: tab,
      further: { pad: renderDrawingPad },
      pad: HINT,
      get parts() {
        return running || opened.data.framing.point ? undefined : partsOf; // the net changes meanwhile; a point has none
      },
      onSettings: (values) => {
        tab.set(values);
        page?.take(contentsNow());
        show();
      },
    });
    page.store.subscribe((change) => {
      if (change.has("pinned") && page?.store.state.pinned !== null) forgetAnswer();
    });
  }
  keep.hidden = true;
  compared.hidden = !last;
  show();
}

/** The run of now on the map of now. */
function contentsNow(): RunContents {
  const { data } = opened;
  const { layout } = tab;
  const objective = objectiveOf(ran);
  return {
    run: tab.run,
    view: layout?.pid ?? "live",
    layouts: kept.layouts,
    ...(!layout && objective?.picture && { picture: objective.picture }),
    ...(layout && {
      settings: kept.layouts[layout.method]?.map((one) => ({
        ...one,
        value: tab.settings[one.name as keyof typeof tab.settings],
      })),
    }),
    ...(layout && { picture: { method: layout.method, title: METHODS[layout.method] }, follows: true }),
    begun: shown,
    dataset: data.dataset,
    classes: data.classes,
    n: data.labels.test.length,
    labels: new Uint8Array(Uint16Array.from(data.labels.test).buffer),
    tracked: Array.from(data.labels.test.subarray(0, TRACKED).keys()),
    near: null,
    ...(data.framing.point && { noun: "point" }),
    sprites: { pngs: data.sprites.pngs.map(encodeBase64), tile: data.sprites.tile },
    plain: false,
    streams: [],
  };
}

const objectiveOf = ({ loss, miner }: Settings) =>
  opened.losses.objectives.find((one) => one.loss === loss && one.miner === miner);

/** The loss and the miner of now, and how far they came. */
function titleNow(): string {
  const { miner } = ran;
  const found = objectiveOf(ran);
  const name = [found?.loss_title ?? ran.loss, ...(miner ? [found?.miner_title] : [])].join(", ");
  return untrained || running || !steps ? name : `${name}: P@1 ${score} after ${grouped(steps)} steps`;
}

function show(): void {
  const placed = answer && tab.layout ? { ...answer, xy: placeAmid(answer.near, tab.layout.positions) } : answer;
  page?.show(placed, "", last && comparing.checked ? { ...last, titles: [titleNow(), last.title] } : null);
}

function compare(): void {
  const query = new URLSearchParams(location.search);
  if (comparing.checked) query.set("compare", "1");
  else query.delete("compare");
  history.replaceState(history.state, "", `${location.pathname}?${query}${location.hash}`);
  show();
}

function start(): void {
  complain("");
  writeSettings(settings, opened.data.dataset, opened);
  if (!untrained) prepare();
  [running, changed, untrained, away, begun] = [true, false, false, false, new Date().toISOString()];
  show();
  tab.train(settings);
  train.textContent = "Stop";
}

const renderDrawingPad = ({ parentElement, key }: { parentElement: HTMLElement | ShadowRoot; key?: string }) =>
  renderPad({
    parentElement,
    key,
    data: { hint: HINT, point: opened.data.framing.point },
    setStateValue: (_name, value) => void draw(value as Drawing | null),
    setTriggerValue: () => {},
  });

function forgetAnswer(): void {
  asked = null;
  if (!answer) return;
  answer = null;
  show();
}

async function draw(drawing: Drawing | null): Promise<void> {
  answer = null;
  const { framing } = opened.data;
  asked = drawing && drawnImage(decodeBase64(drawing.ink), drawing.side, framing);
  if (await ask()) page?.store.set({ pinned: null });
  show();
}

/** Ask the net of now about the drawing; returns whether it has answered, and nothing else was drawn meanwhile. */
async function ask(): Promise<boolean> {
  const image = asked;
  const found = image && (await tab.ask<Pick<Answer, "embedding" | "near" | "xy">>({ do: "ask", image }));
  if (!found || image !== asked) return false;
  answer = { image, side: opened.data.framing.size, ...found };
  return true;
}

async function partsOf(pair: Uint8Array[]): Promise<OcclusionMaps> {
  const found = await tab.ask<OcclusionMaps>({ do: "parts", pair });
  if (!found) throw new Error("There is no net now: train one.");
  return found;
}

function report(events: RunEvent[], ended: boolean): void {
  if (answer && (ended || events.some(({ event }) => event === "snapshot"))) void ask().then((is) => is && show());
  for (const event of events) {
    if (event.event === "step") steps = event.step;
    if (event.event === "snapshot") score = (event.metrics.precision_at_1 ?? 0).toFixed(3);
    if ("validation_metrics" in event) score = (event.validation_metrics?.precision_at_1 ?? 0).toFixed(3);
    if (event.event === "failed") return complain(event.reason);
  }
  if (untrained) return;
  const where = ended ? "Trained in this tab" : "Trains in this tab";
  away ||= document.hidden;
  const hidden = away && ended ? " It went on while this tab was in the background." : "";
  status.textContent = `${where}: step ${grouped(steps)} of ${grouped(ran.steps)}, P@1 ${score} on ${grouped(opened.data.labels.validation.length)} validation ${noun()}s.${hidden}`;
}

function end(): void {
  if (!running) return;
  running = false;
  train.textContent = "Train";
  const how = tab.events.at(-1)?.event;
  keep.hidden = how !== "finished" && how !== "stopped";
  show();
}

async function save(): Promise<void> {
  const known = await tab.ask<Pick<KeptRun, "weights" | "snapshots" | "basis">>({ do: "keep" });
  if (!known) return;
  const objective = objectiveOf(ran);
  const { dataset, max_train_images, title } = opened.data;
  const schedule = ran.decay_epochs ? { schedule: "step" } : { decay_epochs: 0 };
  const chosen = { ...ran, ...schedule, dataset, max_train_images };
  try {
    const file = await keptRun(
      {
        ...known,
        id: tab.run,
        title: `${objective?.loss_title} on ${title}, from a tab`,
        tags: changed ? ["settings changed"] : [],
        config: { ...opened.losses.config, ...objective?.settings, ...chosen },
        created: begun,
        events: tab.events,
        frames: tab.frames,
      },
      opened.data,
    );
    const link = h("a", { href: URL.createObjectURL(new Blob([file])), download: `${ran.loss}-${dataset}.zip` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } catch (error) {
    complain((error as Error).message);
  }
}

train.addEventListener("click", () => (running ? tab.stop() : start()));
keep.addEventListener("click", () => void save());
globalThis.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
if (kept.root && "serviceWorker" in navigator)
  navigator.serviceWorker.register(`${kept.root}service_worker.js`).catch(() => {});

const query = new URLSearchParams(location.search);
comparing.checked = query.get("compare") === "1";
const task = query.get("task") ?? "";
const dataset = kept.tasks?.[task];
if (dataset) [kept.losses, kept.datasets] = [`${task}.bin`, { [dataset]: kept.datasets[dataset] }];
const wanted = query.get("data") ?? "";
const first = wanted in kept.datasets ? wanted : Object.keys(kept.datasets)[0];
await open(first).catch(() => {});
if (wanted && wanted !== first && trouble.hidden)
  complain(
    `The address asks for the images “${wanted.slice(0, 40)}”, which this page does not have; it takes ${kept.datasets[first]}.`,
  );
