// The stage: three canvases and the motion of the points. Draws only while something changes.
import type { Rgb } from "../../lib/theme.ts";
import { context2d } from "../../lib/dom.ts";
import type { Model } from "../data/model.ts";
import {
  carry,
  toScreen,
  toWorld,
  type Bounds,
  type Insets,
  type Point,
  type Port,
  type View,
} from "../math/camera.ts";
import { buildGrid, nearest, type Grid } from "../math/picking.ts";
import { Tween, type PlacedFrame } from "../math/tween.ts";
import { AnimationLoop, LONGEST_S } from "./animationLoop.ts";
import { CameraController } from "./cameraController.ts";
import { Detail } from "./detail.ts";
import { pointStyle, type PointStyle } from "./pointColors.ts";
import type { Moment, Renderer } from "./renderer.ts";
import { CanvasRenderer } from "./canvas.ts";
import { GlRenderer } from "./gl.ts";

/**
 * WebGL2, or Canvas 2D where there is none or `wanted` is "canvas"; `reload()` is called when a lost graphics context has
 * come back and needs everything anew.
 */
export function createRenderer(
  points: HTMLCanvasElement,
  name: string | null | undefined,
  reload: () => void,
): Renderer {
  if (name !== "canvas") {
    try {
      return new GlRenderer(points, reload);
    } catch {
      // A canvas that has refused WebGL2 still gives a 2-D context.
    }
  }
  return new CanvasRenderer(points);
}

const MAX_RATIO = 2.5; // device pixels a CSS pixel; more is not seen
const SOFTWARE_FRAME_MS = 25; // where the processor draws: every second frame of a screen with 60 a second
const BESIDE_TRAINING_MS = 62; // and every fourth while it also trains

export interface SceneHooks {
  /** Draw what lies above the points, and on `ground` what lies below; says whether there are pictures among it. */
  drawOverlay: (context: CanvasRenderingContext2D, ground: CanvasRenderingContext2D) => boolean;
  /** Bounds that Home shows besides the points. */
  extraBounds: () => Bounds | null;
  /** True if the person prefers reduced motion: the camera then jumps to new data. */
  still?: () => boolean;
  /** True while something is computed for what is on the stage. */
  trains?: () => boolean;
  /** Called before each drawing. */
  onFrame: (seconds: number) => void;
  /** The world changes under an unmoved picture. */
  onRebase: (from: View, to: View) => void;
  /** The person moved the camera. */
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
  readonly camera: CameraController;
  frame: PlacedFrame | null = null;
  tween: Tween | null = null;
  t = 1;
  clock: { seconds: number } | null = null;
  style: PointStyle = { radius: 0, opacity: 0, halo: 0 };
  model: Model | null = null;
  /** A byte an item: whether it can be picked. */
  usable: Uint8Array = new Uint8Array();
  private hasPictures = false; // some points are drawn as pictures
  private grid: Grid | null = null;
  private paint: Painted | null = null;
  private background: Rgb = [255, 255, 255];
  private ratio = 0;
  private drawn = ""; // what the points were last drawn for; empty where they are to be drawn again
  private seenFrom: View | null = null; // when they were last drawn
  private pause = 0; // seconds of frames that were left out
  private drawnAt = 0;
  private detail = new Detail(() => this.invalidate());
  private loop = new AnimationLoop((seconds) => this.advance(seconds));
  private context: CanvasRenderingContext2D;
  private below: CanvasRenderingContext2D;

  constructor(
    private ground: HTMLCanvasElement,
    points: HTMLCanvasElement,
    readonly overlay: HTMLCanvasElement,
    private hooks: SceneHooks,
    renderer?: string | null,
  ) {
    this.context = context2d(overlay);
    this.below = context2d(ground);
    this.renderer = createRenderer(points, renderer, () => this.reload());
    this.camera = new CameraController(this, hooks);
  }

  /** The current view, once there is a frame. */
  get view(): View {
    return this.camera.view ?? { x: 0, y: 0, k: 1 };
  }

  /** After a lost graphics context: hand everything over again. */
  private reload(): void {
    this.drawn = "";
    if (this.tween) this.renderer.setTween(this.tween);
    if (this.paint) this.renderer.setPaint(this.paint.paint, this.paint.marks);
    this.invalidate();
  }

  setModel(model: Model): void {
    this.model = model;
    this.frame = this.tween = null;
    this.camera.put(null);
    this.grid = null;
  }

  setPaint(paint: Painted, background: Rgb): void {
    this.paint = paint;
    this.background = background;
    this.grid = null;
    this.renderer.setPaint(paint.paint, paint.marks);
    this.drawn = "";
    this.invalidate();
  }

