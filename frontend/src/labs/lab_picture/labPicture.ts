// A picture of a lab: click a place, and see which places are alike: in the same picture, or in a second view of it.
import { heeding } from "../../lib/boundary.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { circle, loadImage } from "../../lib/canvas.ts";
import { context2d, h, pointerPlace, setData } from "../../lib/dom.ts";
import { decodeBase64 } from "../../lib/base64.ts";
import { component } from "../../lib/mount.ts";
import { fetchJson } from "../../lib/server.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import type { EmbeddedTiles, LabPicture, LabPictureProps, PlaceScores } from "../../protocol.ts";
import { highest, middleOf, move, placeAt, similarities } from "./alike.ts";
import { MiniMap } from "./miniMap.ts";
import { drawNet } from "./netDrawing.ts";
import { readPicture } from "./ownPicture.ts";
import style from "./labPicture.css";

const STRIP = 56; // pixels of a tile in the strip
const LINE = 1 / 180; // width of an outline, as a share of the picture
const HEAT = 0.55; // opacity of the best place

class LabPictureView {
  private readonly heed = heeding();
  private props: LabPictureProps | null = null;
  private address = "";
  private rowCache = new Map<PlaceScores, Int8Array>(); // embeddings of a method, decoded once
  private picture: LabPicture | null = null;
  private images: HTMLImageElement[] = [];
  private place = 0;
  private method = 0;
  private left = canvas("The picture: click a place, or move with the arrow keys");
  private right = canvas("The second view");
  private reading = h("p", { class: "reading", "aria-live": "polite" });
  private methods = h("select", {
    "aria-label": "Compared by",
    change: () => {
      this.method = this.methods.selectedIndex;
      this.paint();
    },
  });
  private strip = h("div", "strip");
  private map = new MiniMap((place) => {
    this.place = place;
    this.paint();
  });
  private mapFigure = h(
    "figure",
    { hidden: true },
    this.map.node,
    h("figcaption", null, "Where they lie in the embedding, on its first two principal axes. A click chooses a tile."),
  );
  private net = h("figure", { class: "towers", hidden: true });
  private file = h("input", {
    type: "file",
    accept: "image/*",
    "aria-label": "A picture of your own",
    change: () => this.heed(this.readOwn()),
  });
  private own = h("label", { class: "own button", hidden: true }, "A picture of your own", this.file);
  private back = h("button", { class: "own", hidden: true, click: () => this.goBack() }, "Back to the town");
  private root: HTMLElement;

  constructor(parent: ParentNode) {
    this.root = h(
      "section",
      "lab-picture",
      h("div", "head", h("label", null, "Compared by ", this.methods), this.own, this.back, this.reading),
      h("div", "pictures", this.left, this.right, this.mapFigure),
      this.strip,
      this.net,
    );
    parent.append(this.root);
    this.left.tabIndex = 0;
    this.left.addEventListener("pointerdown", (event) => this.onPointer(event));
    this.left.addEventListener("keydown", (event) => this.onKey(event));
  }

  async update(props: LabPictureProps): Promise<void> {
    const { url, version } = props;
    this.props = props;
    const address = `${url}?${version}`;
    if (address === this.address) return this.paint(); // the theme may be another
    this.address = address;
    this.reading.textContent = "Loading…";
    try {
      const picture = await fetchJson<LabPicture>(url, "The picture");
      const sources = picture.right ? [picture.left, picture.right] : [picture.left];
      const images = await Promise.all(sources.map(loadImage));
      if (address === this.address) this.show(picture, images);
    } catch (error) {
      this.reading.textContent = messageOf(error);
    }
  }

  destroy(): void {
    this.address = "";
    this.root.remove();
  }

