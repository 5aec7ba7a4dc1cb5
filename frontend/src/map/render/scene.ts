// The stage: two canvases, the motion of the points, the eye. Draws only while something changes.
import * as camera from "../math/camera.ts";
import type { Rgb } from "../../lib/theme.ts";
import { context2d } from "../../lib/dom.ts";
import { boundsOf } from "../data/frames.ts";
import type { Model } from "../data/model.ts";
import type { Bounds, Insets, Point, Port, View } from "../math/camera.ts";
import { buildGrid, nearest, type Grid } from "../math/picking.ts";
import type { PlacedFrame } from "../math/placedFrame.ts";
import { Tween } from "../math/tween.ts";
import { CanvasRenderer } from "./canvas.ts";
import { GlRenderer } from "./gl.ts";
import { pointStyle, type PointStyle } from "./pointStyle.ts";
import type { Renderer } from "./renderer.ts";

const FOLLOW_S = 0.3; // seconds in which the eye covers most of its way to new data
const STEER_S = 0.07; // and to where the person sends it
const MAX_RATIO = 2.5; // device pixels a CSS pixel; more is not seen

export interface SceneHooks {
  /** Draw what lies above the points; says whether there are pictures among it. */
  drawOverlay: (context: CanvasRenderingContext2D, scene: Scene) => boolean;
  /** Bounds that Home shows besides the points. */
  extraBounds: () => Bounds | null;
  /** Called before each drawing. */
  onFrame: (seconds: number) => void;
  /** The world changes under an unmoved picture. */
  onRebase: (from: View, to: View) => void;
  /** The person moved the eye. */
  onCamera?: (gliding: boolean) => void;
}

interface Painted {
  paint: Uint8Array<ArrayBuffer>;
  marks: Uint8Array<ArrayBuffer>;
}

/** Holds what is on the stage. */
export class Scene {
  readonly renderer: Renderer;
  port: Port = { width: 0, height: 0, insets: {} };
  /** The shorter side of the stage when it was last seen, to which the eye's distance belongs. */
  size = 0;
  /** The eye; null until there is a frame to fit. */
  view: View | null = null;
  /** Where the eye is going. */
  target: View | null = null;
  /** Whether the eye follows the data; false where the person has it in hand. */
  automatic = true;
  frame: PlacedFrame | null = null;
  tween: Tween | null = null;
  t = 1;
  clock: { seconds: number } | null = null;
  style: PointStyle = { radius: 0, opacity: 0, halo: 0 };
  /** A byte an item: whether it can be picked. */
  usable: Uint8Array = new Uint8Array();
  pending = 0;
  private pace = FOLLOW_S;
  private pictured = false; // some points are drawn as pictures
  private model: Model | null = null;
  private grid: Grid | null = null;
  private painted: Painted | null = null;
  private ground: Rgb = [255, 255, 255];
  private ratio = 0;
  private last = 0;
  private context: CanvasRenderingContext2D;
  private homeKey: unknown[] = [];
  private homeView: View | null = null;

  constructor(
    private points: HTMLCanvasElement,
    readonly overlay: HTMLCanvasElement,
    private hooks: SceneHooks,
    renderer?: string | null,
  ) {
    this.context = context2d(overlay);
    this.renderer = this.makeRenderer(renderer);
  }

  /** The eye, once there is a frame. */
  get eye(): View {
    return this.view ?? { x: 0, y: 0, k: 1 };
  }

  private makeRenderer(wanted: string | null | undefined): Renderer {
    if (wanted !== "canvas") {
      try {
        return new GlRenderer(this.points, () => this.reload());
      } catch {
        // A canvas that has refused WebGL2 still gives a 2-D context.
      }
    }
    return new CanvasRenderer(this.points);
  }

  /** After a lost graphics context: hand everything over again. */
  private reload(): void {
    if (this.tween) this.renderer.setTween(this.tween);
    if (this.painted) this.renderer.setPaint(this.painted.paint, this.painted.marks);
    this.invalidate();
  }

  setModel(model: Model): void {
    this.model = model;
    this.frame = this.tween = this.view = this.target = null;
    this.grid = null;
  }

  setPaint(painted: Painted, ground: Rgb): void {
    this.painted = painted;
    this.ground = ground;
    this.grid = null;
    this.renderer.setPaint(painted.paint, painted.marks);
    this.invalidate();
  }

