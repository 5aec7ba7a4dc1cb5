// Above the map in the full screen: the run, its step and its scores, to be read from the last row.
import { h } from "../../lib/dom.ts";

export class Headline {
  private parts = {
    title: h("strong"),
    step: h("span", "at"),
    scores: h("span", "scored"),
    note: h("span", "note"),
  };
  private texts: Partial<Record<keyof Headline["parts"], string>> = {};
  readonly node = h("div", "full-headline", ...Object.values(this.parts));

  constructor() {
    const follow = () =>
      this.node.isConnected ? this.draw() : document.removeEventListener("fullscreenchange", follow); // the map is gone
    document.addEventListener("fullscreenchange", follow);
  }

  update(title: string, step: string): void {
    Object.assign(this.texts, { title, step });
    this.draw();
  }

  /** Show scores, and the images that they are of. */
  score(scores: string, note: string): void {
    Object.assign(this.texts, { scores, note: scores && note });
    this.draw();
  }

  /** Elsewhere it is empty: the page says the same below the map. */
  private draw(): void {
    const full = this.node.closest(":fullscreen") !== null;
    for (const [name, part] of Object.entries(this.parts)) {
      const text = full ? (this.texts[name as keyof Headline["parts"]] ?? "") : "";
      if (part.textContent !== text) part.textContent = text;
    }
  }
}