  /** Take another size; `scale`: the pixels of the window that a pixel of the stage takes. */
  resize(width: number, height: number, insets: Insets, scale = 1): void {
    const ratio = Math.min(MAX_RATIO, (globalThis.devicePixelRatio || 1) * scale);
    const old = this.port;
    this.port = { width, height, insets };
    if (old.width === width && old.height === height && this.ratio === ratio) {
      const hasMoved = JSON.stringify(insets) !== JSON.stringify(old.insets);
      if (hasMoved) this.camera.follow();
      return;
    }
    for (const canvas of [this.ground, this.overlay])
      [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    this.ratio = ratio;
    this.renderer.resize(width, height, ratio);
    this.drawn = "";
    this.camera.resize();
    if (!width) return; // out of sight: as it was, it comes back
    this.drawNow();
  }

  // ---- motion

  /**
   * Show a frame: at once when there is none yet or `seconds` is 0, otherwise moving there. With `reframe`, for frames
   * whose units have nothing to do with those before, the points go straight to their places on the screen instead of
   * through a world in which the camera would have to run after them.
   */
  show(frame: PlacedFrame, seconds: number, { reframe = false } = {}): void {
    if (reframe && seconds && this.tween && this.camera.automatic) this.rebaseTo(this.camera.homeOf(frame));
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
    const { camera } = this;
    if (!view || !camera.view || !this.tween) return;
    this.hooks.onRebase(camera.view, view);
    this.tween = this.tween.rebased(camera.view, view);
    camera.put(view);
  }

  /** A frame that is seen fitted to the stage, or as it is seen now, in the world of view `to`. */
  rebased(frame: PlacedFrame, to: View, now = false): PlacedFrame {
    const from = now ? this.camera.view : this.camera.homeOf(frame);
    return from ? { ...frame, xy: carry(frame.xy, from, to) } : frame;
  }

  private move(tween: Tween, t: number): void {
    this.tween = tween;
    this.t = t;
    this.grid = null;
    this.renderer.setTween(tween);
    this.drawn = "";
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
    if (!this.camera.view) this.camera.put(this.camera.home());
    else this.camera.refit();
    this.invalidate();
  }

  get settled(): boolean {
    return !this.clock && (this.t >= 1 || this.t <= 0 || !this.tween?.moves);
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

  toScreen = ([x, y]: Point): Point => toScreen(this.view, this.port, x, y);

  toWorld = (sx: number, sy: number): Point => toWorld(this.view, this.port, sx, sy);

  /** World positions now, in the order of items. */
  places(): Float32Array {
    return this.tween ? this.tween.sample(this.tween.moves ? this.t : 1) : new Float32Array();
  }

  /** The visible item nearest to a stage point within `reach` pixels, or -1. */
  pick(sx: number, sy: number, reach: number): number {
    if (!this.camera.view || !this.tween) return -1;
    this.grid ??= buildGrid(this.places(), this.usable);
    return nearest(this.grid, ...this.toWorld(sx, sy), reach / this.camera.view.k);
  }

  // ---- drawing

  /** Draw soon, once. */
  invalidate(): void {
    this.loop.start();
  }

  /** True if a drawing is due. */
  get pending(): boolean {
    return this.loop.pending;
  }

  private advance(time: number): boolean {
    const seconds = Math.min(LONGEST_S, this.pause + time);
    // Another drawing would only come later still, or would take the processor from a training.
    const apart = this.hooks.trains?.() ? BESIDE_TRAINING_MS : SOFTWARE_FRAME_MS;
    const waits = this.renderer.isSoftware && performance.now() - this.drawnAt < apart;
    if (waits || (this.detail.slow && this.renderer.busy)) {
      this.pause = seconds;
      return true;
    }
    this.pause = 0;
    this.drawnAt = performance.now();
    this.hooks.onFrame(seconds);
    let moving = false;
    if (this.clock) {
      this.t = Math.min(1, this.t + seconds / this.clock.seconds);
      this.grid = null;
      if (this.t >= 1) this.clock = null;
      moving = true;
    }
    if (this.camera.advance(seconds)) moving = true;
    this.drawNow();
    return moving;
  }

  drawNow(): void {
    const { context, below, port, ratio, camera } = this;
    for (const each of [context, below]) {
      each.setTransform(ratio, 0, 0, ratio, 0, 0);
      each.clearRect(0, 0, port.width, port.height);
    }
    if (!camera.view || !this.tween || !this.paint) return;
    const moves = this.tween.moves && this.t < 1;
    const count = this.tween.visibleCount(this.t);
    this.style = pointStyle(count, port, camera.zoomed, this.hasPictures);
    const moving = moves || (this.seenFrom !== null && camera.view !== this.seenFrom);
    const every = this.detail.next(count, moving);
    this.seenFrom = camera.view;
    this.drawPoints({ view: camera.view, port, t: this.t, moves, style: this.style, ground: this.background, every });
    const { hasPictures } = this;
    this.hasPictures = this.hooks.drawOverlay(context, below);
    if (this.hasPictures !== hasPictures) this.invalidate();
  }

  // A hover or a pin changes only what lies over the points, which stay on their canvas as they are.
  private drawPoints(moment: Moment): void {
    const key = JSON.stringify([moment, this.ratio]);
    if (key === this.drawn) return;
    this.drawn = key;
    const began = performance.now();
    this.renderer.draw(moment);
    this.detail.measure(began, () => this.renderer.busy);
  }

  destroy(): void {
    this.loop.stop();
    this.detail.stop();
    this.renderer.destroy();
  }
}