  resize(width: number, height: number, insets: Insets): void {
    const ratio = Math.min(MAX_RATIO, globalThis.devicePixelRatio || 1);
    const old = this.port;
    this.port = { width, height, insets };
    if (old.width === width && old.height === height && this.ratio === ratio) {
      const moved = JSON.stringify(insets) !== JSON.stringify(old.insets);
      if (moved && this.automatic && this.view) this.animateCamera(this.home(), FOLLOW_S);
      return;
    }
    this.overlay.width = Math.round(width * ratio);
    this.overlay.height = Math.round(height * ratio);
    this.ratio = ratio;
    this.renderer.resize(width, height, ratio);
    if (this.automatic) this.view = this.home() ?? this.view;
    else if (this.view && width && this.size)
      this.view = { ...this.view, k: (this.view.k * Math.min(width, height)) / this.size };
    if (!width) return; // out of sight: as it was, it comes back
    this.size = Math.min(width, height);
    this.drawNow();
  }

  // ---- motion

  /**
   * Show a frame: at once when there is none yet or `seconds` is 0, otherwise moving there. With `reframe`, for frames
   * whose units have nothing to do with those before, the points go straight to their places on the screen instead of
   * through a world in which the eye would have to run after them.
   */
  show(frame: PlacedFrame, seconds: number, { reframe = false } = {}): void {
    if (reframe && seconds && this.tween && this.automatic) this.rebaseTo(this.homeOf(frame));
    if (!this.tween || !seconds) {
      this.move(Tween.rest(frame), 1);
      this.clock = null;
    } else {
      const ratio = this.clock ? seconds / this.clock.seconds : 1;
      this.move(Tween.ease(this.tween, this.t, frame, ratio), 0);
      this.clock = { seconds };
    }
    this.finishTween(frame);
  }

  /** Show the stretch between two frames at `share` of it; call again with the same tween to move on. */
  play(tween: Tween, share: number, frame: PlacedFrame): void {
    this.clock = null;
    if (this.tween !== tween) {
      this.move(tween, share);
      this.finishTween(frame);
    }
    this.t = share;
    this.grid = null;
    this.invalidate();
  }

  /** Say all that is on the stage in the world of another view, without moving it on the screen. */
  rebaseTo(view: View | null): void {
    if (!view || !this.view || !this.tween) return;
    this.hooks.onRebase(this.view, view);
    this.tween = this.tween.rebased(this.view, view);
    this.view = view;
    this.target = null;
  }

  /** A frame that is seen fitted to the stage, or as it is seen now, in the world of view `to`. */
  rebased(frame: PlacedFrame, to: View, now = false): PlacedFrame {
    const from = now ? this.view : this.homeOf(frame);
    return from ? { ...frame, xy: camera.carry(frame.xy, from, to) } : frame;
  }

  private move(tween: Tween, t: number): void {
    this.tween = tween;
    this.t = t;
    this.grid = null;
    this.renderer.setTween(tween);
  }

  /** The frame on the stage was turned in three dimensions: show it so at once. */
  rotated(frame: PlacedFrame): void {
    this.clock = null;
    this.frame = frame;
    this.move(Tween.rest(frame), 1);
    this.invalidate();
  }

  private finishTween(frame: PlacedFrame): void {
    this.frame = frame;
    if (this.model) this.usable = this.model.usable(frame.present);
    if (!this.view) this.view = this.home();
    else this.refit();
    this.invalidate();
  }

  get settled(): boolean {
    return !this.clock && (this.t >= 1 || this.t <= 0 || !this.tween?.moves);
  }

  // ---- the eye

  /** The view that shows every point there is to see. */
  home(): View | null {
    const key = [this.frame, this.usable, this.port, String(this.hooks.extraBounds())];
    if (key.some((part, i) => part !== this.homeKey[i])) {
      this.homeKey = key;
      this.homeView = this.frame && this.homeOf(this.frame);
    }
    return this.homeView;
  }

  /** The same for any frame. */
  homeOf(frame: PlacedFrame): View | null {
    if (!this.port.width) return null;
    const flat = () => boundsOf(frame.xy, this.model?.usable(frame.present)) ?? boundsOf(frame.xy, frame.present);
    const shown = frame.xyz ? frame.bounds : flat(); // what turns must not grow and shrink with every turn
    const bounds = camera.union(shown, this.hooks.extraBounds());
    return bounds && camera.fit(bounds, this.port, 1e-4);
  }

