// A picture with the frame that is cut out of it: moved, resized and turned by pointer, finger and keyboard. What else
// was found in it is outlined, and taken by a click.
import { pathOf, setAttributes, svg } from "../../charts/svg.ts";
import { h } from "../../lib/dom.ts";
import {
  afterKey,
  centeredAt,
  CORNERS,
  cornersOf,
  DEFAULT_FRAME,
  facing,
  isSame,
  pointOf,
  withCorner,
  type Frame,
  type Point,
  type Size,
} from "./frameGeometry.ts";

const STEM = 26; // pixels of the screen from the frame to the handle that turns it
const HANDLE = 6; // radius of a handle as it is seen
const FINGER = [10, 20]; // radius of what is hit, in a small frame and in a large one
const SIDES: readonly Point[] = [
  [0, -1],
  [0, 1],
  [1, 0],
  [-1, 0],
];
const KEYS = "Arrows move it, + and - resize it, [ and ] turn it.";

/** A picture, what was found in it, and what is cut out; null: nothing, the picture is taken as it is. */
export interface FramedPicture {
  url: string;
  frames: Frame[];
  frame: Frame | null;
}

type Move = (to: Point) => Frame;

export class FrameEditor {
  readonly node: HTMLElement;
  private image = h("img", { alt: "Your picture" });
  private shade = svg("path", { class: "shade", "fill-rule": "evenodd" });
  private others = svg("g");
  private outlines = ""; // what `found` holds; drawn anew they would lose the focus
  private box = svg("polygon", { class: "frame", tabindex: 0, role: "application", "data-part": "frame" });
  private stem = svg("path", { class: "stem" });
  private handles = [...CORNERS, null].map((corner) => handle(corner ? "corner" : "turn"));
  private canvas = svg("svg", { class: "overlay" });
  private size: Size = { width: 1, height: 1 };
  private picture: FramedPicture | null = null;
  private drag: Move | null = null;
  private part: string | null = null; // the part that the pointer went down on
  private watcher = new ResizeObserver(() => this.render());

