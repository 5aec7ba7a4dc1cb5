// One batch as the loss sees it: its picture, distances, comparisons, and one step in slow motion.
import { bus } from "../lib/bus.ts";
import { momentOf } from "../lib/neighbors.ts";
import { onAnimationFrame } from "../charts/runSubscription.ts";
import { h, setData } from "../lib/dom.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { digits } from "../lib/format.ts";
import { classColors } from "../lib/palette.ts";
import { css, readTheme, type Rgb, type Theme } from "../lib/theme.ts";
import type { LoadedBatch } from "./batch.ts";
import { BatchCanvas } from "./batchCanvas.ts";
import { BatchLoader } from "./batchLoader.ts";
import { BatchTooltip } from "./batchTooltip.ts";
import { drawTree } from "./classTree.ts";
import { ComparisonChoice } from "./comparisonChoice.ts";
import { DifficultyLegend } from "./difficultyLegend.ts";
import { DistanceMatrix, shades, type Pair } from "./distanceMatrix.ts";
import { MomentPlayer } from "./momentPlayer.ts";
import { NEGATIVE_COLOR, POSITIVE_COLOR } from "./batchDrawing.ts";
import {
  GRADIENT_MOMENT,
  meanDistances,
  momentText,
  UPDATE_MOMENT,
  visible,
  type MeanDistances,
} from "./stepAnimation.ts";
import { StepSlider } from "./stepSlider.ts";
import { termDetail } from "./termDetail.ts";

const MEASURES = { euclidean: "Euclidean distance", sqeuclidean: "squared distance", cosine: "(1 − cosine)" };

const TREE_CAPTION =
  "The class tree of this batch, in squared distances. A dot is the spread of a class, the mean distance within it. Where " +
  "two lines meet is d_H: the margin of their triplets is β + d_H − spread. In training the tree is that of all training " +
  "images, built anew every epoch.";

export class BatchView {
  private draw = onAnimationFrame(() => this.render());
  private loader = new BatchLoader(() => this.draw());
  private player = new MomentPlayer(() => this.draw());
  private choice = new ComparisonChoice();
  private tooltip = new BatchTooltip();
  private slider = new StepSlider((step) => {
    this.loader.choose(step);
    this.draw();
  });
  private canvas = new BatchCanvas({
    onhover: (image, event) => this.hoverImage(image, event),
    onpick: (image) => this.change(() => this.choice.pickImage(image)),
    online: (line) => this.change(() => this.choice.pick(line)),
    onstep: (by) => this.change(() => (by === null ? this.choice.pickImage(null) : this.choice.walk(by))),
  });
  private matrix = new DistanceMatrix(
    (pair, event) => this.hoverPair(pair, event),
    (pair) => pair && this.change(() => this.choice.pickPair(pair)),
  );
  private legend = new DifficultyLegend((shown) => this.change(() => (this.choice.shown = shown)));
  private words = h("p", { class: "sentence", "aria-live": "polite" });
  private ramp = h("i");
  private most = h("span"); // the greatest distance
  private term = h("div", "term");
  private tree = h("div", "tree");
  private message = h("p", "message");
  private body: HTMLElement;
  readonly node: HTMLElement;
  private leaveBus: () => void;
  private watcher = new ResizeObserver(() => this.draw());

  private run = "";
  private begun: string | null = null;
  private isOpen = false;
  private means: MeanDistances = { same: 0, different: 0 };
  private hover: number | null = null;
  private pair: Pair | null = null;
  private shownTerm = "";

  constructor() {
    const scale = h("p", "scale", "0", this.ramp, this.most);
    const pictures = h(
      "div",
      "pictures",
      h("div", "box", this.canvas.canvas),
      h("div", "box", this.matrix.canvas, scale),
    );
    const side = h("div", "words", ...this.player.nodes, this.words, this.legend.node);
    this.body = h("div", "body", h("div", "top", pictures, side), this.term, this.tree, this.tooltip.node);
    this.node = h("div", "batch", this.slider.node, this.message, this.body);
    this.watcher.observe(this.node);
    this.leaveBus = bus.on("frame", ({ run, index, count }) => {
      if (run !== this.run) return;
      if (index < count - 1) this.loader.leave();
      this.draw();
    });
  }

  reset(): void {
    this.loader.reset();
    this.slider.reset();
    this.player.rest(GRADIENT_MOMENT);
    this.draw();
  }

  follow(run: string, begun: string | null): void {
    this.run = run;
    this.begun = begun;
    this.draw();
  }

  onEvent(event: StreamEvent): void {
    if (event.event === "started") this.reset();
    if (event.event === "batch") this.loader.add(event.step);
    if (event.event === "replay") this.loader.settle();
    if (["finished", "stopped", "failed"].includes(event.event)) this.loader.finish();
    if (this.slider.onEvent(event) || event.event !== "snapshot") this.draw();
  }