  private animateCamera(view: View | null, pace: number): void {
    if (!view || !this.view) return;
    this.target = camera.distance(this.view, view, this.port) > (pace === FOLLOW_S ? 4 : 0.2) ? view : null;
    this.pace = pace;
    this.invalidate();
  }

  /** Take the eye into the person's hands; from now on data do not move it. */
  setCamera(view: View, { gliding = false } = {}): void {
    this.automatic = false;
    if (gliding) this.animateCamera(view, STEER_S);
    else {
      this.target = null;
      this.view = view;
    }
    this.hooks.onCamera?.(gliding);
    this.invalidate();
  }

  /** There is more or less to see: the eye follows, unless the person has it in hand. */
  refit(): void {
    if (this.automatic) this.animateCamera(this.home(), FOLLOW_S);
    this.invalidate();
  }

  /** Back to everything; from now on the eye follows the data again. */
  goHome(): void {
    this.automatic = true;
    this.animateCamera(this.home(), STEER_S * 1.6);
    this.hooks.onCamera?.(true);
  }

  zoom(factor: number, sx: number, sy: number, gliding: boolean): void {
    if (!this.view) return;
    const from = gliding && !this.automatic ? (this.target ?? this.view) : this.view;
    this.setCamera(camera.zoomAbout(from, this.port, sx, sy, factor, this.home()), { gliding });
  }

  pan(dx: number, dy: number): void {
    if (this.view) this.setCamera(camera.pan(this.view, dx, dy));
  }

  /** How much closer than Home the eye is. */
  get zoomed(): number {
    return this.view && this.frame ? this.view.k / (this.home()?.k ?? this.view.k) : 1;
  }

  // ---- questions

  /** Stage position of item i now. */
  screenOf(i: number): Point {
    return this.toScreen(this.worldOf(i));
  }

  /** World position of item i now. */
  worldOf(i: number): Point {
    return this.tween ? this.tween.at(i, this.tween.moves ? this.t : 1) : [0, 0];
  }

  toScreen = ([x, y]: Point): Point => camera.toScreen(this.eye, this.port, x, y);

  toWorld = (sx: number, sy: number): Point => camera.toWorld(this.eye, this.port, sx, sy);

  /** World positions now, in the order of items. */
  places(): Float32Array {
    return this.tween ? this.tween.sample(this.tween.moves ? this.t : 1) : new Float32Array();
  }

  /** The visible item nearest to a stage point within `reach` pixels, or -1. */
  pick(sx: number, sy: number, reach: number): number {
    if (!this.view || !this.tween) return -1;
    this.grid ??= buildGrid(this.places(), this.usable);
    return nearest(this.grid, ...this.toWorld(sx, sy), reach / this.view.k);
  }

  // ---- drawing

  /** Draw soon, once. */
  invalidate(): void {
    if (!this.pending) this.pending = requestAnimationFrame((now) => this.tick(now));
  }

  private tick(now: number): void {
    this.pending = 0;
    const seconds = Math.min(0.1, this.last ? (now - this.last) / 1000 : 1 / 60);
    this.last = now;
    this.hooks.onFrame(seconds);
    let moving = false;
    if (this.clock) {
      this.t = Math.min(1, this.t + seconds / this.clock.seconds);
      this.grid = null;
      if (this.t >= 1) this.clock = null;
      moving = true;
    }
    if (this.target && this.view) {
      this.view = camera.between(this.view, this.target, 1 - Math.exp(-seconds / this.pace));
      if (camera.distance(this.view, this.target, this.port) < 0.3) {
        this.view = this.target;
        this.target = null;
      }
      moving = true;
    }
    this.drawNow();
    if (moving) this.invalidate();
    else if (!this.pending) this.last = 0;
  }

  drawNow(): void {
    const { context, port, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, port.width, port.height);
    if (!this.view || !this.tween || !this.painted) return;
    const moves = this.tween.moves && this.t < 1;
    this.style = pointStyle(this.tween.visibleCount(this.t), port, this.zoomed, this.pictured);
    this.renderer.draw({ view: this.view, port, t: this.t, moves, style: this.style, ground: this.ground });
    const { pictured } = this;
    this.pictured = this.hooks.drawOverlay(context, this);
    if (this.pictured !== pictured) this.invalidate();
  }

  destroy(): void {
    cancelAnimationFrame(this.pending);
    this.renderer.destroy();
  }
}
