// A plane (or a circle) with points to drag: the loss they cause together, and the force on each, as the library says.
import { onAnimationFrame } from "../../lib/hooks.ts";
import { h, setData } from "../../lib/dom.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { draw } from "../../lib/panel.tsx";
import { readTheme } from "../../lib/theme.ts";
import type { ForcePlaygroundProps, LossForces, LossInfo } from "../../protocol.ts";
import { ROUTES } from "../../lib/server.ts";
import { defaults, formatNumber, ParamControls, visibleParams, type ParamValue } from "../../widgets/paramControls.tsx";
import { NewestQuestion } from "../newestQuestion.ts";
import {
  arrange,
  hold,
  places,
  PRESETS,
  pulls,
  questionOf,
  takeStep,
  type Arrangement,
  type ForceQuestion,
  type PresetName,
  type Pulls,
} from "./arrangement.ts";
import { DraggablePoints } from "./draggablePoints.tsx";
import style from "./forcePlayground.css";
import { Ground } from "./ground.ts";

const STEP_MS = 40;
const RATE = { name: "rate", label: "Step size", default: 0.05, low: 0.005, high: 0.3, step: 0.005 };

export default function ({ parentElement, data }: ComponentArguments<ForcePlaygroundProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new ForcePlayground(parent),
    (playground) => playground.update(data),
  );
}

class ForcePlayground {
  private losses = new Map<string, LossInfo>();
  /** The loss that the page asked for last; a person may have chosen another since. */
  private lossOfPage = "";
  private loss = "";
  private params: Record<string, ParamValue> = {};
  private now: Arrangement = arrange("triplet");
  private index = 0;
  private pulls: Pulls | null = null;
  private rate = RATE.default;
  /** The last request, and whether the known forces answer it. */
  private question: ForceQuestion | null = null;
  private isCurrent = false;
  /** True if a step is due as soon as the forces are known. */
  private isStepping = false;
  private playing: ReturnType<typeof setInterval> | undefined;

  private draw = onAnimationFrame(() => this.paint());
  private questions = new NewestQuestion<ForceQuestion, LossForces>(
    (answer, question) => this.onAnswer(answer, question),
    (why) => this.fail(why),
  );
  private ground = new Ground(
    () => this.draw(),
    (why) => this.fail(why),
  );
  private points = h("div", { style: "display: contents" });
  private begun = 0; // so many arrangements: a point keeps the focus while it moves, not the one in its place afterwards
  private reading = h("p", { class: "reading", "aria-live": "polite" });
  private menu = h("select", { "aria-label": "Loss", change: () => this.choose(this.menu.value) });
  private presets = h(
    "select",
    { "aria-label": "Points", change: () => this.begin() },
    ...Object.entries(PRESETS).map(([name, { title }]) => new Option(title, name)),
  );
  private circle = h("input", { type: "checkbox", change: () => this.hold() });
  private shade = h("input", { type: "checkbox", change: () => this.draw() });
  private own = h("div", "knobs");
  private speed = h("div", "knobs");
  private play = button("Play", () => (this.playing === undefined ? this.run() : this.pause()));
  private stage = h("div", "stage", this.ground.canvas, this.points);
  private root: HTMLElement;
  private watcher = new ResizeObserver(() => this.draw());

  constructor(parent: ParentNode) {
    this.shade.checked = true;
    const buttons = [button("Step", () => this.step()), this.play, button("Start again", () => this.begin())];
    const side = h(
      "div",
      "side",
      h("div", "choices", this.menu, this.presets),
      this.own,
      h("label", "tick", this.circle, "On the circle"),
      h("label", "tick", this.shade, "Loss as the ground"),
      this.speed,
      h("div", "buttons", ...buttons),
      this.reading,
    );
    this.root = h("section", "force-playground", this.stage, side);
    parent.append(this.root);
    this.watcher.observe(this.stage);
  }

  update({ losses, loss }: ForcePlaygroundProps): void {
    if (!this.losses.size) {
      this.losses = new Map(losses.map((entry) => [entry.name, entry]));
      for (const family of new Set(losses.map((entry) => entry.family))) {
        const entries = losses.filter((entry) => entry.family === family);
        this.menu.append(
          h("optgroup", { label: family }, ...entries.map(({ name, title }) => new Option(title, name))),
        );
      }
    }
    if (loss !== this.lossOfPage && this.losses.has(loss)) {
      this.lossOfPage = loss;
      this.choose(loss);
    }
  }

