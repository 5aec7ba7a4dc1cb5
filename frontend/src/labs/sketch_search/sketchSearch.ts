// Photographs that a drawing finds, and one map of both domains: circles are photographs, crosses are sketches.
import { loadImage } from "../../lib/canvas.ts";
import { context2d, h, setData } from "../../lib/dom.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { component } from "../../lib/mount.ts";
import { fetchJson } from "../../lib/server.ts";
import type { SketchSearchProps, TwoDomains } from "../../protocol.ts";
import { DomainMap } from "./domainMap.ts";
import style from "./sketchSearch.css";

class SketchSearch {
  private address = "";
  private data: TwoDomains | null = null;
  private sheets: HTMLImageElement[] = [];
  private map = new DomainMap((pair) => this.mark(pair));
  private nearest = h("ol", "nearest");
  private pair = h("div", "pair");
  private reading = h("p", { class: "reading", "aria-live": "polite" }, "Loading…");
  private root = h(
    "section",
    "sketch-search",
    h("div", "answer", this.reading, this.nearest),
    h(
      "figure",
      null,
      this.map.node,
      h(
        "figcaption",
        null,
        "Circles: photographs. Crosses: their sketches. A line joins each true pair; the square is your drawing.",
      ),
      this.pair,
    ),
  );

  constructor(parent: ParentNode) {
    parent.append(this.root);
  }

  async update({ url, version, trial, variant, drawing }: SketchSearchProps): Promise<void> {
    const question = { trial, variant, drawing };
    const address = `${url}?${version} ${JSON.stringify(question)}`;
    if (address === this.address) return this.map.paint();
    this.address = address;
    setData(this.root, { ready: false });
    try {
      const data = await fetchJson<TwoDomains>(url, "The search", question);
      const sources = [
        data.photographs,
        data.sketches,
        ...(data.answer ? [data.answer.sheet, data.answer.prepared] : []),
      ];
      const sheets = await Promise.all(sources.map(loadImage));
      if (address === this.address) this.show(data, sheets, variant);
    } catch (error) {
      if (address === this.address) this.reading.textContent = messageOf(error);
    }
  }

  destroy(): void {
    this.address = "";
    this.map.destroy();
    this.root.remove();
  }

  private show(data: TwoDomains, sheets: HTMLImageElement[], variant: string): void {
    this.data = data;
    this.sheets = sheets;
    const { answer } = data;
    this.map.show(data);
    this.mark(-1);
    if (answer) {
      const kinds = answer.nearest.map(({ garment }) => data.names[garment]);
      this.reading.textContent = `Your drawing, as the net sees it, and the ${kinds.length} nearest of ${grouped(data.count)} photographs.`;
      const query = h("li", "drawn", this.tile(sheets[3], 0), h("span", null, "drawn"));
      this.nearest.replaceChildren(
        query,
        ...answer.nearest.map(({ garment, distance }, i) =>
          h(
            "li",
            { title: `${data.names[garment]}, ${distance.toFixed(2)} away` },
            this.tile(sheets[2], i),
            h("span", null, data.names[garment]),
          ),
        ),
      );
      setData(this.root, { kinds: kinds.join(", ") });
    } else {
      this.reading.textContent = "Draw on the pad: lines only, as large as the pad. The nearest photographs come here.";
      this.nearest.replaceChildren();
      setData(this.root, { kinds: "" });
    }
    setData(this.root, { ready: true, variant, pairs: data.garments.length });
  }

  /** Show both pictures of a pair; −1 for none. */
  private mark(pair: number): void {
    const { data } = this;
    if (!data || pair < 0) return this.pair.replaceChildren(h("span", null, "Point at the map to see a pair."));
    this.pair.replaceChildren(
      this.tile(this.sheets[0], pair),
      this.tile(this.sheets[1], pair),
      h("span", null, data.names[data.garments[pair]]),
    );
    setData(this.root, { pair });
  }

  private tile(sheet: HTMLImageElement, i: number): HTMLCanvasElement {
    const side = this.data?.tile ?? 28;
    const tile = h("canvas", { width: side, height: side });
    context2d(tile).drawImage(sheet, i * side, 0, side, side, 0, 0, side, side);
    return tile;
  }
}

export default component(style, SketchSearch);