  /** Show a picture of the visitor's own, whose tiles the server's net embeds. */
  private async readOwn(): Promise<void> {
    const { props } = this;
    const file = this.file.files?.[0];
    if (!file || !props?.ask) return;
    this.reading.textContent = "Looking at your picture…";
    try {
      const { columns, side, pixels, url } = await readPicture(file, props);
      const image = await loadImage(url);
      this.preview(image, side, columns);
      const tiles = await fetchJson<EmbeddedTiles>(props.ask, "Your picture", { columns, pixels });
      const method = { title: "trained", scores: null, net: null, ...tiles };
      const { cell } = props;
      const picture = { left: url, right: null, side, columns, first: cell / 2, step: cell, cell, most: 50 };
      this.show({ ...picture, methods: [method], truth: null, kinds: null, names: [] }, [image]);
      this.back.hidden = false;
      setData(this.root, { own: columns });
    } catch (error) {
      if (this.picture) this.show(this.picture, this.images); // what was shown before
      this.reading.textContent = messageOf(error);
    }
    this.file.value = ""; // so that the same file can be chosen again
  }

  /** Show a picture before the net has looked at it. */
  private preview(image: HTMLImageElement, side: number, columns: number): void {
    this.left.width = this.left.height = side;
    context2d(this.left).drawImage(image, 0, 0);
    this.strip.replaceChildren();
    this.reading.textContent = `The net looks at the ${grouped(columns ** 2)} tiles of your picture…`;
    setData(this.root, { ready: false });
  }

  private goBack(): void {
    this.address = "";
    this.back.hidden = true;
    setData(this.root, { own: 0 });
    if (this.props) this.heed(this.update(this.props));
  }

  private show(picture: LabPicture, images: HTMLImageElement[]): void {
    this.picture = picture;
    this.images = images;
    this.rowCache.clear();
    this.own.hidden = Boolean(picture.right) || !this.props?.ask;
    this.mapFigure.hidden = Boolean(picture.right);
    this.method = Math.min(this.method, picture.methods.length - 1);
    this.place = Math.floor(picture.columns / 2) * (picture.columns + 1); // in the middle
    this.methods.replaceChildren(...picture.methods.map(({ title }) => h("option", null, title)));
    this.methods.selectedIndex = this.method;
    this.right.hidden = !picture.right;
    for (const view of [this.left, this.right]) view.width = view.height = picture.side;
    this.paint();
  }

  private onPointer(event: PointerEvent): void {
    if (!this.picture) return;
    const [x, y] = pointerPlace(event, this.left);
    this.place = placeAt(this.picture, x * this.picture.side, y * this.picture.side);
    this.paint();
  }

  private onKey(event: KeyboardEvent): void {
    const to = this.picture && move(this.picture, this.place, event.key);
    if (to === null) return;
    event.preventDefault();
    this.place = to;
    this.paint();
  }

  private paint(): void {
    const { picture } = this;
    if (!picture) return;
    const scores = picture.methods[this.method];
    const values = this.valuesOf(scores, picture);
    const best = highest(values, picture.most, picture.right ? -1 : this.place);
    context2d(this.left).drawImage(this.images[0], 0, 0);
    if (picture.right) this.paintSecondView(picture, values, best[0]);
    else {
      this.paintAlike(picture, best);
      this.map.paint(this.rowsOf(scores), scores.dimensions, picture.kinds, best, this.place);
    }
    this.paintNet(scores);
    outline(this.left, picture, this.place, "#e4572e");
    setData(this.root, { ready: true, place: this.place, best: best[0], method: scores.title });
  }

  /** The most alike tiles, lit on the picture and in a strip. */
  private paintAlike(picture: LabPicture, best: number[]): void {
    const context = context2d(this.left);
    context.fillStyle = "rgba(0, 0, 0, 0.55)";
    context.fillRect(0, 0, picture.side, picture.side);
    for (const place of [this.place, ...best]) {
      const [x, y] = corner(picture, place);
      context.drawImage(this.images[0], x, y, picture.cell, picture.cell, x, y, picture.cell, picture.cell);
    }
    for (const place of best) outline(this.left, picture, place, "#2f9ee4");
    this.strip.replaceChildren(...[this.place, ...best].map((place, i) => this.tile(picture, place, i === 0)));
    const kind = picture.kinds?.[this.place];
    const same = best.filter((place) => picture.kinds?.[place] === kind).length;
    this.reading.textContent =
      kind === undefined
        ? `The ${best.length} tiles that are most like this one, of ${grouped(picture.columns ** 2)}.`
        : `${picture.names[kind]}: ${same} of the ${best.length} most alike are of its kind.`;
    setData(this.root, { same });
  }

