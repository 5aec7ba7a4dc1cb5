// @ts-nocheck
// Tells Python at which step a person left the replay, once it has stood there for a moment, so that the address has it.

const AFTER = 600; // milliseconds; whoever scrubs is not done before

export class Leaving {
  constructor(view) {
    Object.assign(this, { view, told: null, timer: 0 });
  }

  /** What Python knows already. */
  know(step) {
    clearTimeout(this.timer);
    this.told = Number.isFinite(step) ? step : null;
  }

  /** Look at the stage, after every change of it; at the end of a replay nothing is left standing. */
  look() {
    const { playback, pid } = this.view;
    clearTimeout(this.timer);
    if (pid || playback.open || playback.player.playing || !playback.shown) return;
    const step = playback.shown === playback.entries.at(-1) ? null : playback.shown.step;
    if (step !== this.told) this.timer = setTimeout(() => this.tell(step), AFTER);
  }

  tell(step) {
    this.know(step);
    this.view.intake.adopted.step = JSON.stringify(step); // its echo is no wish of Python's
    this.view.setState?.("step", step);
  }
}