  open(open: boolean): void {
    this.isOpen = open;
    if (!open) this.player.rest(this.player.moment);
    this.draw();
  }

  destroy(): void {
    this.leaveBus();
    this.player.destroy();
    this.watcher.disconnect();
    this.draw.cancel();
    this.slider.destroy();
  }

  private change(act: () => void): void {
    act();
    this.draw();
  }

  private load(): void {
    const news = this.loader.load(this.run, this.begun);
    if (news === "terms") this.choice.renew();
    if (news) this.shownTerm = "";
    if (news !== "batch") return;
    const { batch } = this.loader;
    this.hover = this.pair = null;
    this.choice.show(batch);
    if (!batch) return;
    const distances = batch.space.matrix(batch.thresholds.measure);
    this.means = meanDistances(batch, distances);
    this.matrix.show(batch, distances);
    this.canvas.show(batch);
    this.legend.show(batch);
    this.draw(); // and ask for its terms
  }

  private render(): void {
    if (!this.isOpen || this.node.offsetParent === null) return;
    if (!this.player.isPlaying) this.loader.follow(momentOf(this.run));
    this.load();
    const { batch, step, steps, message } = this.loader;
    this.slider.render(step, steps);
    this.node.dataset.step = String(step ?? "");
    this.message.textContent = message;
    this.message.hidden = !message;
    this.body.hidden = !batch;
    if (batch) this.renderBatch(batch);
  }

  private renderBatch(batch: LoadedBatch): void {
    const { player, choice } = this;
    const theme = readTheme(this.node);
    const look = visible(player.moment, theme.still ? Infinity : player.elapsed);
    const shade = theme.dark ? "dark" : "light";
    const [positive, negative] = [POSITIVE_COLOR[shade], NEGATIVE_COLOR[shade]];
    const row = choice.chosen === null ? null : batch.rows[choice.chosen];
    const isClasses = batch.tuples.kind === "classes";
    const involved = [...(row ?? []).slice(0, isClasses ? 1 : 3), ...(this.pair ?? [])];
    const paint = {
      theme,
      colors: classColors(batch.classes.length, theme.dark),
      positive,
      negative,
      pixels: globalThis.devicePixelRatio || 1,
      shown: choice.shown,
      of: choice.images,
      chosen: choice.chosen,
      hover: this.hover,
      isSatisfied: (index: number) => choice.isSatisfied(index),
    };
    this.canvas.render({ ...paint, ...look, involved: look.lines ? involved : (this.pair ?? []) });
    const pair: Pair | null = this.pair ?? (row && !isClasses ? [row[0], row[1]] : null);
    this.matrix.render({ ...paint, values: look.distances, marks: look.lines, pair });
    this.describe(batch, theme, positive, negative);
    setData(this.node, { moment: player.moment, batch: batch.step, chosen: choice.chosen ?? "" });
    this.node.dataset.terms = String(batch.terms !== null);
    if (look.gone < 1 && player.moment === UPDATE_MOMENT) this.draw();
  }

  private describe(batch: LoadedBatch, theme: Theme, positive: Rgb, negative: Rgb): void {
    const { chosen, shown } = this.choice;
    this.player.render();
    this.words.textContent = momentText(batch, this.player.moment, this.means);
    const [near, far] = shades(theme).map((color) => css(color));
    this.ramp.style.background = `linear-gradient(to right, ${near}, ${far})`;
    this.most.textContent = `${digits(this.matrix.top)} ${MEASURES[batch.thresholds.measure]}`;
    this.legend.render(shown, positive, negative);
    this.canvas.canvas.setAttribute("aria-label", this.words.textContent);
    const key = `${chosen} ${theme.dark}`;
    if (key === this.shownTerm) return;
    this.shownTerm = key;
    this.term.replaceChildren(...(chosen === null ? [] : termDetail(batch, chosen, positive, negative)));
    this.drawTree(batch, theme);
  }

  private drawTree(batch: LoadedBatch, theme: Theme): void {
    const { chosen } = this.choice;
    const row = chosen === null || batch.tuples.kind !== "triplets" ? [] : batch.rows[chosen];
    const classes = row.length ? [batch.labels[row[0]], batch.labels[row[2]]] : [];
    const colors = classColors(batch.classes.length, theme.dark);
    const picture = batch.terms && drawTree(batch.terms.tree, batch.classes, colors, classes);
    this.tree.replaceChildren(...(picture ? [h("p", "note", TREE_CAPTION), picture] : []));
  }

  private hoverImage(image: number | null, event?: PointerEvent): void {
    const hasTarget = image !== null || (event && this.canvas.lineAt(event) !== null);
    this.canvas.canvas.style.cursor = hasTarget ? "pointer" : "default";
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

  private showTooltip(event: PointerEvent | undefined, images: number[]): void {
    const { batch } = this.loader;
    if (!images.length) this.tooltip.hide();
    else if (batch && event) this.tooltip.show(batch, images, this.matrix.marks, event, this.body);
  }
}
