// What the loss sees of one batch: its picture, its distances, what is compared, and one step in slow motion.
import { onAnimationFrame } from "../charts/runSubscription.ts";
import { h, setData } from "../lib/dom.ts";
import { ROUTES, type BatchAnswer, type BatchTerms } from "../protocol.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { classColors } from "../lib/palette.ts";
import { tileStyle } from "../lib/sprites.ts";
import { css, readTheme, type Rgb, type Theme } from "../lib/theme.ts";
import { digits } from "../lib/format.ts";
import { StepSlider } from "./stepSlider.ts";
import { distanceMatrix, parseBatch, type LoadedBatch } from "./batch.ts";
import { DifficultyLegend } from "./difficultyLegend.ts";
import { DistanceMatrix, shades, type Pair } from "./distanceMatrix.ts";
import {
  GRADIENT_MOMENT,
  meanDistances,
  MOMENT_MS,
  MOMENTS,
  momentText,
  UPDATE_MOMENT,
  visible,
  type MeanDistances,
} from "./stepAnimation.ts";
import { JsonCache } from "./jsonCache.ts";
import { BatchCanvas } from "./batchCanvas.ts";
import { DIFFICULTIES, pickLines, type Shown } from "./difficultyStyles.ts";
import { termDetail } from "./termDetail.ts";
import { termValues } from "./lossTerms.ts";

type Themed = Record<"light" | "dark", Rgb>;

export const POSITIVE_COLOR: Themed = { light: [31, 138, 124], dark: [62, 190, 172] };
export const NEGATIVE_COLOR: Themed = { light: [201, 62, 85], dark: [240, 110, 128] };
const MEASURES = { euclidean: "Euclidean distance", sqeuclidean: "squared distance", cosine: "(1 − cosine)" };

export class BatchView {
  private draw = onAnimationFrame(() => this.render());
  private answers = new JsonCache<BatchAnswer>(() => this.draw());
  private termAnswers = new JsonCache<BatchTerms>(() => this.draw());
  private slider = new StepSlider((step) => this.choose(step));
  private canvas = new BatchCanvas({
    onhover: (image, event) => this.hoverImage(image, event),
    onpick: (image) => this.pickImage(image),
    online: (line) => this.pickLine(line),
    onstep: (by) => this.walk(by),
  });
  private matrix = new DistanceMatrix(
    (pair, event) => this.hoverPair(pair, event),
    (pair) => this.pickPair(pair),
  );
  private legend = new DifficultyLegend((shown) => {
    this.shown = shown;
    this.draw();
  });
  private buttons = MOMENTS.map((name, moment) =>
    h("button", { type: "button", click: () => this.setMoment(moment) }, name),
  );
  private play = h("button", { type: "button", class: "play", click: () => this.toggle() }, "Slow motion");
  private words = h("p", { class: "sentence", "aria-live": "polite" });
  private ramp = h("i");
  private most = h("span"); // the greatest distance
  private term = h("div", "term");
  private card = h("div", { class: "card", hidden: true, "aria-hidden": "true" });
  private message = h("p", "message");
  private body: HTMLElement;
  readonly node: HTMLElement;
  private watcher = new ResizeObserver(() => this.draw());

  private run = "";
  private begun: string | null = null;
  private steps: number[] = []; // that have a batch
  private step: number | null = null;
  private byHand = false; // whether a person chose the step
  private over = false;
  private final = false; // whether the picture is that of the end
  private isOpen = false;
  private error: string | null = null;
  private url: string | null = null; // of the batch that is shown
  private batch: LoadedBatch | null = null;
  private means: MeanDistances = { same: 0, different: 0 };

  private moment = GRADIENT_MOMENT;
  private playing = false;
  private since: number | null = null; // when the moment began; null: it is over
  private timer: ReturnType<typeof setTimeout> | undefined;

  private shown: Shown = [true, true, true];
  private of: number[] = []; // images whose comparisons are shown; all where there are none
  private chosen: number | null = null; // comparison
  private hover: number | null = null;
  private pair: Pair | null = null;
  private satisfied = new Map<number, boolean>();
  private shownTerm: string | null = null;

