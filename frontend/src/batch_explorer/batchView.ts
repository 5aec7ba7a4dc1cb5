// @ts-nocheck
// What the loss sees of one batch: its picture, its distances, what is compared, and one step in slow motion.
import { onceAFrame } from "../charts/runSubscription.ts";
import { element } from "../lib/dom.ts";
import { classColours } from "../lib/palette.ts";
import { tileStyle } from "../lib/sprites.ts";
import { css, readTheme } from "../lib/theme.ts";
import { Active } from "./stepSlider.ts";
import { matrix, readBatch } from "./batch.ts";
import { Legend } from "./difficultyLegend.ts";
import { Matrix, shades } from "./distanceMatrix.ts";
import { EACH, GRADIENT, MOMENTS, MOVED, meanDistances, sentence, visible } from "./stepAnimation.ts";
import { Answers } from "./jsonCache.ts";
import { Stage } from "./batchCanvas.ts";
import { drawn } from "./difficultyStyles.ts";
import { describe } from "./termDetail.ts";
import { termsOf } from "./lossTerms.ts";

const TOGETHER = { light: [31, 138, 124], dark: [62, 190, 172] };
const APART = { light: [201, 62, 85], dark: [240, 110, 128] };
const MEASURES = { euclidean: "Euclidean distance", sqeuclidean: "squared distance", cosine: "(1 − cosine)" };

