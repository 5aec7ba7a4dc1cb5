// The results of one query as tiles: a click turns one over, dragging (or Shift and an arrow key) moves it.
import { minOf } from "../../lib/extent.ts";
import { h, setData } from "../../lib/dom.ts";
import { limit, MOST_RELEVANT, reorder, TILES, toggle } from "./presets.ts";
import { countRight, type Ranking } from "./scores.ts";

const DRAG_START = 6; // pixels

export class RankingRow {
  readonly root: HTMLElement;
  private tiles: HTMLButtonElement[];
  private notes: HTMLElement[];
  private relevant = h("input", {
    type: "number",
    min: 1,
    max: MOST_RELEVANT,
    change: () => this.onchange(limit(this.ranking.hits, Number(this.relevant.value))),
  });
  /** The tile under the pointer, where that went down, and whether it moved since. */
  private grip: { index: number; x: number; moved: boolean } | null = null;
  private wasDragged = false;

  constructor(
    private ranking: Ranking,
    title: string,
    private onchange: (ranking: Ranking) => void,
  ) {
    this.tiles = Array.from({ length: TILES }, (_, index) => this.tile(index));
    this.notes = this.tiles.map(() => h("span", "note"));
    const cells = this.tiles.map((tile, i) => h("div", "cell", h("span", "rank", String(i + 1)), tile, this.notes[i]));
    this.root = h(
      "div",
      "query",
      h("div", "head", h("strong", null, title), h("label", null, "R, right ones in all ", this.relevant)),
      h("div", { class: "tiles", role: "group", "aria-label": `${title}: results, nearest first` }, ...cells),
    );
    this.paint(ranking);
  }

  paint(ranking: Ranking): void {
    this.ranking = ranking;
    ranking.hits.forEach((hit, i) => {
      const right = countRight(ranking.hits, i + 1);
      this.tiles[i].textContent = hit ? "✓" : "✗";
      setData(this.tiles[i], { right: hit });
      this.tiles[i].setAttribute("aria-pressed", String(hit));
      this.tiles[i].setAttribute("aria-label", `Result ${i + 1}: ${hit ? "right" : "wrong"}`);
      this.notes[i].textContent = hit ? `${right}/${i + 1}` : "";
    });
    this.relevant.value = String(ranking.relevant);
  }

  private tile(index: number): HTMLButtonElement {
    const tile = h("button", {
      type: "button",
      title: "Click: right or wrong. Drag: another place.",
      click: () => {
        if (!this.wasDragged) this.onchange(toggle(this.ranking, index));
        this.wasDragged = false;
      },
      keydown: (event) => this.onKey(event, index),
    });
    tile.addEventListener("pointerdown", (event) => {
      this.wasDragged = false;
      this.grip = { index, x: event.clientX, moved: false };
      tile.setPointerCapture(event.pointerId);
    });
    tile.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"] as const)
      tile.addEventListener(name, () => {
        this.wasDragged = this.grip?.moved ?? false;
        this.grip = null;
        this.mark(null);
      });
    return tile;
  }

  private drag({ clientX }: PointerEvent): void {
    const { grip } = this;
    if (!grip || (!grip.moved && Math.abs(clientX - grip.x) < DRAG_START)) return;
    grip.moved = true;
    const to = this.indexAt(clientX);
    if (to !== grip.index) {
      this.onchange(reorder(this.ranking, grip.index, to));
      grip.index = to;
    }
    this.mark(grip.index);
  }

  private mark(index: number | null): void {
    this.tiles.forEach((tile, i) => tile.classList.toggle("dragged", i === index));
  }

  private indexAt(x: number): number {
    const middles = this.tiles.map((tile) => {
      const { left, width } = tile.getBoundingClientRect();
      return Math.abs(left + width / 2 - x);
    });
    return middles.indexOf(minOf(middles));
  }

  private onKey(event: KeyboardEvent, index: number): void {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(TILES - 1, index + by));
    if (event.shiftKey && to !== index) this.onchange(reorder(this.ranking, index, to));
    this.tiles[to].focus();
  }
}