  constructor() {
    const moments = h("div", { class: "moments", role: "group", "aria-label": "Moments of one step" }, ...this.buttons);
    const scale = h("p", { class: "scale" }, "0", this.ramp, this.most);
    const pictures = h(
      "div",
      { class: "pictures" },
      h("div", { class: "box" }, this.canvas.canvas),
      h("div", { class: "box" }, this.matrix.canvas, scale),
    );
    const side = h(
      "div",
      { class: "words" },
      h("div", { class: "player" }, this.play),
      moments,
      this.words,
      this.legend.node,
    );
    this.body = h("div", { class: "body" }, h("div", { class: "top" }, pictures, side), this.term, this.card);
    this.node = h("div", { class: "batch" }, this.slider.node, this.message, this.body);
    this.watcher.observe(this.node);
  }

  reset(): void {
    this.steps = [];
    this.step = null;
    this.batch = null;
    this.url = null;
    this.byHand = this.over = this.final = false;
    this.answers.clear();
    this.termAnswers.clear();
    this.slider.reset();
    this.rest(GRADIENT_MOMENT);
    this.draw();
  }

  follow(run: string, begun: string | null): void {
    this.run = run;
    this.begun = begun;
    this.draw();
  }

  onEvent(event: StreamEvent): void {
    if (event.event === "started") this.reset();
    if (event.event === "batch") {
      this.steps.push(event.step);
      if (!this.byHand && !this.playing) this.step = event.step;
    }
    if (event.event === "replay") this.final = true;
    if (["finished", "stopped", "failed"].includes(event.event)) this.over = true;
    // A run that was over before anybody looked is opened early on, where a step still moves something.
    if (this.over && !this.byHand && !this.isOpen) this.step = this.steps[Math.min(2, this.steps.length - 1)] ?? null;
    if (this.slider.onEvent(event) || event.event !== "snapshot") this.draw();
  }

  open(open: boolean): void {
    this.isOpen = open;
    if (!open) this.rest(this.moment);
    this.draw();
  }

  private choose(step: number): void {
    this.step = step;
    this.byHand = true;
    this.draw();
  }

  private setMoment(moment: number): void {
    this.rest(moment);
    if (moment === UPDATE_MOMENT) this.nextMoment();
    this.draw();
  }

  private toggle(): void {
    if (this.playing) {
      this.setMoment(this.moment);
      return;
    }
    this.moment = this.moment >= UPDATE_MOMENT || this.moment === GRADIENT_MOMENT ? 0 : this.moment;
    this.playing = true;
    this.nextMoment();
  }

  /** Stand still at a moment. */
  private rest(moment: number): void {
    clearTimeout(this.timer);
    this.playing = false;
    this.moment = moment;
    this.since = null;
  }

  /** Let the moment that is shown run from now on, and the next one follow while playing. */
  private nextMoment(): void {
    this.since = performance.now();
    clearTimeout(this.timer);
    if (this.playing) {
      this.timer = setTimeout(() => {
        if (this.moment === UPDATE_MOMENT) {
          this.rest(UPDATE_MOMENT);
          this.draw();
          return;
        }
        this.moment += 1;
        this.nextMoment();
      }, MOMENT_MS);
    }
    this.draw();
  }

  private load(): void {
    if (this.step === null) return;
    const url = `${ROUTES}/runs/${this.run}/batches/${this.step}.json?${this.begun}${this.final ? "" : "-live"}`;
    if (url === this.url) return;
    const answer = this.answers.get(url);
    if (!answer) return;
    this.url = url;
    this.of = [];
    this.hover = this.pair = this.chosen = null;
    this.error = "error" in answer ? answer.error : null;
    this.batch = null;
    if ("error" in answer) return;
    const batch = (this.batch = parseBatch(answer));
    batch.sheet = { ...batch.sheet, urls: batch.sheet.urls.map((sheet) => `${sheet}?${this.begun}`) };
    const distances = distanceMatrix(batch, batch.reach.measure);
    this.means = meanDistances(batch, distances);
    this.matrix.show(batch, distances);
    this.canvas.show(batch);
    this.legend.show(batch);
    this.chosen = mostInformative(batch);
    this.satisfied.clear();
    this.shownTerm = null;
  }

