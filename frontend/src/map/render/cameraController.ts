// The camera on the stage: its view, the target of its motion, and whether it follows the data or the person.
import { boundsOf } from "../data/frames.ts";
import type { Model } from "../data/model.ts";
import { between, distance, fit, pan, union, zoomAbout, type Bounds, type Port, type View } from "../math/camera.ts";
import type { PlacedFrame } from "../math/tween.ts";

const FOLLOW_S = 0.3; // seconds in which the camera covers most of its way to new data
const STEER_S = 0.07; // and to where the person sends it

/** The target of the camera. */
interface Stage {
  readonly port: Port;
  readonly model: Model | null;
  readonly frame: PlacedFrame | null;
  readonly usable: Uint8Array;
  invalidate: () => void;
}

interface CameraHooks {
  /** Bounds that Home shows besides the points. */
  extraBounds: () => Bounds | null;
  /** True if the person prefers reduced motion: the camera then jumps to new data. */
  still?: () => boolean;
  /** The person moved the camera. */
  onCamera?: (gliding: boolean) => void;
}

export class CameraController {
  /** The view of the camera; null until there is a frame to fit. */
  view: View | null = null;
  /** The view to which it moves. */
  target: View | null = null;
  /** True if the camera follows the data; false if the person controls it. */
  automatic = true;
  /** The shorter side of the stage when it was last seen, to which the camera's distance belongs. */
  size = 0;
  private pace = FOLLOW_S;
  private homeKey: unknown[] = [];
  private homeView: View | null = null;

  constructor(
    private stage: Stage,
    private hooks: CameraHooks,
  ) {}

  /** The view that shows every point there is to see. */
  home(): View | null {
    const { frame, usable, port } = this.stage;
    const key = [frame, usable, port, String(this.hooks.extraBounds())];
    if (key.some((part, i) => part !== this.homeKey[i])) {
      this.homeKey = key;
      this.homeView = frame && this.homeOf(frame);
    }
    return this.homeView;
  }

  /** The same for any frame. */
  homeOf(frame: PlacedFrame): View | null {
    const { port, model } = this.stage;
    if (!port.width) return null;
    const flat = () => boundsOf(frame.xy, model?.usable(frame.present)) ?? boundsOf(frame.xy, frame.present);
    const area = frame.xyz ? frame.bounds : flat(); // what turns must not grow and shrink with every turn
    const bounds = union(area, this.hooks.extraBounds());
    return bounds && fit(bounds, port, 1e-4);
  }

  /** Zoom of the camera relative to Home. */
  get zoomed(): number {
    return this.view && this.stage.frame ? this.view.k / (this.home()?.k ?? this.view.k) : 1;
  }

  private animate(view: View | null, pace: number): void {
    if (!view || !this.view) return;
    this.target = distance(this.view, view, this.stage.port) > (pace === FOLLOW_S ? 4 : 0.2) ? view : null;
    this.pace = pace;
    if (this.target && pace === FOLLOW_S && this.hooks.still?.()) this.put(this.target);
    this.stage.invalidate();
  }

  /** Go on by `seconds` of the way; says whether there was any. */
  advance(seconds: number): boolean {
    if (!this.target || !this.view) return false;
    this.view = between(this.view, this.target, 1 - Math.exp(-seconds / this.pace));
    if (distance(this.view, this.target, this.stage.port) < 0.3) this.put(this.target);
    return true;
  }

  // ---- with the data

  /** Be there at once. */
  put(view: View | null): void {
    this.view = view;
    this.target = null;
  }

  /** The content grows or shrinks: the camera follows, unless the person controls it. */
  refit(): void {
    this.follow();
    this.stage.invalidate();
  }

  /** Glide to Home, unless the person controls the camera. */
  follow(): void {
    if (this.automatic) this.animate(this.home(), FOLLOW_S);
  }

  /** The stage has another size. */
  resize(): void {
    const { width, height } = this.stage.port;
    if (this.automatic) this.view = this.home() ?? this.view;
    else if (this.view && width && this.size)
      this.view = { ...this.view, k: (this.view.k * Math.min(width, height)) / this.size };
    if (width) this.size = Math.min(width, height);
  }

  // ---- in the person's hands

  /** Set the view; from now on data do not move the camera. */
  set(view: View, { gliding = false } = {}): void {
    this.automatic = false;
    if (gliding) this.animate(view, STEER_S);
    else this.put(view);
    this.hooks.onCamera?.(gliding);
    this.stage.invalidate();
  }

  /** Show everything; from now on the camera follows the data again. */
  goHome(): void {
    this.automatic = true;
    this.animate(this.home(), STEER_S * 1.6);
    this.hooks.onCamera?.(true);
  }

  zoom(factor: number, sx: number, sy: number, gliding: boolean): void {
    if (!this.view) return;
    const from = gliding && !this.automatic ? (this.target ?? this.view) : this.view;
    this.set(zoomAbout(from, this.stage.port, sx, sy, factor, this.home()), { gliding });
  }

  pan(dx: number, dy: number): void {
    if (this.view) this.set(pan(this.view, dx, dy));
  }
}
