// @ts-nocheck
// A plane (or a circle) with points to drag: the loss they cause together, and the force on each, as the library says.
import { onAnimationFrame } from "../../charts/runSubscription.ts";
import { setAttributes, svg } from "../../charts/svg.ts";
import { h } from "../../lib/dom.ts";
import { defaults, renderControls, visibleParams, formatNumber } from "../../widgets/paramControls.ts";
import { mount } from "../../lib/mount.ts";
import { classColors } from "../../lib/palette.ts";
import { css, readTheme } from "../../lib/theme.ts";
import {
  arranged,
  arrowTips,
  EXTENT,
  grid,
  held,
  moved,
  nameOf,
  places,
  PRESETS,
  pulls,
  questionOf,
  refined,
  ring,
  stepped,
} from "./arrangement.ts";
import { ROUTES } from "../../protocol.ts";
import { NewestQuestion } from "../newestQuestion.ts";
import style from "./forcePlayground.css";

const CELLS = 22; // that are asked for, on a side
const FINER = 4; // as they are drawn
const SEGMENTS = 120;
const BANDS = 9;

export default function ({ parentElement, data }) {
  return mount(
    parentElement,
    style,
    (parent) => new Plane(parent),
    (plane) => plane.update(data ?? {}),
  );
}

class Plane {
  constructor(parent) {
    this.root = h("section", "plane");
    this.ground = h("canvas");
    this.chart = svg("svg", {
      viewBox: `${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`,
      role: "group",
      "aria-label": "Points to drag",
    });
    this.stage = h("div", "stage");
    this.stage.append(this.ground, this.chart);
    this.reading = h("p", "reading");
    this.reading.setAttribute("aria-live", "polite");
    this.menu = h("select");
    this.menu.setAttribute("aria-label", "Loss");
    this.menu.addEventListener("change", () => this.choose(this.menu.value));
    this.presets = h("select");
    this.presets.setAttribute("aria-label", "Points");
    this.presets.append(...Object.entries(PRESETS).map(([name, { title }]) => new Option(title, name)));
    this.presets.addEventListener("change", () => this.begin());
    this.circle = tick("On the circle", () => this.hold());
    this.shade = tick("Loss as the ground", () => this.draw());
    this.shade.input.checked = true;
    this.own = h("div", "knobs");
    this.rate = h("div", "knobs");
    this.buttons = h("div", "buttons");
    const button = (name, act) => {
      const made = h("button", "", name);
      made.type = "button";
      made.addEventListener("click", act);
      this.buttons.append(made);
      return made;
    };
    button("Step", () => this.step());
    this.play = button("Play", () => (this.playing ? this.pause() : this.run()));
    button("Start again", () => this.begin());
    const side = h("div", "side");
    const choices = h("div", "choices");
    choices.append(this.menu, this.presets);
    side.append(choices, this.own, this.circle.row, this.shade.row, this.rate, this.buttons, this.reading);
    this.root.append(this.stage, side);
    parent.append(this.root);
    this.draw = onAnimationFrame(() => this.paint());
    const failed = (why) => {
      this.pause();
      this.reading.textContent = why;
    };
    this.forceQuestions = new NewestQuestion((answer, question) => this.answered(answer, question), failed);
    this.groundQuestions = new NewestQuestion((answer) => this.shaded(answer), failed);
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.stage);
    this.stepSize = 0.05;
    renderControls(
      this.rate,
      [{ name: "rate", label: "Step size", default: 0.05, low: 0.005, high: 0.3, step: 0.005 }],
      { rate: 0.05 },
      (_, value) => (this.stepSize = value),
    );
    this.listen();
  }

  update({ losses = [], loss }) {
    if (!this.losses) {
      this.losses = new Map(losses.map((entry) => [entry.name, entry]));
      const families = Map.groupBy(this.losses.values(), ({ family }) => family);
      for (const [family, entries] of families) {
        const group = document.createElement("optgroup");
        group.label = family;
        group.append(...entries.map(({ name, title }) => new Option(title, name)));
        this.menu.append(group);
      }
    }
    if (loss !== this.given && this.losses.has(loss)) {
      this.given = loss;
      this.choose(loss);
    }
  }

  choose(name) {
    this.loss = name;
    this.menu.value = name;
    const { parameters, on_sphere: circle, needs_classes: proxies } = this.losses.get(name);
    this.params = defaults(parameters);
    renderControls(
      this.own,
      visibleParams(parameters).filter(({ name }) => name !== "centers"),
      this.params,
      (key, value) => {
        this.params[key] = value;
        this.ask();
      },
    );
    this.circle.input.checked = circle;
    if (proxies) this.presets.value = "batch";
    this.begin();
  }

  get declared() {
    return this.losses.get(this.loss);
  }

  begin() {
    this.pause();
    this.now = arranged(this.presets.value, {
      proxies: this.declared.needs_classes,
      circle: this.circle.input.checked,
    });
    this.chosen = this.now.preset === "triplet" ? 1 : 0;
    this.found = this.foundGround = this.groundKey = null;
    this.build();
    this.ask();
  }

  hold() {
    this.now = this.circle.input.checked ? held(this.now) : { ...this.now, circle: false };
    this.ask();
  }

  /** Ask what pulls at the points as they lie now; the picture follows at once, its arrows with the answer. */
  ask() {
    this.question = questionOf(this.now, { ...this.params });
    this.current = false;
    this.forceQuestions.ask(`${ROUTES}/losses/${this.loss}/forces.json`, this.question);
    this.draw();
  }

  answered(answer, question) {
    if (question.points.length + question.weights.length !== this.dots.length) return; // of another arrangement
    this.current = question === this.question;
    this.found = pulls(this.now, answer);
    if (this.stepping && this.current) {
      this.stepping = false;
      this.step();
    }
    this.draw();
  }

  step() {
    if (!this.found || !this.current) {
      this.stepping = true; // as soon as the forces are known
      return;
    }
    this.now = stepped(this.now, this.found, this.stepSize);
    this.ask();
  }

  run() {
    this.play.textContent = "Pause";
    this.playing = setInterval(() => this.step(), 40);
  }

  pause() {
    clearInterval(this.playing);
    this.playing = null;
    this.stepping = false;
    this.play.textContent = "Play";
  }

  /** The nodes of points and arrows, once for each arrangement, so that a point keeps the focus while it moves. */
  build() {
    const all = places(this.now);
    this.unit = svg("circle", { class: "unit", r: 1 });
    this.lines = svg("g", { class: "lines" });
    this.arrows = all.map(() => svg("path", { class: "arrow" }));
    this.dots = all.map((_, index) => this.dot(index));
    this.chart.replaceChildren(this.unit, this.lines, ...this.arrows, ...this.dots);
  }

  dot(index) {
    const proxy = index >= this.now.points.length;
    const shape = proxy
      ? svg("rect", { x: -0.045, y: -0.045, width: 0.09, height: 0.09, transform: "rotate(45)" })
      : svg("circle", { r: 0.05 });
    const made = svg(
      "g",
      { class: "dot", tabindex: 0, role: "button" },
      svg("circle", { class: "reach", r: 0.13 }),
      shape,
      svg("text", { x: 0.075, y: -0.055 }, nameOf(this.now, index)),
    );
    made.addEventListener("focus", () => this.select(index));
    made.addEventListener("keydown", (event) => this.key(event, index));
    return made;
  }

  select(index) {
    if (this.chosen === index) return;
    this.chosen = index;
    this.draw();
  }

  key(event, index) {
    const along = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!along) return;
    event.preventDefault();
    const by = event.shiftKey ? 0.1 : 0.02;
    const [x, y] = places(this.now)[index];
    const turn = (along[0] + along[1]) * by;
    this.now = this.now.circle
      ? moved(this.now, index, [x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)])
      : moved(this.now, index, [x + along[0] * by, y + along[1] * by]);
    this.ask();
  }

  listen() {
    const placeOf = (event) => {
      const box = this.chart.getBoundingClientRect();
      return [
        (((event.clientX - box.left) / box.width) * 2 - 1) * EXTENT,
        (1 - ((event.clientY - box.top) / box.height) * 2) * EXTENT,
      ];
    };
    this.chart.addEventListener("pointerdown", (event) => {
      const index = this.dots.findIndex((dot) => dot.contains(event.target));
      if (index < 0 || event.button !== 0) return;
      event.preventDefault();
      this.dragged = index;
      this.dots[index].focus();
      this.chart.setPointerCapture(event.pointerId);
    });
    this.chart.addEventListener("pointermove", (event) => {
      if (this.dragged === undefined) return;
      this.now = moved(this.now, this.dragged, placeOf(event));
      this.ask();
    });
    for (const name of ["pointerup", "pointercancel"])
      this.chart.addEventListener(name, () => (this.dragged = undefined));
  }

  paint() {
    const { found } = this;
    const theme = readTheme(this.root);
    const colors = classColors(3, theme.dark).map((color) => css(color));
    const tips = found && arrowTips(this.now, found);
    places(this.now).forEach(([x, y], i) => {
      const label = i < this.now.points.length ? this.now.labels[i] : i - this.now.points.length;
      const force = found ? Math.hypot(...found.forces[i]) : 0;
      setAttributes(this.dots[i], {
        transform: `translate(${x} ${-y})`,
        style: `color: ${colors[label]}`,
        "data-chosen": i === this.chosen ? "true" : null,
        "aria-label": `${nameOf(this.now, i)} at ${formatNumber(x)}, ${formatNumber(y)}, force ${formatNumber(force)}; arrow keys move it`,
      });
      setAttributes(this.arrows[i], { d: tips ? arrow([x, -y], [tips[i][0], -tips[i][1]]) : "" });
    });
    this.lines.replaceChildren(...this.partners());
    this.unit.classList.toggle("held", this.now.circle);
    this.shadeGround(theme);
    if (found) this.say(found);
  }

  /** Lines to what the chosen point is compared with: its own class drawn through, others broken. */
  partners() {
    const { points, labels } = this.now;
    const a = this.now.preset === "triplet" ? 0 : this.chosen;
    if (a >= points.length) return [];
    return points.flatMap((point, i) => {
      if (i === a) return [];
      const beside = [0, 1].map((k) => points[a][k] + 0.3 * (point[k] - points[a][k]));
      const distance = Math.hypot(points[a][0] - point[0], points[a][1] - point[1]);
      const line = svg("line", {
        x1: points[a][0],
        y1: -points[a][1],
        x2: point[0],
        y2: -point[1],
        class: labels[i] === labels[a] ? "near" : "far",
      });
      return this.now.preset === "triplet"
        ? [line, svg("text", { x: beside[0] + 0.03, y: -beside[1] }, formatNumber(distance))]
        : [line];
    });
  }

  say({ loss, active, longest }) {
    const share =
      active > 0.9995
        ? "all of its terms active"
        : active < 0.0005
          ? "none of its terms active"
          : `${Math.round(100 * active)} % of its terms active`;
    const value = h("strong", "", formatNumber(loss));
    this.reading.replaceChildren("Loss ", value, `, ${share}. Longest arrow: ${formatNumber(longest)}.`);
    Object.assign(this.root.dataset, { ready: "true", loss: this.loss, value: loss, longest });
    this.root.dataset.places = JSON.stringify(places(this.now));
  }

  /** Ask for the ground unless it is known: it changes with all points but the chosen one, which is moved over it. */
  askGround() {
    const { now, chosen } = this;
    const others = places(now).filter((_, i) => i !== chosen);
    const key = JSON.stringify([this.loss, this.params, now.preset, now.circle, chosen, others]);
    if (key === this.groundKey) return;
    this.groundKey = key;
    const question = {
      ...questionOf(now, { ...this.params }),
      index: chosen,
      places: now.circle ? ring(SEGMENTS) : grid(CELLS),
    };
    this.groundQuestions.ask(`${ROUTES}/losses/${this.loss}/ground.json`, question);
  }

  shaded({ values }) {
    this.foundGround = values.length === CELLS * CELLS ? refined(values, FINER) : values;
    this.draw();
  }

  shadeGround({ text }) {
    const { ground: canvas } = this;
    const context = canvas.getContext("2d");
    const size = this.now.circle ? 2 * Math.min(400, Math.max(160, this.stage.clientWidth)) : CELLS * FINER;
    canvas.width = canvas.height = size;
    if (!this.shade.input.checked) return;
    this.askGround();
    const values = this.foundGround;
    if (values?.length !== (this.now.circle ? SEGMENTS : (CELLS * FINER) ** 2)) return;
    const finite = values.filter((value) => value !== null);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const paint = (value) =>
      css(text, value !== null && high > low ? (Math.floor(((value - low) / (high - low)) * BANDS) / BANDS) * 0.3 : 0);
    if (!this.now.circle) {
      values.forEach((value, i) => {
        context.fillStyle = paint(value);
        context.fillRect(i % size, Math.floor(i / size), 1, 1);
      });
      return;
    }
    context.lineWidth = size * 0.03;
    values.forEach((value, i) => {
      const [from, to] = [i - 0.5, i + 0.5].map((at) => (-2 * Math.PI * at) / SEGMENTS);
      context.strokeStyle = paint(value);
      context.beginPath();
      context.arc(size / 2, size / 2, (size / 2 / EXTENT) * 1.16, from, to, true);
      context.stroke();
    });
  }

  destroy(): void {
    this.pause();
    this.forceQuestions.close();
    this.groundQuestions.close();
    this.watcher.disconnect();
    this.draw.cancel();
    this.root.remove();
  }
}

function tick(label, act) {
  const row = h("label", "tick");
  const input = h("input");
  input.type = "checkbox";
  input.addEventListener("change", act);
  row.append(input, label);
  return { row, input };
}

/** The path of an arrow; none where there is next to no force. */
function arrow([x1, y1], [x2, y2]) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 0.012) return "";
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const head = Math.min(0.06, length * 0.5);
  const [bx, by] = [x2 - dx * head, y2 - dy * head];
  const side = head * 0.55;
  return `M${x1} ${y1}L${bx} ${by}M${x2} ${y2}L${bx - dy * side} ${by + dx * side}L${bx + dy * side} ${by - dx * side}Z`;
}
