// What lies at a place of the map: the nearest images mixed, and where the net puts their mixture.
import { heeding } from "../../lib/boundary.ts";
import { messageOf } from "../../lib/format.ts";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import type { Mixture } from "../../protocol.ts";
import type { Asked } from "../data/state.ts";
import type { Point } from "../math/camera.ts";
import { nearestItems } from "../math/picking.ts";
import type { MapParts } from "./parts.ts";

const MIXED = 5; // images, as app/dmlviz_app/answers/mixture.py allows
const SHORTEST = 1e-3; // of the map's width: an image under the pointer does not stand for all five

type Parts = Pick<MapParts, "state" | "scene" | "refresh"> & {
  /** True where the map stands at the end of its run. */
  atEnd: () => boolean;
};

/** The nearest of some points of a map and what each counts in the mixture there, by the inverse of its distance. */
export function mixtureAt(xy: Float32Array, usable: Uint8Array, at: Point): Pick<Asked, "near" | "width"> {
  const near = nearestItems(xy, usable, at, MIXED);
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < usable.length; i++)
    if (usable[i]) [low, high] = [Math.min(low, xy[2 * i]), Math.max(high, xy[2 * i])];
  const width = high - low || 1;
  const weights = near.map(({ distance }) => 1 / Math.max(distance, SHORTEST * width));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return { near: near.map(({ item }, i) => ({ item, share: weights[i] / all })), width };
}

export class Here {
  private readonly heed = heeding();
  private asked: Asked | null = null;

  constructor(private parts: Parts) {}

  /** What was asked, as long as the map shows what it was asked of. */
  get now(): Asked | null {
    return this.asked?.frame === this.parts.scene.frame ? this.asked : null;
  }

  /** Ask what lies at a place of the stage. */
  ask(x: number, y: number): void {
    const { state, scene, refresh } = this.parts;
    const at = scene.toWorld(x, y);
    const { near, width } = mixtureAt(scene.places(), scene.usable, at);
    this.asked = { at, near, width, frame: scene.frame, answer: null, trouble: "" };
    const refused = this.refused;
    if (!near.length) this.asked = null;
    else if (refused) this.asked.trouble = refused;
    else this.heed(this.answer(this.asked, `${ROUTES}/runs/${state.data.run}/mixture/${state.pid ?? "live"}.json`));
    refresh();
  }

  /** Why nothing is asked on this map; empty where it can be. */
  private get refused(): string {
    const { state, scene, atEnd } = this.parts;
    if (!state.data.events_url) return "This page has no server that could answer; open the run in the app.";
    if (scene.frame?.xyz) return "In three dimensions a click is no single place: choose a map of two.";
    return atEnd() ? "" : "What lies at a place is answered at the end of the training: go to its last step.";
  }

  private async answer(asked: Asked, url: string): Promise<void> {
    const near = asked.near.map(({ item, share }) => `${item}:${share.toPrecision(4)}`).join();
    try {
      asked.answer = await fetchJson<Mixture>(`${url}?near=${near}`, "The mixture");
    } catch (error) {
      asked.trouble = messageOf(error);
    }
    this.parts.refresh();
  }

  /** Forget what was asked; whether there was anything. */
  clear(): boolean {
    const was = this.now !== null;
    this.asked = null;
    if (was) this.parts.refresh();
    return was;
  }
}