  /** The terms of a loss that the page has no formula with numbers of. */
  private loadTerms(batch: LoadedBatch): void {
    if (batch.terms || batch.formula.text) return;
    const answer = this.termAnswers.get(`${ROUTES}/runs/${this.run}/batches/${batch.step}/terms.json?${this.begun}`);
    if (!answer || "error" in answer) return;
    batch.terms = answer.terms;
    this.chosen = mostInformative(batch);
    this.satisfied.clear();
    this.shownTerm = null;
  }

  private render(): void {
    if (!this.isOpen || this.node.offsetParent === null) return;
    this.load();
    this.slider.render(this.step, this.steps);
    this.node.dataset.step = String(this.step ?? "");
    this.message.textContent =
      this.error ??
      (this.steps.length ? "" : this.over ? "No recorded batches for this run." : "Waiting for the first batch …");
    this.message.hidden = !this.message.textContent;
    this.body.hidden = !this.batch;
    if (!this.batch) return;
    this.loadTerms(this.batch);
    const theme = readTheme(this.node);
    const { batch } = this;
    const elapsed = this.since === null ? Infinity : performance.now() - this.since;
    const look = visible(this.moment, theme.still ? Infinity : elapsed);
    const colors = classColors(batch.classes.length, theme.dark);
    const shade = theme.dark ? "dark" : "light";
    const [positive, negative] = [POSITIVE_COLOR[shade], NEGATIVE_COLOR[shade]];
    const pixels = globalThis.devicePixelRatio || 1;
    const row = this.chosen === null ? null : batch.rows[this.chosen];
    const involved = [...(row ?? []).slice(0, batch.seen.kind === "classes" ? 1 : 3), ...(this.pair ?? [])];
    const paint = {
      theme,
      colors,
      positive,
      negative,
      pixels,
      shown: this.shown,
      of: this.of,
      chosen: this.chosen,
      hover: this.hover,
    };
    const isSatisfied = (index: number) => this.isSatisfied(batch, index);
    this.canvas.render({ ...paint, ...look, isSatisfied, involved: look.lines ? involved : (this.pair ?? []) });
    const pair: Pair | null = this.pair ?? (row && batch.seen.kind !== "classes" ? [row[0], row[1]] : null);
    this.matrix.render({ ...paint, values: look.distances, marks: look.lines, pair });
    this.describe(batch, theme, positive, negative);
    setData(this.node, { moment: this.moment, batch: batch.step, chosen: this.chosen ?? "" });
    if (look.gone < 1 && this.moment === UPDATE_MOMENT) this.draw();
  }

  /** Whether the terms that a comparison takes part in are next to nothing. */
  private isSatisfied(batch: LoadedBatch, index: number): boolean {
    let satisfied = this.satisfied.get(index);
    if (satisfied === undefined) {
      const values = termValues(batch, index);
      satisfied = values.length > 0 && values.every((value) => Math.abs(value) <= 0.01);
      this.satisfied.set(index, satisfied);
    }
    return satisfied;
  }

  private describe(batch: LoadedBatch, theme: Theme, positive: Rgb, negative: Rgb): void {
    this.buttons.forEach((button, moment) => button.setAttribute("aria-pressed", String(moment === this.moment)));
    this.play.textContent = this.playing ? "Pause" : "Slow motion";
    this.words.textContent = momentText(batch, this.moment, this.means);
    const [near, far] = shades(theme).map((color) => css(color));
    this.ramp.style.background = `linear-gradient(to right, ${near}, ${far})`;
    this.most.textContent = `${digits(this.matrix.top)} ${MEASURES[batch.reach.measure]}`;
    this.legend.render(this.shown, positive, negative);
    this.canvas.canvas.setAttribute("aria-label", this.words.textContent);
    const key = `${this.url} ${this.chosen} ${theme.dark}`;
    if (key === this.shownTerm) return;
    this.shownTerm = key;
    this.term.replaceChildren(...(this.chosen === null ? [] : termDetail(batch, this.chosen, positive, negative)));
  }

