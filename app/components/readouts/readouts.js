// The scores of the shown step: value, change since the untrained net, course. Driven by the run's events alone.
import { bus } from "../shared/bus.js";
import { Following, onceAFrame } from "../charts/following.js";
import { pathOf, scale, set, svg } from "../charts/svg.js";
import { SCORES, captionAt, emptyReadings, scoresAt, stepAt, takeReading } from "./readings.js";

const WIDTH = 100;
const HEIGHT = 22;
const mounted = new WeakMap();

export default function ({ parentElement, data }) {
  let readouts = mounted.get(parentElement);
  if (!readouts) mounted.set(parentElement, (readouts = new Readouts(parentElement)));
  readouts.update(data ?? {});
  return () => {
    readouts.stop();
    mounted.delete(parentElement);
  };
}

class Readouts {
  constructor(parent) {
    this.root = document.createElement("section");
    this.root.className = "readouts";
    this.root.setAttribute("aria-label", "Scores");
    this.tiles = SCORES.map(({ label, title, key }) => new Tile(label, title, key));
    this.caption = document.createElement("p");
    const row = document.createElement("div");
    row.className = "row";
    row.append(...this.tiles.map((tile) => tile.node));
    this.root.append(row, this.caption);
    parent.append(this.root);
    this.draw = onceAFrame(() => this.paint());
    this.step = null;
    this.following = new Following(
      () => {
        this.readings = emptyReadings();
        this.step = null;
        this.draw();
      },
      (event) => takeReading(this.readings, event) && this.draw(),
    );
    this.leaveBus = bus.on("frame", ({ run, view, step, index, count }) => {
      if (run !== this.run) return;
      // A projection draws the embeddings of the end.
      this.step = view !== "live" || index === count - 1 ? null : step;
      this.draw();
    });
  }

  update({ run, begun, events_url }) {
    this.run = run;
    this.following.follow({ run, begun, events_url });
    this.draw();
  }

  paint() {
    const scores = scoresAt(this.readings, this.step);
    const at = stepAt(this.readings, this.step);
    scores.forEach((score, i) => this.tiles[i].show(score, at));
    this.caption.textContent = captionAt(this.readings, this.step);
    Object.assign(this.root.dataset, { ready: "true", run: this.run, step: at ?? "", readings: this.readings.series.length });
  }

  stop() {
    this.leaveBus();
    this.following.stop();
    this.draw.cancel();
    this.root.remove();
  }
}

class Tile {
  constructor(label, title, key) {
    this.node = document.createElement("div");
    this.node.className = "score";
    this.node.title = title;
    this.node.dataset.score = key;
    const name = Object.assign(document.createElement("span"), { className: "name", textContent: label });
    this.value = Object.assign(document.createElement("span"), { className: "value", textContent: "–" });
    this.change = Object.assign(document.createElement("span"), { className: "change" });
    this.apart = Object.assign(document.createElement("span"), { className: "apart", hidden: true });
    this.line = svg("path", { class: "course" });
    this.base = svg("line", { class: "base", x1: 0, x2: WIDTH });
    this.mark = svg("line", { class: "mark", y1: 0, y2: HEIGHT });
    const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    chart.append(this.base, this.line, this.mark);
    this.node.append(name, this.value, this.change, this.apart, chart);
  }

  show({ value, change, course, apart }, step) {
    this.apart.hidden = !apart.length;
    this.apart.replaceChildren(...apart.map(({ group, value }) => {
      const part = Object.assign(document.createElement("span"), { textContent: `${group} ${value.toFixed(3)} ` });
      part.dataset.group = group;
      return part;
    }));
    this.value.textContent = value === null ? "–" : value.toFixed(3);
    const sign = change === null ? "" : change < 0 ? "down" : "up";
    this.change.className = `change ${sign}`;
    this.change.textContent = change === null ? "" : `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(3)}`;
    this.change.title = change === null ? "" : "Since the untrained net, on the watched images";
    if (course.length < 2) {
      for (const node of [this.line, this.base, this.mark]) set(node, { visibility: "hidden" });
      return;
    }
    const values = course.map(({ value }) => value);
    const x = scale(course[0].step, course.at(-1).step, 1, WIDTH - 1);
    const y = scale(Math.min(...values), Math.max(...values), HEIGHT - 2, 2);
    const here = Math.min(Math.max(step ?? course.at(-1).step, course[0].step), course.at(-1).step);
    set(this.line, { d: pathOf(course.map(({ step, value }) => [x(step), y(value)])), visibility: null });
    set(this.base, { y1: y(values[0]), y2: y(values[0]), visibility: null });
    set(this.mark, { x1: x(here), x2: x(here), visibility: null });
  }
}
