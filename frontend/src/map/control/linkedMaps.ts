// @ts-nocheck
// Maps of the same items side by side: what a person does on one of a group happens on the others. `data.link` names the
// group; the runs differ.
import { bus } from "../../lib/bus.ts";

const LEADING = new Set(["play", "step", "seek", "seekStep", "scrub", "speed"]);

/** The eye as seen from Home: how much closer, and how far aside in pixels there. The units of the world drop out. */
export const fromHome = (view, home) => ({ zoom: view.k / home.k, x: (view.x - home.x) * home.k, y: (view.y - home.y) * home.k });

/** The view that has its eye there in another world. */
export const intoWorld = ({ zoom, x, y }, home) => ({ x: home.x + x / home.k, y: home.y + y / home.k, k: home.k * zoom });

/** Which step stands beside `step` of `total`: the same one, or where lengths differ the one at the same share. */
export function stepBeside(step, total, other) {
  return !total || !other || total === other ? step : Math.round((step * other) / total);
}

/** The link of one MapView to the others of its group. */
export class Link {
  constructor(view) {
    this.view = view;
    this.led = null; // whether this one's epochs lead: true, false, or null before anybody has chosen
    const heard = (name, take) => bus.on(name, (detail) => this.fromPartner(detail.source) && take(detail));
    this.offs = [
      heard("hover", ({ item }) => view.pointing.setHovered(item, true)),
      heard("pin", ({ item }) => view.pointing.pinQuietly(item)),
      heard("picked", ({ mask, reason }) => view.pointing.selectQuietly(mask, reason)),
      heard("look", (detail) => this.lookAlong(detail)),
      heard("lead", () => this.follow()),
      heard("frame", (detail) => this.stepAlong(detail)),
    ];
  }

  get group() {
    return this.view.data.link ?? null;
  }

  fromPartner(source) {
    return this.group !== null && source !== this.view && source?.data?.link === this.group;
  }

  /** What the training has in all, as the other's lengths are compared with. */
  get total() {
    const { timeline, entries } = this.view.playback;
    return timeline.total ?? entries.at(-1)?.step ?? 0;
  }

  /** Whether the others go to the epochs that this one shows: it was played last, or it learns and none was played. */
  get leads() {
    const { playback } = this.view;
    return this.group !== null && (this.led ?? (playback.open && playback.player.following));
  }

  // ---- from this map

  acted(action) {
    if (this.group === null || !LEADING.has(action)) return;
    this.led = true;
    bus.emit("lead", { source: this.view });
  }

  /** The person has moved the eye. */
  looked(gliding) {
    const { scene } = this.view;
    if (this.group === null || this.along) return;
    const [view, home] = [scene.target ?? scene.view, scene.home()];
    if (!view || !home) return;
    bus.emit("look", { source: this.view, eye: scene.automatic ? null : fromHome(view, home), gliding });
  }

  picked(mask, reason) {
    if (this.group !== null) bus.emit("picked", { source: this.view, mask, reason });
  }

  // ---- from the others

  lookAlong({ eye, gliding }) {
    const { scene } = this.view;
    const home = scene.home();
    if (!scene.view || !home) return;
    this.along = true;
    if (eye) scene.steer(intoWorld(eye, home), { gliding });
    else scene.goHome();
    this.along = false;
  }

  follow() {
    this.led = false;
    this.view.playback.player.pause();
  }

  stepAlong({ step, total, leads }) {
    if (!leads || this.leads) return;
    this.view.playback.standBeside(stepBeside(step, total, this.total));
  }

  destroy() {
    this.offs.forEach((off) => off());
  }
}
