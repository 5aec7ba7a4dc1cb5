// @ts-nocheck
// The stage: two canvases, the motion of the points, the eye. Draws only while something changes.
import * as camera from "../math/camera.ts";
import { CanvasRenderer } from "./canvas.ts";
import { boundsOf } from "../data/frames.ts";
import { GlRenderer } from "./gl.ts";
import { pointLook } from "./pointStyle.ts";
import { buildGrid, nearest } from "../math/picking.ts";
import { Tween } from "../math/tween.ts";

const SOFT = 0.3; // seconds in which the eye covers most of its way to new data
const QUICK = 0.07; // and to where the person sends it
const MOST_RATIO = 2.5; // device pixels a CSS pixel; more is not seen

/** Holds what is on the stage; `paintOver(context, scene)` draws what lies above the points and says
 * whether there are pictures among it; `alsoSee()` gives bounds that Home shows besides the points; `onFrame(seconds)` is
 * called before each drawing, `onLook(gliding)` when the person moved the eye, `onCarry(from, to)` when the world changes under an unmoved picture. */
export class Scene {
  constructor({ points, overlay, renderer, paintOver, alsoSee, onFrame, onCarry, onLook = () => {} }) {
    Object.assign(this, { points, overlay, paintOver, alsoSee, onFrame, onCarry, onLook });
    this.context = overlay.getContext("2d");
    this.renderer = this.makeRenderer(renderer);
    this.port = { width: 0, height: 0, insets: {} };
    this.size = 0; // the shorter side of the stage when it was last seen, to which the eye's distance belongs
    this.view = null; // null until there is a frame to fit
    this.target = null;
    this.pace = SOFT;
    this.automatic = true;
    this.frame = null;
    this.tween = null;
    this.t = 1;
    this.clock = null;
    this.pictured = false; // some points are drawn as pictures
    this.model = null;
    this.pending = 0;
    this.last = 0;
  }

