// Maps of the same images side by side: who points at an image in one of them sees it in all.
import { decodeBase64 } from "../../lib/base64.ts";
import { h, setData, updateAttribute } from "../../lib/dom.ts";
import { messageOf } from "../../lib/format.ts";
import { component } from "../../lib/mount.ts";
import { classColors } from "../../lib/palette.ts";
import { fetchJson, serverUrl } from "../../lib/server.ts";
import { css, readTheme } from "../../lib/theme.ts";
import type { LabPlanes, LabPlanesProps, PlanePoints } from "../../protocol.ts";
import { drawCircle, drawTemplates, RADIUS } from "./circle.ts";
import { PlaneCanvas } from "./planeCanvas.ts";
import { angleTo, directions, fitOf, onCircle, place, type Points } from "./planeGeometry.ts";
import style from "./labPlanes.css";

const TILE = 56; // pixels of the picture beside the pointer
const PARTS = ["Test images", "Training images", "Both"];

/** A map of one net, or two: where the images are, and where they point. */
interface Shown {
  plane: PlanePoints;
  points: Points;
  angles: Float32Array;
  canvases: { view: PlaneCanvas; directions: boolean }[];
  note: HTMLElement;
}

class LabPlanesView {
  private props: LabPlanesProps | null = null;
  private address = "";
  private data: LabPlanes | null = null;
  private labels: Uint8Array = new Uint8Array();
  private planes: Shown[] = [];
  private part = 0;
  private only = -1; // the class that is not dimmed; −1 for all
  private theme = "";
  private item = -1;
  private sheet: HTMLImageElement | null = null; // loaded once an image is pointed at
  private parts = h("div", { class: "parts", role: "radiogroup", "aria-label": "Which images" });
  private legend = h("div", { class: "legend", role: "group", "aria-label": "Classes" });
  private grid = h("div", "grid");
  private tile = h("div", { class: "tile", hidden: true });
  private reading = h("p", { class: "reading", "aria-live": "polite" }, "Loading…");
  private root = h(
    "section",
    "lab-planes",
    h("div", "head", this.parts, this.legend),
    this.grid,
    this.reading,
    this.tile,
  );

  constructor(parent: ParentNode) {
    parent.append(this.root);
  }

  async update(props: LabPlanesProps): Promise<void> {
    this.props = props;
    const address = `${props.url}?${props.version}`;
    if (address === this.address) {
      if (this.theme !== this.themeName()) this.draw();
      return;
    }
    this.address = address;
    try {
      const data = await fetchJson<LabPlanes>(props.url, "The maps");
      if (address === this.address) this.show(data);
    } catch (error) {
      this.reading.textContent = messageOf(error);
    }
  }

  destroy(): void {
    this.address = "";
    this.clear();
    this.root.remove();
  }

  private clear(): void {
    for (const { canvases } of this.planes) for (const { view } of canvases) view.destroy();
    this.planes = [];
    this.grid.replaceChildren();
  }

  private show(data: LabPlanes): void {
    this.data = data;
    this.labels = decodeBase64(data.labels);
    this.sheet = null;
    this.clear();
    for (const plane of data.planes) this.add(plane);
    const hasBoth = data.tests < this.labels.length;
    this.part = Math.min(this.part, hasBoth ? 2 : 0);
    this.parts.hidden = !hasBoth;
    this.parts.replaceChildren(
      ...PARTS.map((title, part) => h("button", { role: "radio", click: () => this.choosePart(part) }, title)),
    );
    this.legend.replaceChildren(
      ...data.names.map((name, label) =>
        h(
          "button",
          { "aria-pressed": "false", title: `Only ${name}`, click: () => this.chooseClass(label) },
          h("i"),
          name,
        ),
      ),
    );
    this.mark(-1);
    this.draw();
    setData(this.root, { ready: true, planes: data.planes.length });
  }

  private add(plane: PlanePoints): void {
    const points = new Float32Array(decodeBase64(plane.points).buffer);
    const note = h("span", "note", plane.note);
    const kinds = plane.centers ? [false, true] : [false];
    const canvases = kinds.map((isCircle) => ({
      directions: isCircle,
      view: new PlaneCanvas(
        `${plane.title}: ${isCircle ? "directions on a circle, with templates and a histogram" : "the images in the plane"}`,
        (item, event) => this.point(item, event),
        () => this.mark(-1),
      ),
    }));
    this.planes.push({ plane, points, angles: directions(points), canvases, note });
    this.grid.append(h("figure", null, h("b", null, plane.title), note, ...canvases.map(({ view }) => view.node)));
  }