  private tile(picture: LabPicture, place: number, first: boolean): HTMLCanvasElement {
    const tile = h("canvas", { width: picture.cell, height: picture.cell, class: first ? "clicked" : "" });
    tile.style.width = `${STRIP}px`;
    const [x, y] = corner(picture, place);
    const { cell } = picture;
    context2d(tile).drawImage(this.images[0], x, y, cell, cell, 0, 0, cell, cell);
    return tile;
  }

  /** The net of the chosen method, and which of its weights are shared. */
  private paintNet({ title, net }: PlaceScores): void {
    this.net.hidden = !net;
    if (!net || this.net.dataset.net === title) return;
    this.net.dataset.net = title;
    const caption = `${title}: ${net.body}, ${grouped(net.weights)} weights in all.`;
    this.net.replaceChildren(drawNet(net), h("figcaption", null, caption));
  }

  private rowsOf(scores: PlaceScores): Int8Array {
    const before = this.rowCache.get(scores);
    if (before) return before;
    const rows = new Int8Array(decodeBase64(scores.embeddings ?? scores.scores ?? "").buffer);
    this.rowCache.set(scores, rows);
    return rows;
  }

  /** Similarity of every place to the chosen one. */
  private valuesOf(scores: PlaceScores, picture: LabPicture): ArrayLike<number> {
    const rows = this.rowsOf(scores);
    if (scores.embeddings !== null) return similarities(rows, scores.dimensions, this.place);
    const count = picture.columns ** 2;
    return new Uint8Array(rows.buffer).subarray(this.place * count, (this.place + 1) * count);
  }

  /** A heat map over the second view, with the best place and the true one. */
  private paintSecondView(picture: LabPicture, values: ArrayLike<number>, best: number): void {
    const context = context2d(this.right);
    context.drawImage(this.images[1], 0, 0);
    const high = maxOf(Array.from(values));
    const low = minOf(Array.from(values));
    for (let place = 0; place < values.length; place++) {
      const share = (values[place] - low) / Math.max(1e-9, high - low);
      const [x, y] = middleOf(picture, place);
      context.fillStyle = `rgba(228, 87, 46, ${HEAT * share ** 3})`;
      context.fillRect(x - picture.step / 2, y - picture.step / 2, picture.step, picture.step);
    }
    outline(this.right, picture, best, "#e4572e");
    const truth = picture.truth?.[this.place];
    if (!truth) return;
    const [x, y] = truth;
    context.strokeStyle = "#2f9ee4";
    context.lineWidth = picture.side * LINE;
    circle(context, x, y, picture.cell / 3);
    context.stroke();
    const [bx, by] = middleOf(picture, best);
    const away = Math.hypot(bx - x, by - y);
    const inside = x > 0 && y > 0 && x < picture.side && y < picture.side;
    this.reading.textContent = inside
      ? `The best match (red square) lies ${away.toFixed(0)} pixels from the true place (blue circle).`
      : "The true place lies outside the second view.";
    setData(this.root, { away: away.toFixed(1) });
  }
}

export default component(style, LabPictureView);

function canvas(label: string): HTMLCanvasElement {
  return h("canvas", { role: "img", "aria-label": label });
}

const corner = (picture: LabPicture, place: number): [number, number] => {
  const [x, y] = middleOf(picture, place);
  return [x - picture.cell / 2, y - picture.cell / 2];
};

function outline(view: HTMLCanvasElement, picture: LabPicture, place: number, color: string): void {
  const context = context2d(view);
  const [x, y] = corner(picture, place);
  context.strokeStyle = color;
  context.lineWidth = picture.side * LINE;
  context.strokeRect(x, y, picture.cell, picture.cell);
}
