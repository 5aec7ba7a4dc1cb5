// The moments of a step: chosen one by one, or played in slow motion.
import { h } from "../lib/dom.ts";
import { GRADIENT_MOMENT, MOMENT_MS, MOMENTS, UPDATE_MOMENT } from "./stepAnimation.ts";

export class MomentPlayer {
  moment = GRADIENT_MOMENT;
  isPlaying = false;
  /** Start of the moment; null: it is over. */
  private since: number | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private buttons = MOMENTS.map((name, moment) => h("button", { click: () => this.choose(moment) }, name));
  private play = h("button", { class: "play", click: () => this.toggle() }, "Slow motion");
  readonly nodes = [
    h("div", "player", this.play),
    h("div", { class: "moments", role: "group", "aria-label": "Moments of one step" }, ...this.buttons),
  ];

  constructor(private onchange: () => void) {}

  /** Milliseconds since the moment began; infinite once it is over. */
  get elapsed(): number {
    return this.since === null ? Infinity : performance.now() - this.since;
  }

  /** Stand still at a moment. */
  rest(moment: number): void {
    clearTimeout(this.timer);
    this.isPlaying = false;
    this.moment = moment;
    this.since = null;
  }

  render(): void {
    this.buttons.forEach((button, moment) => button.setAttribute("aria-pressed", String(moment === this.moment)));
    this.play.textContent = this.isPlaying ? "Pause" : "Slow motion";
  }

  destroy(): void {
    clearTimeout(this.timer);
  }

  private choose(moment: number): void {
    this.rest(moment);
    if (moment === UPDATE_MOMENT) this.run();
    this.onchange();
  }

  private toggle(): void {
    if (this.isPlaying) {
      this.choose(this.moment);
      return;
    }
    this.moment = this.moment >= UPDATE_MOMENT || this.moment === GRADIENT_MOMENT ? 0 : this.moment;
    this.isPlaying = true;
    this.run();
  }

  /** Let the moment that is shown run from now on, and the next one follow while playing. */
  private run(): void {
    this.since = performance.now();
    clearTimeout(this.timer);
    if (this.isPlaying) this.timer = setTimeout(() => this.advance(), MOMENT_MS);
    this.onchange();
  }

  private advance(): void {
    if (this.moment === UPDATE_MOMENT) {
      this.rest(UPDATE_MOMENT);
      this.onchange();
      return;
    }
    this.moment += 1;
    this.run();
  }
}