  /** `changed(frame)` hears of every frame that a person makes or takes. */
  constructor(private onChange: (frame: Frame) => void) {
    this.box.setAttribute("aria-label", `Frame: what is cut out of your picture. ${KEYS}`);
    this.canvas.append(this.shade, this.others, this.box, this.stem, ...this.handles.map(({ node }) => node));
    this.node = h("div", { class: "framed", title: `Drag the frame, its corners or its handle. ${KEYS}` });
    this.node.append(this.image, this.canvas);
    this.image.addEventListener("load", () => {
      this.size = { width: this.image.naturalWidth, height: this.image.naturalHeight };
      this.render();
    });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.follow(event));
    for (const name of ["pointerup", "pointercancel"] as const) this.canvas.addEventListener(name, () => this.lift());
    // A finger on the frame moves it; anywhere else on the picture it scrolls the page.
    this.canvas.addEventListener("touchstart", (event) => partOf(event) && event.preventDefault(), { passive: false });
    this.canvas.addEventListener("click", (event) => {
      if (!this.part && this.picture) this.change(centeredAt(this.frame, this.size, this.place(event)));
    });
    this.box.addEventListener("keydown", (event) => {
      const next = event.ctrlKey || event.metaKey ? null : afterKey(this.frame, this.size, event.key);
      if (!next) return;
      event.preventDefault();
      event.stopPropagation();
      this.change(next);
    });
    this.watcher.observe(this.image);
  }

  show(picture: FramedPicture): void {
    if (this.drag) return; // an answer to where the frame was a moment ago
    if (picture.url !== this.picture?.url) this.image.src = picture.url;
    this.picture = picture;
    this.render();
  }

  private get frame(): Frame {
    return this.picture?.frame ?? DEFAULT_FRAME;
  }

  private change(frame: Frame): void {
    if (!this.picture || (this.picture.frame && isSame(frame, this.picture.frame))) return;
    this.picture = { ...this.picture, frame };
    this.render();
    this.onChange(frame);
  }

  private press(event: PointerEvent): void {
    const part = (this.part = partOf(event));
    if (!part || event.button !== 0) return;
    event.preventDefault();
    const { frame, size } = this;
    const begin = this.place(event);
    const [kind, number] = part.split(" ");
    if (kind === "found") return this.take(Number(number));
    const center = pointOf(frame, size, 0, 0);
    this.canvas.setPointerCapture(event.pointerId);
    const moves: Record<string, Move> = {
      frame: ([x, y]) => centeredAt(frame, size, [center[0] + x - begin[0], center[1] + y - begin[1]]),
      corner: (to) => withCorner(frame, size, Number(number), to),
      turn: (to) => facing(frame, size, SIDES[Number(number)], to),
    };
    this.drag = moves[kind];
    this.box.focus({ preventScroll: true });
  }

  private follow(event: PointerEvent): void {
    if (this.drag) this.change(this.drag(this.place(event)));
  }

  private lift(): void {
    this.drag = null;
  }

  private take(index: number): void {
    const frame = this.picture?.frames[index];
    if (!frame) return;
    this.change(frame);
    this.box.focus({ preventScroll: true });
  }

  /** Position of the pointer in the picture. */
  private place(event: MouseEvent): Point {
    const { left, top, width, height } = this.image.getBoundingClientRect();
    return [((event.clientX - left) / width) * this.size.width, ((event.clientY - top) / height) * this.size.height];
  }

  private render(): void {
    const { picture, size, image } = this;
    if (!picture || !image.naturalWidth || !image.clientWidth) return;
    const pixel = size.width / image.clientWidth; // of the screen, in pixels of the picture
    const { frame } = this;
    const has = picture.frame !== null;
    setAttributes(this.canvas, { viewBox: `0 0 ${size.width} ${size.height}` });
    this.node.dataset.frame = has ? [frame.x, frame.y, frame.width, frame.height, frame.angle].join(" ") : "";
    const others = picture.frames.flatMap((other, index) => (has && isSame(other, frame) ? [] : [{ other, index }]));
    const outlines = JSON.stringify([others, size]);
    if (outlines !== this.outlines) this.others.replaceChildren(...others.map((one) => this.outline(one)));
    this.outlines = outlines;
    for (const node of [this.shade, this.box, this.stem, ...this.handles.map((one) => one.node)])
      node.style.display = has ? "" : "none";
    const corners = cornersOf(frame, size);
    const outline = `${pathOf(corners)}Z`;
    this.shade.setAttribute("d", `M0 0H${size.width}V${size.height}H0Z${outline}`);
    this.box.setAttribute("points", corners.join(" "));
    const shorter = Math.min(frame.width * size.width, frame.height * size.height) / pixel;
    const finger = Math.max(FINGER[0], Math.min(FINGER[1], 0.3 * shorter)) * pixel;
    const [turn, side] = this.turnPoint(pixel);
    const [from, to] = [pointOf(frame, size, ...SIDES[side]), turn];
    this.stem.setAttribute("d", pathOf([from, to]));
    this.handles.forEach((one, index) =>
      index < corners.length
        ? one.move(corners[index], HANDLE * pixel, finger, `corner ${index}`)
        : one.move(turn, HANDLE * pixel, finger, `turn ${side}`),
    );
  }

  /** Position of the handle that turns the frame: beyond a side that leaves it inside the picture. */
  private turnPoint(pixel: number): [Point, number] {
    const { frame, size } = this;
    const beyond = ([across, down]: Point): Point => {
      const half = (across ? frame.width * size.width : frame.height * size.height) / 2;
      const reach = 1 + (STEM * pixel) / half;
      return pointOf(frame, size, across * reach, down * reach);
    };
    const margin = HANDLE * pixel;
    const within = ([x, y]: Point) =>
      x >= margin && y >= margin && x <= size.width - margin && y <= size.height - margin;
    const side = SIDES.findIndex((one) => within(beyond(one)));
    if (side >= 0) return [beyond(SIDES[side]), side];
    return [pointOf(frame, size, 0, -0.5), 0]; // a frame as large as the picture
  }

  private outline({ other, index }: { other: Frame; index: number }): SVGElement {
    const node = svg("polygon", {
      class: "found",
      points: cornersOf(other, this.size).join(" "),
      tabindex: 0,
      role: "button",
      "aria-label": `Take this one (${index + 1} of ${this.picture?.frames.length ?? 1} found)`,
      "data-part": `found ${index}`,
    });
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.take(index);
    });
    return node;
  }

  destroy(): void {
    this.watcher.disconnect();
    this.node.remove();
  }
}

/** Part under the pointer: "frame", "corner 2", "turn 0", "found 1"; null on the bare picture. */
const partOf = (event: Event): string | null =>
  (event.target as Element).closest("[data-part]")?.getAttribute("data-part") ?? null;

/** A dot, and around it what a finger hits. */
function handle(name: string) {
  const [hit, dot] = [svg("circle", { class: "hit" }), svg("circle", { class: "dot" })];
  return {
    node: svg("g", { class: name }, dot, hit),
    move([x, y]: Point, radius: number, finger: number, part: string): void {
      setAttributes(dot, { cx: x, cy: y, r: radius });
      setAttributes(hit, { cx: x, cy: y, r: finger, "data-part": part });
    },
  };
}