  private themeName(): string {
    const { dark, background, text } = readTheme(this.root);
    return `${dark} ${css(background)} ${css(text)}`;
  }

  private shows = (item: number): boolean => {
    const isTest = item < (this.data?.tests ?? 0);
    return this.part === 2 || isTest === (this.part === 0);
  };

  private draw(): void {
    if (!this.data) return;
    const theme = readTheme(this.root);
    this.theme = this.themeName();
    const { labels, shows } = this;
    const colors = classColors(this.data.names.length, theme.dark);
    const tests = this.data.tests;
    [...this.legend.children].forEach((chip, label) => {
      (chip as HTMLElement).style.setProperty("--color", css(colors[label]));
      updateAttribute(chip, "aria-pressed", label === this.only);
    });
    [...this.parts.children].forEach((one, part) => updateAttribute(one, "aria-checked", part === this.part));
    for (const { plane, points, angles, canvases } of this.planes) {
      const centers = plane.centers;
      for (const { view, directions } of canvases) {
        const places = directions ? onCircle(angles, RADIUS) : place(points, fitOf(points, centers !== null));
        const circle = { angles, labels, colors, centers: centers ?? [], shows };
        view.show(
          {
            places,
            labels,
            colors,
            shows,
            dims: (item) => this.only >= 0 && labels[item] !== this.only,
            hollow: (item) => this.part === 2 && item >= tests,
            radius: 2,
            opacity: directions ? 0.35 : 0.7,
            spoke: centers !== null,
            under: directions
              ? (context, own) => drawCircle(context, own, circle)
              : centers
                ? (context) => drawTemplates(context, colors, centers, 0.1)
                : undefined,
          },
          theme,
        );
      }
    }
    setData(this.root, { part: PARTS[this.part], only: this.only });
  }

  private choosePart(part: number): void {
    this.part = part;
    this.mark(-1);
    this.draw();
  }

  private chooseClass(label: number): void {
    this.only = this.only === label ? -1 : label;
    this.draw();
  }

  private point(item: number, event: PointerEvent): void {
    this.mark(item);
    if (item < 0) return;
    const box = this.root.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 16, box.width - TILE - 8);
    this.tile.style.translate = `${left}px ${event.clientY - box.top + 16}px`;
  }

  /** Mark an image in every map, and say which it is; −1 for none. */
  private mark(item: number): void {
    if (item === this.item && item >= 0) return;
    this.item = item;
    for (const { canvases } of this.planes) for (const { view } of canvases) view.mark(item);
    const { data, props } = this;
    const label = this.labels[item];
    for (const { plane, angles, note } of this.planes) {
      const own = item >= 0 ? plane.centers?.[label] : undefined;
      note.textContent = own ? `${angleTo(angles[item], own).toFixed(1)}° from its template` : plane.note;
    }
    setData(this.root, { item });
    const hasPicture = item >= 0 && data !== null && Boolean(props?.sheet);
    this.tile.hidden = !hasPicture || !this.sheet?.complete;
    if (!data || item < 0) {
      this.reading.textContent =
        "Point at an image: it is marked in every map. A click on a class leaves only that one.";
      return;
    }
    const kind = item < data.tests ? "a test image" : "a training image";
    this.reading.textContent = `${data.names[label]}, ${kind}: marked in all ${this.planes.length} maps.`;
    if (hasPicture && props?.sheet) this.showTile(props.sheet, item, data);
  }

  private showTile(sheet: string, item: number, { columns, tile }: LabPlanes): void {
    if (!this.sheet) {
      this.sheet = new Image();
      this.sheet.src = `${serverUrl(sheet)}?${encodeURIComponent(this.props?.version ?? "")}`;
      this.sheet.addEventListener("load", () => {
        this.tile.style.backgroundImage = `url("${this.sheet?.src}")`;
        this.tile.hidden = this.item < 0;
      });
    }
    const ratio = TILE / tile;
    this.tile.style.backgroundSize = `${columns * tile * ratio}px auto`;
    this.tile.style.backgroundPosition = `${-(item % columns) * TILE}px ${-Math.floor(item / columns) * TILE}px`;
  }
}

export default component(style, LabPlanesView);
