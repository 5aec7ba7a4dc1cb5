// A video that is followed: the true box and those that are found, the score map beside it, and what one may change.
import { heeding } from "../../lib/boundary.ts";
import { h, icon, pointerPlace, setData, updateAttribute } from "../../lib/dom.ts";
import { messageOf } from "../../lib/format.ts";
import { component } from "../../lib/mount.ts";
import { fetchJson } from "../../lib/server.ts";
import type { FollowedVideo, TrackerProps } from "../../protocol.ts";
import { COLORS, OverlapChart, paintFrame, paintMap } from "./paint.ts";
import { decodeVideo, keyedBox, squareOf, summary, type Box, type Video } from "./videoState.ts";
import style from "./tracker.css";

const PLAY = "M4.5 2.6v10.8L13.2 8Z";
const PAUSE = "M4 2.8h2.8v10.4H4ZM9.2 2.8H12v10.4H9.2Z";
const BACK = "M11.5 3 5.5 8l6 5ZM4 3v10";
const FORWARD = "M4.5 3l6 5-6 5ZM12 3v10";
const FRAME_MS = 90;
const WAIT_MS = 120; // after the last move of a slider
const PIXELS = 448; // a side of a canvas
const USUAL_SIDE = 20; // pixels of the box around a mere click

class Tracker {
  private readonly heed = heeding();
  private props: TrackerProps;
  private address = "";
  private video: Video | null = null;
  private frame = 0;
  private index = 0;
  private number: number;
  private box: Box | null = null;
  private drag: { from: [number, number]; to: [number, number] } | null = null;
  private keyBox: Box | null = null; // set by keys, not yet followed
  private timer: ReturnType<typeof setTimeout> | undefined;
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private questions = 0;
  private picture = canvas(
    "The video: draw a box in its first frame. Arrow keys go from frame to frame; Shift with arrows moves a box, plus " +
      "and minus resize it, Enter follows it, Escape drops it",
  );
  private map = canvas("The score map of this frame");
  private chart = new OverlapChart((frame) => this.seek(frame));
  private play = this.button("Play", PLAY, () => this.toggle(), true);
  private scrub = h("input", {
    type: "range",
    min: 0,
    max: 39,
    step: 1,
    value: 0,
    "aria-label": "Frame",
    input: () => this.seek(Number(this.scrub.value)),
  });
  private count = h("span", "count");
  private methods = h("div", { class: "methods", role: "radiogroup", "aria-label": "Whose box and score map" });
  private distractors = this.slider("Distractors", 1);
  private noise = this.slider("Noise, gray levels", 2);
  private reset = h("button", { hidden: true, click: () => this.follow(null) }, "Back to the true first box");
  private mapTitle = h("figcaption");
  private reading = h("p", { class: "reading", "aria-live": "polite" }, "Loading…");
  private root: HTMLElement;

  constructor(parent: ParentNode, props: TrackerProps) {
    this.props = props;
    this.number = props.video;
    this.distractors.input.max = String(props.most_distractors);
    this.noise.input.max = String(props.most_noise);
    this.distractors.input.value = String(props.distractors);
    this.noise.input.value = String(props.noise);
    const next = h("button", { click: () => this.another() }, "Another video");
    this.root = h(
      "section",
      "tracker",
      h(
        "div",
        "stage",
        h(
          "figure",
          null,
          this.picture,
          h("figcaption", null, "White: the true box. Draw one of your own, or Shift + arrows, + and −, Enter."),
        ),
        h("figure", null, this.map, this.mapTitle),
      ),
      h(
        "div",
        "bar",
        this.play,
        this.button("Previous frame", BACK, () => this.step(-1)),
        this.button("Next frame", FORWARD, () => this.step(1)),
        this.scrub,
        this.count,
      ),
      this.chart.node,
      this.methods,
      h("div", "controls", this.distractors.node, this.noise.node, next, this.reset),
      this.reading,
    );
    parent.append(this.root);
    this.listen();
    this.label();
  }

  update(props: TrackerProps): void {
    this.props = props;
    const address = `${props.url}?${props.version}`;
    if (address === this.address) return;
    this.address = address;
    this.heed(this.load(!matchMedia("(prefers-reduced-motion: reduce)").matches));
  }

  destroy(): void {
    this.address = "";
    this.questions++;
    clearTimeout(this.timer);
    clearTimeout(this.waiting);
    this.root.remove();
  }

  // ---- asking

  private async load(play: boolean): Promise<void> {
    const asked = ++this.questions;
    const question = {
      video: this.number,
      distractors: Number(this.distractors.input.value),
      noise: Number(this.noise.input.value),
      box: this.box,
    };
    setData(this.root, { ready: false });
    try {
      const video = decodeVideo(await fetchJson<FollowedVideo>(this.props.url, "The video", question));
      if (asked !== this.questions) return;
      this.show(video);
      if (play) this.start();
    } catch (error) {
      if (asked === this.questions) this.reading.textContent = messageOf(error);
    }
  }

  private show(video: Video): void {
    this.video = video;
    this.frame = Math.min(this.frame, video.count - 1);
    this.scrub.max = String(video.count - 1);
    this.reset.hidden = this.box === null;
    this.methods.replaceChildren(
      ...video.followers.map((one, i) =>
        h(
          "button",
          {
            role: "radio",
            "aria-checked": String(i === this.index),
            style: `--color: ${COLORS[i]}`,
            click: () => this.choose(i),
          },
          h("b", null, one.title),
          h("span", null, summary(one, video.count)),
        ),
      ),
    );
    const { milliseconds } = video.followers[0];
    this.reading.textContent =
      `Video ${this.number + 1} of ${this.props.videos}, made of ${this.props.things}: things of classes that the net ` +
      `has never seen. One frame takes the worker ${milliseconds.toFixed(1)} ms. ` +
      (this.box
        ? "The white box is the thing that your box holds best."
        : "A tracker may also start from your box: drag on the video.");
    this.paint();
    setData(this.root, { ready: true, video: this.number, own: this.box !== null });
  }

