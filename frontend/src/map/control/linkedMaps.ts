// Maps of the same items side by side: they have one store, and what is pointed at on one is marked on the others.
// `data.link` names their group. Maps of different runs also share epochs and the camera; those of one run, drawn in
// different ways, do not (`data.links_views` is false): neither their places nor their iterations can be compared.
import { bus, type BusEvents } from "../../lib/bus.ts";
import type { View } from "../math/camera.ts";
import type { Playback } from "../playback/playback.ts";
import type { CameraController } from "../render/cameraController.ts";

/** Actions on the epochs that a map shows. */
export const SYNCED_ACTIONS = new Set(["play", "step", "seek", "seekStep", "scrub", "speed"]);

/** The camera relative to Home, without the units of the world: its zoom, and its offset in pixels there. */
export const fromHome = (view: View, home: View) => ({
  zoom: view.k / home.k,
  x: (view.x - home.x) * home.k,
  y: (view.y - home.y) * home.k,
});

/** The view of that camera in another world. */
export const intoWorld = ({ zoom, x, y }: ReturnType<typeof fromHome>, home: View): View => ({
  x: home.x + x / home.k,
  y: home.y + y / home.k,
  k: home.k * zoom,
});

/** The other map's step beside `step` of `total`: the same one, or if the lengths differ, the one at the same share. */
export function stepBeside(step: number, total: number, other: number): number {
  return !total || !other || total === other ? step : Math.round((step * other) / total);
}

/** A map among linked maps, as the others see it. */
interface Member {
  data: { link?: string | null; links_views?: boolean; small_map?: { nth: number | null } };
}

/** True if a map stays at the untrained net, whatever the others beside it show. */
export const isHeld = ({ data: { small_map: small } }: Member): boolean => small?.nth === null;

export interface LinkedParts {
  state: Member;
  camera: Pick<CameraController, "view" | "target" | "automatic" | "home" | "set" | "goHome">;
  playback: Pick<Playback, "entries" | "seekInterpolated"> & {
    timeline: { total: number | null };
    player: { following: boolean; pause(): void };
  };
  /** Apply the others' hover without announcing it. */
  hover: (item: number | null) => void;
}

/** The link of one map to the others of its group. */
export class MapLink {
  /** True if this map's epochs lead; null before a choice. */
  private led: boolean | null = null;
  /** True while the camera follows another map's. */
  private following = false;
  private offs: (() => void)[];

  constructor(private parts: LinkedParts) {
    const { hover } = parts;
    this.offs = [
      bus.on("hover", ({ item, source }) => this.isPartner(source) && hover(item)),
      bus.on("camera", (detail) => this.sharesView(detail.source) && this.applyCamera(detail)),
      bus.on("lead", ({ source }) => this.sharesView(source) && this.follow()),
      bus.on("frame", (detail) => this.sharesView(detail.source) && this.applyStep(detail)),
    ];
  }

  private get group(): string | null {
    return this.parts.state.data.link ?? null;
  }

  private isPartner(source: unknown): boolean {
    return (
      this.group !== null && source !== this.parts.state && (source as Member | undefined)?.data?.link === this.group
    );
  }

  private get linksViews(): boolean {
    return this.group !== null && this.parts.state.data.links_views !== false;
  }

  private sharesView(source: unknown): boolean {
    return this.linksViews && this.isPartner(source);
  }

  /** Length of the training, to compare with the other's. */
  get total(): number {
    const { timeline, entries } = this.parts.playback;
    return timeline.total ?? entries.at(-1)?.step ?? 0;
  }

  /** True if the others follow this map's epochs: it was played last, or has learned before our eyes and none was played. */
  get leads(): boolean {
    const { playback } = this.parts;
    return this.linksViews && !isHeld(this.parts.state) && (this.led ?? playback.player.following);
  }

  // ---- from this map

  onAction(action: string): void {
    if (!this.linksViews || !SYNCED_ACTIONS.has(action)) return;
    this.led = true;
    bus.emit("lead", { source: this.parts.state });
  }

  /** Send a camera move to the other maps. */
  onCamera(gliding: boolean): void {
    const { camera, state } = this.parts;
    if (!this.linksViews || this.following) return;
    const [view, home] = [camera.target ?? camera.view, camera.home()];
    if (!view || !home) return;
    bus.emit("camera", { source: state, pose: camera.automatic ? null : fromHome(view, home), gliding });
  }

  // ---- from the others

  private applyCamera({ pose, gliding }: BusEvents["camera"]): void {
    const { camera } = this.parts;
    const home = camera.home();
    if (!camera.view || !home) return;
    this.following = true;
    if (pose) camera.set(intoWorld(pose, home), { gliding });
    else camera.goHome();
    this.following = false;
  }

  private follow(): void {
    this.led = false;
    this.parts.playback.player.pause();
  }

  private applyStep({ step, total = 0, leads }: BusEvents["frame"]): void {
    if (!leads || this.leads || isHeld(this.parts.state)) return;
    this.parts.playback.seekInterpolated(stepBeside(step, total, this.total));
  }

  destroy(): void {
    this.offs.forEach((off) => off());
  }
}
