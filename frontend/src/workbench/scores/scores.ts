// The scores of the shown step: value, change since the untrained net, course. Driven by the run's events alone.
import { heeding } from "../../lib/boundary.ts";
import type { Nouns, Source } from "../../protocol.ts";
import { onAnimationFrame, RunSubscription } from "../../charts/runSubscription.ts";
import { bus, type BusEvents } from "../../lib/bus.ts";
import { h, setData, textButton } from "../../lib/dom.ts";
import { messageOf } from "../../lib/format.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { failingItems, fetchPerImage, isTestable, type PerImage } from "../../lib/perImage.ts";
import {
  captionAt,
  emptyScores,
  isFinal,
  reasonAt,
  reduceScores,
  SCORES,
  scoreInWords,
  scoresAt,
  shortCaptionAt,
  stepAt,
  type ScoreState,
} from "./scoreState.ts";
import { pageStore, type ViewStore } from "../store.ts";
import { ScoreTile } from "./scoreTile.ts";
import style from "./scores.css";
import { ROUTES, fetchServer } from "../../lib/server.ts";

const HEADLINE = ["precision_at_1", "map_at_r"]; // shown in the full screen of the map
const ONE_ROW = 7; // tiles; where there are more and little room, two rows of equal length are drawn
const SETTLED_MS = 160; // on one frame until the images that fail there are looked up

export default function ({
  parentElement,
  data,
  store = pageStore,
}: ComponentArguments<Source & Nouns> & { store?: ViewStore }) {
  return mount(
    parentElement,
    style,
    (parent) => new Scores(parent, data, store),
    (scores) => scores.update(data),
  );
}

class Scores {
  private readonly heed = heeding();
  private tiles = SCORES.map(
    ({ label, key }) => new ScoreTile(label, key, isTestable(key) ? () => this.choose(key) : null),
  );
  private words = h("p", { class: "words", role: "status" });
  private shortCaption = h("summary");
  private caption = h("span");
  private about = h("details", "about", this.shortCaption, h("p", null, this.caption));
  private key = h("span", "key", h("i", "base"), " untrained ", h("i", "pixels"), " pixels");
  private byClass = textButton(
    "By class",
    () => bus.emit("open-detail", { run: this.source.run, what: "classes" }),
    "Scores by class and confusion matrix",
  );
  private row = h(
    "div",
    { class: "row", pointerenter: () => this.heed(this.judge().catch(() => {})) },
    ...this.tiles.map((tile) => tile.node),
  );
  private all = h("details", "all", h("summary", "link", "All scores"));
  private root = h(
    "section",
    { class: "scores", "aria-label": "Scores" },
    this.row,
    h("div", "said", this.words, this.about, h("div", "foot", this.all, this.byClass, this.key)),
  );
  private draw = onAnimationFrame(() => this.render());
  private readings: ScoreState = emptyScores();
  private step: number | null = null; // of the shown frame; null at the end
  private note = ""; // what came of a click, until the next
  private active: string | null = null; // the score whose failures are selected
  private reason: string | null = null; // of that selection
  private isAsked = false; // for the pixels' scores
  private settling: ReturnType<typeof setTimeout> | undefined;
  private subscription: RunSubscription;
  private offs: (() => void)[];

  constructor(
    parent: ParentNode,
    private source: Source & Nouns,
    store: ViewStore,
  ) {
    parent.append(this.root);
    this.subscription = new RunSubscription(
      () => {
        this.readings = emptyScores(this.source.noun);
        this.step = null;
        this.active = null;
        this.isAsked = false;
        this.draw();
      },
      (event) => {
        if (event.event === "snapshot") this.fetchPixels();
        if (reduceScores(this.readings, event)) this.draw();
      },
    );
    this.offs = [
      store.keepOpen(this.all, "scores"),
      store.keepOpen(this.about, "caption"),
      bus.on("frame", (detail) => this.onFrame(detail)),
      bus.on("selection", (selection) => {
        if (this.active && selection?.reason !== this.reason) this.active = null; // something else is selected now
        this.draw();
      }),
    ];
  }