  makeRenderer(wanted) {
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
  reload() {
    if (this.tween) this.renderer.setTween(this.tween);
    if (this.painted) this.renderer.setPaint(this.painted.paint, this.painted.marks);
    this.invalidate();
  }

  setModel(model) {
    this.model = model;
    this.frame = this.tween = this.view = this.target = null;
    this.grid = null;
  }

  setPaint(painted, ground) {
    this.painted = painted;
    this.ground = ground;
    this.grid = null;
    this.renderer.setPaint(painted.paint, painted.marks);
    this.invalidate();
  }

  resize(width, height, insets) {
    const ratio = Math.min(MOST_RATIO, globalThis.devicePixelRatio || 1);
    const old = this.port;
    this.port = { width, height, insets };
    if (old.width === width && old.height === height && this.ratio === ratio) {
      const moved = JSON.stringify(insets) !== JSON.stringify(old.insets);
      if (moved && this.automatic && this.view) this.aim(this.home(), SOFT);
      return;
    }
    this.overlay.width = Math.round(width * ratio);
    this.overlay.height = Math.round(height * ratio);
    this.ratio = ratio;
    this.renderer.resize(width, height, ratio);
    if (this.automatic) this.view = this.home() ?? this.view;
    else if (this.view && width && this.size) this.view = { ...this.view, k: (this.view.k * Math.min(width, height)) / this.size };
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
  show(frame, seconds, { reframe = false } = {}) {
    if (reframe && seconds && this.tween && this.automatic) this.carryTo(this.homeOf(frame));
    if (!this.tween || !seconds) {
      this.move(Tween.rest(frame), 1);
      this.clock = null;
    } else {
      const ratio = this.clock ? seconds / this.clock.seconds : 1;
      this.move(Tween.ease(this.tween, this.t, frame, ratio), 0);
      this.clock = { seconds };
    }
    this.settle(frame);
  }

  /** Show the stretch between two frames at `share` of it; call again with the same tween to move on. */
  play(tween, share, frame) {
    this.clock = null;
    if (this.tween !== tween) {
      this.move(tween, share);
      this.settle(frame);
    }
    this.t = share;
    this.grid = null;
    this.invalidate();
  }

  /** Say all that is on the stage in the world of another view, without moving it on the screen. */
  carryTo(view) {
    if (!view || !this.view) return;
    this.onCarry(this.view, view);
    this.tween = this.tween.carried(this.view, view);
    this.view = view;
    this.target = null;
  }

  /** A frame that is seen fitted to the stage, or as it is seen now, in the world of view `to`. */
  carried(frame, to, now = false) {
    return { ...frame, xy: camera.carry(frame.xy, now ? this.view : this.homeOf(frame), to) };
  }

  move(tween, t) {
    this.tween = tween;
    this.t = t;
    this.grid = null;
    this.renderer.setTween(tween);
  }

  /** The frame on the stage was turned in three dimensions: show it so at once. */
  turned(frame) {
    this.clock = null;
    this.frame = frame;
    this.move(Tween.rest(frame), 1);
    this.invalidate();
  }

  settle(frame) {
    this.frame = frame;
    this.usable = this.model.usable(frame.present);
    if (!this.view) this.view = this.home();
    else this.refit();
    this.invalidate();
  }

  get settled() {
    return !this.clock && (this.t >= 1 || this.t <= 0 || !this.tween?.moves);
  }

  // ---- the eye

  /** The view that shows every point there is to see. */
  home() {
    const key = [this.frame, this.usable, this.port, String(this.alsoSee())];
    if (key.some((part, i) => part !== this.homeKey?.[i])) {
      this.homeKey = key;
      this.homeView = this.frame && this.homeOf(this.frame);
    }
    return this.homeView;
  }

  /** The same for any frame. */
  homeOf(frame) {
    if (!this.port.width) return null;
    const flat = () => boundsOf(frame.xy, this.model.usable(frame.present)) ?? boundsOf(frame.xy, frame.present);
    const shown = frame.xyz ? frame.bounds : flat(); // what turns must not grow and shrink with every turn
    const bounds = camera.union(shown, this.alsoSee());
    return bounds && camera.fit(bounds, this.port, 1e-4);
  }

  aim(view, pace) {
    if (!view || !this.view) return;
    this.target = camera.distance(this.view, view, this.port) > (pace === SOFT ? 4 : 0.2) ? view : null;
    this.pace = pace;
    this.invalidate();
  }

  /** Take the eye into the person's hands; from now on data do not move it. */
  steer(view, { gliding = false } = {}) {
    this.automatic = false;
    if (gliding) this.aim(view, QUICK);
    else [this.target, this.view] = [null, view];
    this.onLook(gliding);
    this.invalidate();
  }

  /** There is more or less to see: the eye follows, unless the person has it in hand. */
  refit() {
    if (this.automatic) this.aim(this.home(), SOFT);
    this.invalidate();
  }

  /** Back to everything; from now on the eye follows the data again. */
  goHome() {
    this.automatic = true;
    this.aim(this.home(), QUICK * 1.6);
    this.onLook(true);
  }

  zoom(factor, sx, sy, gliding) {
    if (!this.view) return;
    const from = gliding && !this.automatic ? (this.target ?? this.view) : this.view;
    this.steer(camera.zoomAbout(from, this.port, sx, sy, factor, this.home()), { gliding });
  }

  pan(dx, dy) {
    if (this.view) this.steer(camera.pan(this.view, dx, dy));
  }

  /** How much closer than Home the eye is. */
  get zoomed() {
    return this.view && this.frame ? this.view.k / (this.home()?.k ?? this.view.k) : 1;
  }

  // ---- questions

  /** Stage position of item i now. */
  screenOf(i) {
    return camera.toScreen(this.view, this.port, ...this.tween.at(i, this.tween.moves ? this.t : 1));
  }

  toScreen = ([x, y]) => camera.toScreen(this.view, this.port, x, y);

  toWorld = (sx, sy) => camera.toWorld(this.view, this.port, sx, sy);

  /** World positions now, in the order of items. */
  places() {
    return this.tween.sample(this.tween.moves ? this.t : 1);
  }

  /** The visible item nearest to a stage point within `reach` pixels, or -1. */
  pick(sx, sy, reach) {
    if (!this.view || !this.tween) return -1;
    this.grid ??= buildGrid(this.places(), this.usable);
    return nearest(this.grid, ...this.toWorld(sx, sy), reach / this.view.k);
  }

  // ---- drawing

  /** Draw soon, once. */
  invalidate() {
    if (!this.pending) this.pending = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.pending = 0;
    const seconds = Math.min(0.1, this.last ? (now - this.last) / 1000 : 1 / 60);
    this.last = now;
    this.onFrame(seconds);
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

  drawNow() {
    const { context, port, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, port.width, port.height);
    if (!this.view || !this.tween || !this.painted) return;
    const moves = this.tween.moves && this.t < 1;
    this.look = pointLook(this.tween.visibleCount(this.t), port, this.zoomed, this.pictured);
    this.renderer.draw({ view: this.view, port, t: this.t, moves, look: this.look, ground: this.ground });
    const { pictured } = this;
    this.pictured = this.paintOver(context, this);
    if (this.pictured !== pictured) this.invalidate();
  }

  destroy() {
    cancelAnimationFrame(this.pending);
    this.renderer.destroy();
  }
}
