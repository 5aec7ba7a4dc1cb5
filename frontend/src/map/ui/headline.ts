// Above the map in the full screen: the run, its step and its scores, to be read from the last row.
import { h } from "../../lib/dom.ts";

export class Headline {
  private title = h("strong");
  private step = h("span", "at");
  private scores = h("span", "figures");
  private note = h("span", "note");
  readonly node = h("div", "headline", this.title, this.step, this.scores, this.note);

  update(title: string, step: string): void {
    if (this.title.textContent !== title) this.title.textContent = title;
    if (this.step.textContent !== step) this.step.textContent = step;
  }

  /** Show scores, and the images that they are of. */
  score(scores: string, note: string): void {
    this.scores.textContent = scores;
    this.note.textContent = scores && note;
  }
}