  private hoverImage(image: number | null, event?: PointerEvent): void {
    this.canvas.canvas.style.cursor =
      image !== null || (event && this.canvas.lineAt(event) !== null) ? "pointer" : "default";
    if (image === this.hover && image === null) return;
    this.hover = image;
    this.showTooltip(event, image === null ? [] : [image]);
    this.draw();
  }

  private hoverPair(pair: Pair | null, event?: PointerEvent): void {
    this.pair = pair;
    this.showTooltip(event, pair ?? []);
    this.draw();
  }

  /** A card at the pointer: the images, and how far apart they are. */
  private showTooltip(event: PointerEvent | undefined, images: number[]): void {
    const { batch } = this;
    this.card.hidden = !images.length;
    if (!batch || !event || !images.length) return;
    const tiles = images.map((image) => {
      const tile = h("span", { class: "tile" });
      Object.assign(tile.style, tileStyle(batch.sheet, image, 56));
      return tile;
    });
    const [i, j] = images;
    const said =
      images.length === 1
        ? `${batch.classes[batch.labels[i]]} · training image ${batch.images[i]} · gradient ${digits(batch.force[i], 2)}`
        : `${batch.classes[batch.labels[i]]} and ${batch.classes[batch.labels[j]]} · ${digits(batch.batch.d(i, j, batch.reach.measure))}${this.difficultyLabel(batch, i, j)}`;
    this.card.replaceChildren(h("div", { class: "tiles" }, ...tiles), h("span", {}, said));
    const box = this.body.getBoundingClientRect();
    const left = Math.max(0, Math.min(box.width - this.card.offsetWidth - 4, event.clientX - box.left + 14));
    this.card.style.transform = `translate(${left}px, ${Math.max(0, event.clientY - box.top - this.card.offsetHeight - 10)}px)`;
  }

  private difficultyLabel({ n }: LoadedBatch, i: number, j: number): string {
    const kind = this.matrix.marks[i * n + j];
    return kind ? ` · ${DIFFICULTIES[kind - 1]}` : "";
  }

  private pickImage(image: number | null): void {
    const { batch } = this;
    if (!batch) return;
    this.of = image === null || this.of.includes(image) ? [] : [image];
    if (this.of.length) {
      const own = batch.rows.findIndex((row, k) => row[0] === image && this.shown[batch.hardness[k]]);
      if (own >= 0) this.chosen = own;
    }
    this.draw();
  }

  private pickLine(line: number): void {
    this.chosen = line;
    this.draw();
  }

  /** Choose the next comparison of those drawn, or let go of the picked image. */
  private walk(by: number | null): void {
    if (by === null || !this.batch) {
      this.pickImage(null);
      return;
    }
    const list = pickLines(this.batch, { shown: this.shown, of: this.of }).reverse(); // hard ones first
    if (list.length) this.chosen = list[(list.indexOf(this.chosen ?? -1) + by + list.length) % list.length];
    this.draw();
  }

  private pickPair(pair: Pair | null): void {
    const { batch } = this;
    if (!pair || !batch || batch.seen.kind === "classes") return;
    const found = batch.rows.findIndex((row) => row[0] === pair[0] && row.includes(pair[1]));
    const other = found >= 0 ? found : batch.rows.findIndex((row) => row[0] === pair[1] && row.includes(pair[0]));
    if (other >= 0) this.chosen = other;
    this.draw();
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.watcher.disconnect();
    this.draw.cancel();
    this.slider.destroy();
  }
}

/** The comparison whose term is largest among a hundred, so that there is something to read at once. */
function mostInformative(b: LoadedBatch): number | null {
  if (!b.rows.length) return null;
  const every = Math.max(1, Math.floor(b.rows.length / 100));
  let [best, most] = [0, -Infinity];
  for (let k = 0; k < b.rows.length; k += every) {
    const value = termValues(b, k).reduce((sum, value) => sum + value, 0) + b.hardness[k] * 1e-9;
    if (value > most) [best, most] = [k, value];
  }
  return best;
}