  destroy(): void {
    this.pause();
    this.questions.close();
    this.ground.close();
    this.watcher.disconnect();
    this.draw.cancel();
    draw(this.points, null);
    this.root.remove();
  }

  private choose(name: string): void {
    const info = this.losses.get(name);
    if (!info) return;
    this.loss = this.menu.value = name;
    this.params = defaults(info.parameters);
    this.drawControls(info);
    this.circle.checked = info.on_sphere;
    if (info.needs_classes) this.presets.value = "batch";
    this.begin();
  }

  private drawControls(info: LossInfo): void {
    const parameters = visibleParams(info.parameters).filter((parameter) => parameter.name !== "centers");
    const change = (name: string, value: ParamValue) => {
      this.params = { ...this.params, [name]: value };
      this.drawControls(info);
      this.ask();
    };
    const go = (_: string, value: ParamValue) => {
      this.rate = Number(value);
      this.drawControls(info);
    };
    draw(this.own, <ParamControls key={info.name} {...{ parameters, values: this.params, change }} />);
    draw(this.speed, <ParamControls parameters={[RATE]} values={{ rate: this.rate }} change={go} />);
  }

  private begin(): void {
    this.pause();
    this.now = arrange(this.presets.value as PresetName, {
      proxies: this.losses.get(this.loss)?.needs_classes,
      circle: this.circle.checked,
    });
    this.index = this.now.preset === "triplet" ? 1 : 0;
    this.pulls = null;
    this.ground.forget();
    this.begun += 1;
    this.ask();
  }

  private hold(): void {
    this.move(this.circle.checked ? hold(this.now) : { ...this.now, circle: false });
  }

  private move(now: Arrangement): void {
    this.now = now;
    this.ask();
  }

  /** Ask what pulls at the points as they lie now; the picture follows at once, its arrows with the answer. */
  private ask(): void {
    this.question = questionOf(this.now, { ...this.params });
    this.isCurrent = false;
    this.questions.ask(`${ROUTES}/losses/${this.loss}/forces.json`, this.question);
    this.draw();
  }

  private onAnswer(answer: LossForces, question: ForceQuestion): void {
    if (question.points.length + question.weights.length !== places(this.now).length) return; // of another arrangement
    this.isCurrent = question === this.question;
    this.pulls = pulls(this.now, answer);
    if (this.isStepping && this.isCurrent) {
      this.isStepping = false;
      this.step();
    }
    this.draw();
  }

  private step(): void {
    if (this.pulls && this.isCurrent) this.move(takeStep(this.now, this.pulls, this.rate));
    else this.isStepping = true;
  }

  private run(): void {
    this.play.textContent = "Pause";
    this.playing = setInterval(() => this.step(), STEP_MS);
  }

  private pause(): void {
    clearInterval(this.playing);
    this.playing = undefined;
    this.isStepping = false;
    this.play.textContent = "Play";
  }

  private fail(why: string): void {
    this.pause();
    this.reading.textContent = why;
  }

  private paint(): void {
    const { now, pulls, index } = this;
    const theme = readTheme(this.root);
    const change = (now: Arrangement) => this.move(now);
    const choose = (index: number) => {
      this.index = index;
      this.draw();
    };
    draw(
      this.points,
      <DraggablePoints key={this.begun} {...{ now, pulls, change, choose }} chosen={index} isDark={theme.dark} />,
    );
    if (this.shade.checked) this.ground.ask(this.loss, { ...this.params }, now, index);
    this.ground.paint(now.circle, this.shade.checked, theme.text, this.stage.clientWidth);
    if (pulls) this.describe(pulls);
  }

  private describe({ loss, active, longest }: Pulls): void {
    const percent = `${Math.round(100 * active)}%`;
    const share = active > 0.9995 ? "all" : active < 0.0005 ? "none" : percent;
    this.reading.replaceChildren(
      "Loss ",
      h("strong", "", formatNumber(loss)),
      `, ${share} of its terms active. Longest arrow: ${formatNumber(longest)}.`,
    );
    setData(this.root, { ready: "true", loss: this.loss, value: loss, longest });
    this.root.dataset.places = JSON.stringify(places(this.now));
  }
}

const button = (name: string, click: () => void) => h("button", { type: "button", click }, name);