export class BatchView {
  constructor() {
    this.draw = onceAFrame(() => this.paint());
    this.answers = new Answers(() => this.draw());
    this.active = new Active((step) => this.choose(step));
    this.stage = new Stage({
      onhover: (image, event) => this.hoverImage(image, event),
      onpick: (image) => this.pickImage(image),
      online: (line) => this.pickLine(line),
      onstep: (by) => this.walk(by),
    });
    this.matrix = new Matrix((pair, event) => this.hoverPair(pair, event), (pair) => this.pickPair(pair));
    this.legend = new Legend((shown) => {
      this.shown = shown;
      this.draw();
    });
    this.moments = element("div", { class: "moments", role: "group", "aria-label": "Moments of one step" });
    this.buttons = MOMENTS.map((name, moment) =>
      element("button", { type: "button", click: () => this.go(moment) }, name));
    this.play = element("button", { type: "button", class: "play", click: () => this.toggle() }, "Slow motion");
    this.moments.append(...this.buttons);
    this.words = element("p", { class: "sentence", "aria-live": "polite" });
    [this.ramp, this.most] = [element("i", {}), element("span", {})];
    const scale = element("p", { class: "scale" }, "0", this.ramp, this.most);
    this.term = element("div", { class: "term" });
    this.card = element("div", { class: "card", hidden: true, "aria-hidden": "true" });
    this.message = element("p", { class: "message" });
    const pictures = element("div", { class: "pictures" },
      element("div", { class: "box" }, this.stage.canvas),
      element("div", { class: "box" }, this.matrix.canvas, scale));
    const side = element("div", { class: "words" }, element("div", { class: "player" }, this.play), this.moments, this.words, this.legend.node);
    this.body = element("div", { class: "body" }, element("div", { class: "top" }, pictures, side), this.term, this.card);
    this.node = element("div", { class: "batch" }, this.active.node, this.message, this.body);
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.node);
    this.isOpen = false;
    this.shown = [true, true, true];
    this.begin();
  }

  begin() {
    Object.assign(this, { steps: [], step: null, byHand: false, batch: null, url: null, over: false, final: false });
    this.answers.forget();
    this.active.begin();
    this.rest(GRADIENT);
    this.draw();
  }

  follow(run, begun) {
    Object.assign(this, { run, begun });
    this.draw();
  }

  take(event) {
    if (event.event === "started") this.begin();
    if (event.event === "batch") {
      this.steps.push(event.step);
      if (!this.byHand && !this.playing) this.step = event.step;
    }
    if (event.event === "replay") this.final = true;
    if (["finished", "stopped", "failed"].includes(event.event)) this.over = true;
    // A run that was over before anybody looked is opened early on, where a step still moves something.
    if (this.over && !this.byHand && !this.isOpen) this.step = this.steps[Math.min(2, this.steps.length - 1)] ?? null;
    if (this.active.take(event) || event.event !== "snapshot") this.draw();
  }

  open(open) {
    this.isOpen = open;
    if (!open) this.rest(this.moment);
    this.draw();
  }

  choose(step) {
    Object.assign(this, { step, byHand: true });
    this.draw();
  }

  go(moment) {
    this.rest(moment);
    if (moment === MOVED) this.proceed();
    this.draw();
  }

  toggle() {
    if (this.playing) return this.go(this.moment);
    this.moment = this.moment >= MOVED || this.moment === GRADIENT ? 0 : this.moment;
    this.playing = true;
    this.proceed();
  }

  rest(moment) {
    clearTimeout(this.timer);
    Object.assign(this, { playing: false, moment, since: null });
  }

  /** Let the moment that is shown run from now on, and the next one follow while playing. */
  proceed() {
    this.since = performance.now();
    clearTimeout(this.timer);
    if (this.playing) {
      this.timer = setTimeout(() => {
        if (this.moment === MOVED) return this.rest(MOVED), this.draw();
        this.moment += 1;
        this.proceed();
      }, EACH);
    }
    this.draw();
  }

  load() {
    if (this.step === null) return;
    const url = `/api/runs/${this.run}/batches/${this.step}.json?${this.begun}${this.final ? "" : "-live"}`;
    if (url === this.url) return;
    const answer = this.answers.get(url);
    if (!answer) return;
    this.url = url;
    this.error = answer.error ?? null;
    this.batch = this.error ? null : readBatch(answer);
    Object.assign(this, { of: [], hover: null, pair: null, chosen: null });
    if (!this.batch) return;
    this.batch.sheet = { ...answer.sheet, urls: answer.sheet.urls.map((sheet) => `${sheet}?${this.begun}`) };
    const distances = matrix(this.batch, this.batch.reach.measure);
    this.means = meanDistances(this.batch, distances);
    this.matrix.show(this.batch, distances);
    this.stage.show(this.batch);
    this.legend.show(this.batch);
    this.chosen = mostTelling(this.batch);
    this.terms = new Map();
    this.shownTerm = null;
  }

  paint() {
    if (!this.isOpen || this.node.offsetParent === null) return;
    this.load();
    this.active.paint(this.step, this.steps);
    this.node.dataset.step = this.step ?? "";
    this.message.textContent = this.error ?? (this.steps.length ? "" : this.over
      ? "This run kept no batches: nothing was trained, they were too large, or it is older than this panel."
      : "The first batch is here as soon as the training has begun.");
    this.message.hidden = !this.message.textContent;
    this.body.hidden = !this.batch;
    if (!this.batch) return;
    const theme = readTheme(this.node);
    const { batch } = this;
    const elapsed = this.since === null ? Infinity : performance.now() - this.since;
    const look = visible(this.moment, theme.still ? Infinity : elapsed);
    const colours = classColours(batch.classes.length, theme.dark);
    const [positive, negative] = [TOGETHER, APART].map((pair) => pair[theme.dark ? "dark" : "light"]);
    const pixels = globalThis.devicePixelRatio || 1;
    const row = this.chosen === null ? null : batch.rows[this.chosen];
    const involved = [...(row ?? []).slice(0, batch.seen.kind === "classes" ? 1 : 3), ...(this.pair ?? [])];
    const paint = { theme, colours, positive, negative, pixels, shown: this.shown, of: this.of, chosen: this.chosen, hover: this.hover };
    const satisfied = (index) => this.satisfied(index);
    this.stage.paint({ ...paint, ...look, satisfied, involved: look.lines ? involved : this.pair ?? [] });
    this.matrix.paint({ ...paint, values: look.distances, marks: look.lines, pair: this.pair ?? (row && batch.seen.kind !== "classes" ? row.slice(0, 2) : null) });
    this.describe(look, theme, positive, negative);
    this.node.dataset.moment = this.moment;
    this.node.dataset.batch = batch.step;
    this.node.dataset.chosen = this.chosen ?? "";
    if (look.gone < 1 && this.moment === MOVED) this.draw();
  }

  /** Whether the terms that a comparison takes part in are next to nothing. */
  satisfied(index) {
    if (!this.terms.has(index)) {
      const terms = termsOf(this.batch, this.batch.rows[index]);
      this.terms.set(index, terms.length > 0 && terms.every(({ value }) => Math.abs(value) <= 0.01));
    }
    return this.terms.get(index);
  }

  describe(look, theme, positive, negative) {
    const { batch } = this;
    this.buttons.forEach((button, moment) => button.setAttribute("aria-pressed", String(moment === this.moment)));
    this.play.textContent = this.playing ? "Pause" : "Slow motion";
    this.words.textContent = sentence(batch, this.moment, this.means);
    const [near, far] = shades(theme).map((colour) => css(colour));
    this.ramp.style.background = `linear-gradient(to right, ${near}, ${far})`;
    this.most.textContent = `${Number(this.matrix.top.toPrecision(3))} ${MEASURES[batch.reach.measure]}`;
    this.legend.paint(this.shown, positive, negative);
    this.stage.canvas.setAttribute("aria-label", this.words.textContent);
    const key = `${this.url} ${this.chosen} ${theme.dark}`;
    if (key === this.shownTerm) return;
    this.shownTerm = key;
    this.term.replaceChildren(...(this.chosen === null ? [] : describe(batch, this.chosen, positive, negative)));
  }

  hoverImage(image, event) {
    this.stage.canvas.style.cursor = image !== null || (event && this.stage.lineAt(event) !== null) ? "pointer" : "default";
    if (image === this.hover && image === null) return;
    this.hover = image;
    this.tell(event, image === null ? [] : [image]);
    this.draw();
  }

  hoverPair(pair, event) {
    this.pair = pair;
    this.tell(event, pair ?? []);
    this.draw();
  }

  /** A card at the pointer: the images, and how far apart they are. */
  tell(event, images) {
    this.card.hidden = !images.length;
    if (!images.length) return;
    const { batch } = this;
    const tiles = images.map((image) => {
      const tile = element("span", { class: "tile" });
      Object.assign(tile.style, tileStyle(batch.sheet, image, 56));
      return tile;
    });
    const [i, j] = images;
    const said = images.length === 1
      ? `${batch.classes[batch.labels[i]]} · training image ${batch.images[i]} · gradient ${Number(batch.force[i].toPrecision(2))}`
      : `${batch.classes[batch.labels[i]]} and ${batch.classes[batch.labels[j]]} · ${Number(batch.batch.d(i, j, batch.reach.measure).toPrecision(3))}${this.standing(i, j)}`;
    this.card.replaceChildren(element("div", { class: "tiles" }, ...tiles), element("span", {}, said));
    const box = this.body.getBoundingClientRect();
    const left = Math.max(0, Math.min(box.width - this.card.offsetWidth - 4, event.clientX - box.left + 14));
    this.card.style.transform = `translate(${left}px, ${Math.max(0, event.clientY - box.top - this.card.offsetHeight - 10)}px)`;
  }

  standing(i, j) {
    const kind = this.matrix.marks[i * this.batch.n + j];
    return kind ? ` · ${["easy", "semi-hard", "hard"][kind - 1]}` : "";
  }

  pickImage(image) {
    this.of = image === null || this.of.includes(image) ? [] : [image];
    if (this.of.length) {
      const own = this.batch.rows.findIndex((row, k) => row[0] === image && this.shown[this.batch.hardness[k]]);
      if (own >= 0) this.chosen = own;
    }
    this.draw();
  }

  pickLine(line) {
    this.chosen = line;
    this.draw();
  }

  /** Choose the next comparison of those drawn, or let go of the picked image. */
  walk(by) {
    if (by === null) return this.pickImage(null);
    const list = drawn(this.batch, { shown: this.shown, of: this.of }).reverse(); // hard ones first
    if (list.length) this.chosen = list[(list.indexOf(this.chosen) + by + list.length) % list.length];
    this.draw();
  }

  pickPair(pair) {
    if (!pair || this.batch.seen.kind === "classes") return;
    const found = this.batch.rows.findIndex((row) => row[0] === pair[0] && row.includes(pair[1]));
    const other = found >= 0 ? found : this.batch.rows.findIndex((row) => row[0] === pair[1] && row.includes(pair[0]));
    if (other >= 0) this.chosen = other;
    this.draw();
  }

  stop() {
    clearTimeout(this.timer);
    this.watcher.disconnect();
    this.draw.cancel();
    this.active.stop();
  }
}

/** The comparison whose term is largest among a hundred, so that there is something to read at once. */
function mostTelling(b) {
  if (!b.rows.length) return null;
  const every = Math.max(1, Math.floor(b.rows.length / 100));
  let [best, most] = [0, -Infinity];
  for (let k = 0; k < b.rows.length; k += every) {
    const value = termsOf(b, b.rows[k]).reduce((sum, term) => sum + term.value, 0) + b.hardness[k] * 1e-9;
    if (value > most) [best, most] = [k, value];
  }
  return best;
}

