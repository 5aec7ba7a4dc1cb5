// @ts-nocheck
// The scores of the shown step: value, change since the untrained net, course. Driven by the run's events alone.
import { bus } from "../../lib/bus.ts";
import { failing, isTestable, loadJudged } from "../../lib/perImage.ts";
import { mount } from "../../lib/mount.ts";
import { onSelection } from "../../lib/selection.ts";
import { Following, onceAFrame } from "../../charts/runSubscription.ts";
import { SCORES, captionAt, emptyReadings, isFinal, reasonAt, scoresAt, stepAt, takeReading } from "./scoreState.ts";
import { Tile } from "./scoreTile.ts";
import style from "./scores.css";

const SETTLED = 160; // milliseconds on one frame until the images that fail there are looked up

export default function ({ parentElement, data }) {
  return mount(parentElement, style, (parent) => new Readouts(parent), (readouts) => readouts.update(data ?? {}));
}

class Readouts {
  constructor(parent) {
    const make = (tag, className, text = "") => Object.assign(document.createElement(tag), { className, textContent: text });
    this.root = make("section", "readouts");
    this.root.setAttribute("aria-label", "Scores");
    this.tiles = SCORES.map(({ label, title, key }) =>
      new Tile(label, title, key, isTestable(key) ? () => this.choose(key) : null));
    this.caption = make("span", "where");
    this.key = make("span", "key");
    this.key.append(make("i", "base"), " untrained net ", make("i", "pixels"), " raw pixels");
    this.byClass = Object.assign(make("button", "link", "By class"), { type: "button" });
    this.byClass.title = "Scores class by class, and which class is taken for which";
    this.byClass.addEventListener("click", () => bus.emit("study", { run: this.run, what: "classes" }));
    const [row, foot] = [make("div", "row"), make("p", "foot")];
    row.append(...this.tiles.map((tile) => tile.node));
    foot.append(this.caption, this.key, this.byClass);
    this.root.append(row, foot);
    parent.append(this.root);
    this.draw = onceAFrame(() => this.paint());
    this.step = null;
    this.note = ""; // what came of a click, until the next
    this.active = null; // the score whose failures are selected
    this.following = new Following(
      () => {
        this.readings = emptyReadings();
        this.step = null;
        this.active = null;
        this.asked = false;
        this.draw();
      },
      (event) => {
        if (event.event === "snapshot") this.askForPixels();
        return takeReading(this.readings, event) && this.draw();
      },
    );
    this.offs = [
      bus.on("frame", (detail) => this.moved(detail)),
      onSelection((selection) => {
        if (this.active && selection?.reason !== this.reason) this.active = null;
        this.draw();
      }),
    ];
  }

  update({ run, begun, events_url }) {
    Object.assign(this, { run, begun, events_url });
    this.following.follow({ run, begun, events_url });
    this.draw();
  }

  moved({ run, view, step, index, count, playing }) {
    if (run !== this.run) return;
    // A projection draws the embeddings of the end.
    this.step = view !== "live" || index === count - 1 ? null : step;
    this.note = "";
    this.draw();
    clearTimeout(this.settling);
    if (this.active && !playing) this.settling = setTimeout(() => this.select(this.active), SETTLED);
  }

  choose(key) {
    this.note = "";
    if (this.active === key) {
      this.active = null;
      bus.emit("select", { run: this.run, items: [], reason: null });
    } else this.select(key);
    this.draw();
  }

  /** Select the images that fail a score at the shown step, and say what that means. */
  async select(key) {
    const { readings, step } = this;
    this.active = key;
    try {
      const at = isFinal(readings, step) ? null : stepAt(readings, step);
      const { items, words } = failing(await loadJudged(this.events_url, this.begun, at), key);
      if (this.active !== key || this.step !== step) return;
      this.reason = reasonAt(readings, step, words);
      bus.emit("select", { run: this.run, items, reason: this.reason });
      this.note = items.length ? "" : `No image fails ${SCORES.find((score) => score.key === key).label} here`;
    } catch (error) {
      this.active = null;
      this.note = error.message;
    }
    this.draw();
  }

  // Before anything is learned there are the pixels themselves: measured once a data set, and on the same images.
  askForPixels() {
    if (this.asked || !this.events_url) return;
    this.asked = true;
    const { name } = this.following;
    fetch(`${this.events_url.replace(/\/events.*$/, "")}/pixels.json?v=${this.begun}`)
      .then((response) => (response.ok ? response.json() : null))
      .then((pixels) => {
        if (name !== this.following.name) return;
        this.readings.pixels = pixels;
        this.draw();
      })
      .catch(() => {}); // the marks are left out
  }

  paint() {
    const { readings, step } = this;
    const scores = scoresAt(readings, step);
    const at = stepAt(readings, step);
    const clickable = Boolean(this.events_url) && at !== null;
    scores.forEach((score, i) => this.tiles[i].show(score, at, { clickable, active: score.key === this.active }));
    this.caption.textContent = this.note || captionAt(readings, step);
    this.key.hidden = readings.pixels === null;
    this.byClass.hidden = !clickable;
    Object.assign(this.root.dataset, {
      ready: "true", run: this.run, step: at ?? "", readings: readings.series.length, active: this.active ?? "",
    });
  }

  stop() {
    clearTimeout(this.settling);
    this.offs.forEach((off) => off());
    this.following.stop();
    this.draw.cancel();
    this.root.remove();
  }
}