  /** Start from another first box; null for the true one. */
  private follow(box: Box | null): void {
    this.box = box && (box.map((value) => Math.round(10 * value) / 10) as Box);
    this.frame = 0;
    this.heed(this.load(box !== null && !matchMedia("(prefers-reduced-motion: reduce)").matches));
  }

  private another(): void {
    this.number = (this.number + 1) % this.props.videos;
    this.follow(null);
  }

  private later(): void {
    this.label();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.heed(this.load(false)), WAIT_MS);
  }

  // ---- playing

  private toggle(): void {
    if (this.timer !== undefined) this.pause();
    else this.start();
  }

  private start(): void {
    if (!this.video) return;
    if (this.frame === this.video.count - 1) this.frame = 0;
    const tick = () => {
      this.paint();
      if (!this.video || this.frame >= this.video.count - 1) return this.pause();
      this.timer = setTimeout(() => {
        this.frame++;
        tick();
      }, FRAME_MS);
    };
    clearTimeout(this.timer);
    tick();
    this.play.replaceChildren(icon(PAUSE, true));
    updateAttribute(this.play, "aria-label", "Pause");
  }

  private pause(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.play.replaceChildren(icon(PLAY, true));
    updateAttribute(this.play, "aria-label", "Play");
  }

  private step(by: number): void {
    this.seek(this.frame + by);
  }

  private seek(frame: number): void {
    if (!this.video) return;
    this.pause();
    if (frame !== 0) this.keyBox = null; // a box begins in the first frame
    this.frame = Math.max(0, Math.min(this.video.count - 1, frame));
    this.paint();
  }

  private choose(method: number): void {
    this.index = method;
    [...this.methods.children].forEach((one, i) => updateAttribute(one, "aria-checked", i === method));
    this.paint();
  }

  // ---- drawing a box

  private listen(): void {
    this.picture.tabIndex = 0;
    this.picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.video) return;
      event.preventDefault();
      this.picture.setPointerCapture(event.pointerId);
      this.seek(0);
      const at = this.pointOf(event);
      this.drag = { from: at, to: at };
    });
    this.picture.addEventListener("pointermove", (event) => {
      if (!this.drag) return;
      this.drag.to = this.pointOf(event);
      this.paint();
    });
    const lift = () => {
      if (!this.drag || !this.video) return;
      const { from, to } = this.drag;
      this.drag = null;
      this.follow(squareOf(from, to, this.video.side, USUAL_SIDE));
    };
    this.picture.addEventListener("pointerup", lift);
    this.picture.addEventListener("pointercancel", () => {
      this.drag = null;
      this.paint();
    });
    this.picture.addEventListener("keydown", (event) => {
      if (this.onBoxKey(event)) return;
      if (event.key === "ArrowRight") this.step(1);
      else if (event.key === "ArrowLeft") this.step(-1);
      else if (event.key === " ") this.toggle();
      else return;
      event.preventDefault();
    });
  }

  /** Set the box by keys; true for a key that was meant for it. */
  private onBoxKey(event: KeyboardEvent): boolean {
    if (!this.video) return false;
    const { keyBox, video } = this;
    const next = keyedBox(keyBox ?? this.box ?? video.first, event.key, event.shiftKey, video.side);
    if (!next && !(keyBox && (event.key === "Enter" || event.key === "Escape"))) return false;
    event.preventDefault();
    this.keyBox = next;
    this.seek(0);
    if (next) {
      const [row, column, side] = next;
      this.reading.textContent = `Box at row ${row.toFixed(0)}, column ${column.toFixed(0)}, side ${side.toFixed(0)}: Enter follows it.`;
    } else if (event.key === "Enter") this.follow(keyBox);
    return true;
  }

  private pointOf(event: PointerEvent): [number, number] {
    const side = this.video?.side ?? 1;
    const [x, y] = pointerPlace(event, this.picture);
    return [x * side, y * side];
  }

  // ---- painting

  private paint(): void {
    const { video, frame } = this;
    if (!video) return;
    const box = this.drag ? squareOf(this.drag.from, this.drag.to, video.side, USUAL_SIDE) : this.keyBox;
    paintFrame(this.picture, video, frame, this.index, box);
    paintMap(this.map, video, frame, this.index);
    this.chart.draw(video, frame, this.index);
    const follower = video.followers[this.index];
    this.mapTitle.textContent = `Score map, ${follower.title}: where it sees the target. IoU here ${follower.overlaps[frame].toFixed(2)}.`;
    this.scrub.value = String(frame);
    this.count.textContent = `${frame} / ${video.count - 1}`;
    setData(this.root, {
      frame,
      method: follower.title,
      means: video.followers.map(({ mean }) => mean.toFixed(3)).join(" "),
    });
  }

  private label(): void {
    for (const { input, value } of [this.distractors, this.noise]) value.textContent = input.value;
  }

  private button(label: string, d: string, click: () => void, filled = false): HTMLButtonElement {
    return h("button", { title: label, "aria-label": label, click }, icon(d, filled));
  }

  private slider(label: string, step: number) {
    const value = h("output");
    const input = h("input", { type: "range", min: 0, step, "aria-label": label, input: () => this.later() });
    return { input, value, node: h("label", null, `${label} `, value, input) };
  }
}

export default component(style, Tracker);

function canvas(label: string): HTMLCanvasElement {
  return h("canvas", { role: "img", "aria-label": label, width: PIXELS, height: PIXELS });
}