  update(source: Source & Nouns): void {
    this.source = source;
    this.readings.noun = source.noun;
    this.subscription.subscribe({ run: source.run, begun: source.begun, events_url: source.events_url });
    this.draw();
  }

  private onFrame({ run, view, step, index, count, playing }: BusEvents["frame"]): void {
    if (run !== this.source.run) return;
    // A projection draws the embeddings of the end.
    this.step = view !== "live" || index === count - 1 ? null : step;
    this.note = "";
    this.draw();
    clearTimeout(this.settling);
    if (!playing)
      this.settling = setTimeout(() => this.active && this.heed(this.select(this.active, true)), SETTLED_MS);
  }

  private choose(key: string): void {
    this.note = "";
    if (this.active === key) {
      this.active = null;
      bus.emit("select", { run: this.source.run, items: [], reason: null });
    } else this.heed(this.select(key));
    this.draw();
  }

  /** Select the images that fail a score at the shown step, and say what that means; `follows`: the step is another one. */
  private async select(key: string, follows = false): Promise<void> {
    const {
      readings,
      step,
      source: { run, noun = "image" },
    } = this;
    this.active = key;
    if (!follows) this.note = `Finding the ${noun}s that fail …`;
    try {
      const { items, words } = failingItems(await this.judge(), key);
      if (this.active !== key || this.step !== step) return;
      this.reason = reasonAt(readings, step, words);
      bus.emit("select", { run, items, reason: this.reason, follows });
      this.note = items.length ? "" : `No ${SCORES.find((score) => score.key === key)?.label} errors at this step`;
    } catch (error) {
      this.active = null;
      this.note = messageOf(error);
    }
    this.draw();
  }

  /** Ask which items fail: seconds where there are many, so it begins with the pointer on its way to a score. */
  private async judge(): Promise<PerImage> {
    const { run, begun } = this.source;
    const at = isFinal(this.readings, this.step) ? null : stepAt(this.readings, this.step);
    return fetchPerImage(run, begun, at);
  }

  // Before anything is learned there are the pixels themselves: measured once a data set, and on the same images.
  private fetchPixels(): void {
    const { run, begun } = this.source;
    if (this.isAsked) return;
    this.isAsked = true;
    const { name } = this.subscription;
    fetchServer(`${ROUTES}/runs/${run}/baseline.json?v=${begun}`)
      .then((response) => (response.ok ? (response.json() as Promise<Record<string, number>>) : null))
      .then((pixels) => {
        if (name !== this.subscription.name) return;
        this.readings.pixels = pixels;
        this.draw();
      })
      .catch(() => {}); // the marks are left out
  }

  private render(): void {
    const { readings, step, source } = this;
    const scores = scoresAt(readings, step);
    const at = stepAt(readings, step);
    const clickable = at !== null;
    scores.forEach((score, i) => this.tiles[i].show(score, at, { clickable, active: score.key === this.active }));
    this.row.classList.toggle("many", scores.filter(({ absent }) => !absent).length > ONE_ROW);
    const caption = this.note || captionAt(readings, step);
    this.words.textContent = scoreInWords(readings, step);
    this.words.hidden = !this.words.textContent;
    this.caption.textContent = this.shortCaption.title = caption;
    this.shortCaption.textContent = this.note || shortCaptionAt(readings, step);
    const spoken = HEADLINE.flatMap((key) => scores.filter((score) => score.key === key && score.value !== null));
    bus.emit("scored", {
      run: source.run,
      scores: spoken.map(({ label, value }) => `${label} ${value?.toFixed(3)}`).join("  "),
      note: shortCaptionAt(readings, step),
    });
    this.key.hidden = readings.pixels === null;
    this.byClass.hidden = !clickable;
    setData(this.root, {
      ready: true,
      run: source.run,
      step: at ?? "",
      readings: readings.series.length,
      active: this.active ?? "",
    });
  }

  destroy(): void {
    clearTimeout(this.settling);
    this.offs.forEach((off) => off());
    this.subscription.unsubscribe();
    this.draw.cancel();
    this.root.remove();
  }
}
