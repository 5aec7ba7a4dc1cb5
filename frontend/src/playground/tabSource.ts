// A run that trains in this tab: its worker, its events, and the answers that a server would give.
import type { ItemNeighbors, RunEvent } from "../protocol.ts";
import { stream } from "../lib/eventStream.ts";
import { answerInPlace, type RunSource } from "../lib/server.ts";
import type { Settings } from "./contents.ts";
import { nearestRows } from "../standalone/nearest.ts";
import type { LayoutSettings } from "../projection/live.ts";
import { pointsToMove } from "../standalone/runPage.ts";
import { TabLayout, USUAL, type Method, type Snapshots } from "./tabLayout.ts";
import type { Order, Word } from "./worker.ts";

const K = 10;
const ELSEWHERE = "A training in this tab does not know this.";

export type Opened = Extract<Word, { says: "opened" }>;

interface Listener {
  news(events: RunEvent[], ended: boolean): void;
  trouble(sentence: string): void;
  /** The map of all test images is there. */
  drawn(): void;
}

export class TabSource implements RunSource {
  run = "";
  opened: Opened | null = null;
  events: RunEvent[] = [];
  frames = new Map<string, Uint8Array>();
  private worker: Worker;
  /** The map of now, where that is not the linear view of the training itself. */
  layout: TabLayout | null = null;
  /** Of maps, where a person has changed them. */
  readonly settings: Omit<LayoutSettings, "method"> = { ...USUAL };
  /** Embeddings of the test images at each snapshot. */
  private snapshots: Snapshots = { run: "", steps: 0, kept: [], ended: false };
  private waitingForRows: (() => void)[] = [];
  private asked = 0;
  private waiting = new Map<number, (answer: unknown) => void>();
  private leave = () => {};
  private leaveBefore = () => {};
  private opening: { resolve: (opened: Opened) => void; reject: (error: Error) => void } | null = null;

  constructor(
    private script: string,
    private listener: Listener,
  ) {
    this.worker = new Worker(script, { type: "module" });
    this.worker.onmessage = ({ data }: MessageEvent<Word>) => this.hear(data);
    this.worker.onerror = (error) => {
      error.preventDefault();
      listener.trouble("The part of this page that trains could not be loaded; reload the page.");
    };
  }

  /** Load a data set, and the losses. */
  async open(data: string, losses: string): Promise<Opened> {
    const here = (file: string) => new URL(file, location.href).href; // a worker has an address of its own
    this.tell({ do: "open", data: here(data), losses: here(losses) });
    const opened = await new Promise<Opened>((resolve, reject) => (this.opening = { resolve, reject }));
    this.opened = opened;
    return opened;
  }

  /** Begin a run with its untrained net; its events come to the page's stream. With `keep`, that of now answers on. */
  prepare(settings: Settings, keep = false): string {
    this.leave();
    const { run } = this;
    const { kept } = this.snapshots;
    if (keep) this.leaveBefore();
    if (keep) this.leaveBefore = answerInPlace(run, { fetch: (path) => Promise.resolve(this.neighbors(path, kept)) });
    this.run = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join(
      "",
    );
    this.events = [];
    this.frames = new Map();
    this.snapshots = { run: this.run, steps: settings.steps, kept: [], ended: false };
    this.draw(this.layout?.method ?? null);
    this.leave = answerInPlace(this.run, this);
    this.tell({ do: "prepare", run: this.run, settings });
    return this.run;
  }

  train = (settings: Settings): void => {
    this.snapshots.steps = settings.steps;
    this.tell({ do: "train", settings });
  };
  change = (settings: Settings): void => this.tell({ do: "change", settings });
  stop = (): void => this.tell({ do: "stop" });

  /** Draw the snapshots by a method, those so far and those to come; null: only the linear view of the training. */
  draw(method: Method | null): void {
    const { curvature } = this;
    this.layout?.stop();
    this.layout =
      method && new TabLayout(this.script, this.snapshots, { ...this.settings, method, curvature }, this.listener);
  }

  /** Go on from the map of now with other settings, which stay for the next ones. */
  set(values: Partial<LayoutSettings>): void {
    const { layout, curvature } = this;
    if (!layout) return;
    Object.assign(this.settings, values);
    const settings = { ...this.settings, method: layout.method, curvature };
    layout.stop();
    this.layout = new TabLayout(this.script, this.snapshots, settings, this.listener, layout.positions);
  }

  /** What the worker answers to a question. */
  ask<Answer>(
    question: { do: "ask"; image: Uint8Array } | { do: "parts"; pair: Uint8Array[] } | { do: "keep" },
  ): Promise<Answer | null> {
    const id = ++this.asked;
    this.tell({ ...question, id, k: K } as Order);
    return new Promise((resolve) => this.waiting.set(id, resolve as (answer: unknown) => void));
  }

  async fetch(path: string): Promise<Response> {
    if (!this.snapshots.kept.length) await new Promise<void>((resolve) => this.waitingForRows.push(resolve));
    return this.neighbors(path, this.snapshots.kept);
  }

  /** Of the step that the map shows, where it does not show the newest. */
  private neighbors(path: string, kept: Snapshots["kept"]): Response {
    const item = Number(/^neighbors\/(\d+)\.json/.exec(path)?.[1] ?? NaN);
    const asked = /[?&]step=(\d+)/.exec(path);
    const { step, rows, d } = kept.findLast((one) => !asked || one.step <= Number(asked[1])) ?? kept[0];
    if (path.startsWith("moved/")) return pointsToMove(rows, d, this.curvature);
    const labels = this.opened?.data.labels.test;
    if (!labels || !(item < rows.length / d)) return Response.json({ error: ELSEWHERE }, { status: 404 });
    const near = nearestRows(rows, rows.slice(item * d, (item + 1) * d), K, item, this.curvature);
    const answer: ItemNeighbors = {
      item,
      label: labels[item],
      near: near.map(([other, distance]) => [other, labels[other], distance]),
      classes: Object.fromEntries((this.opened?.data.classes ?? []).entries()),
      ...(asked && { step }),
    };
    return Response.json(answer);
  }

  /** Of the ball that all trainings of this page lie in; 0 for none. */
  get curvature(): number {
    return this.opened?.losses.objectives[0].curvature ?? 0;
  }

  private tell = (order: Order): void => this.worker.postMessage(order);

  private hear(word: Word): void {
    switch (word.says) {
      case "opened":
        return this.opening?.resolve(word);
      case "trouble":
        this.opening?.reject(new Error(word.sentence));
        return this.listener.trouble(word.sentence);
      case "answer":
        this.waiting.get(word.id)?.(word.answer);
        return void this.waiting.delete(word.id);
      case "news": {
        if (word.run !== this.run) return; // of a training that another has replaced
        const { events, frames, embeddings, d = 1, ended } = word;
        if (embeddings) {
          const step = events.reduce((last, event) => ("step" in event && event.step ? event.step : last), 0);
          this.snapshots.kept.push({ step, rows: embeddings, d });
          this.snapshots.ended = ended;
          this.layout?.turn();
          for (const go of this.waitingForRows.splice(0)) go();
        }
        for (const [id, bytes] of Object.entries(frames)) this.frames.set(id, bytes);
        const from = this.events.length;
        for (const event of events) this.events.push(event);
        stream.feed({ run: this.run, events, frames, from });
        if (ended) stream.feed({ run: this.run, events: [{ event: "end" }], frames: {}, from: from + events.length });
        this.listener.news(events, ended);
      }
    }
  }
}
