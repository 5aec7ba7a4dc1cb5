// Tells Python at which step a person left the replay, once it has stood there for a moment, so that the address has it.
import type { Playback } from "../playback/playback.ts";

const AFTER_MS = 600; // whoever scrubs is not done before

type Standing = Pick<Playback, "shown" | "entries" | "open"> & { player: Pick<Playback["player"], "playing"> };

export class StepPersistence {
  private saved: number | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `pid()` is the projection that is shown, whose iterations are no steps. */
  constructor(
    private playback: Standing,
    private pid: () => string | null,
    private save: (step: number | null) => void,
  ) {}

  /** What Python knows already. */
  setSaved(step: number | null | undefined): void {
    clearTimeout(this.timer);
    this.saved = typeof step === "number" && Number.isFinite(step) ? step : null;
  }

  /** Look at the stage, after every change of it; at the end of a replay nothing is left standing. */
  schedule(): void {
    const { shown, entries, open, player } = this.playback;
    clearTimeout(this.timer);
    if (this.pid() || open || player.playing || !shown || !entries.includes(shown)) return; // one of before is still shown
    const step = shown === entries.at(-1) ? null : shown.step;
    if (step === this.saved) return;
    this.timer = setTimeout(() => {
      this.setSaved(step);
      this.save(step);
    }, AFTER_MS);
  }
}
