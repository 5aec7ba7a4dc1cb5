// A few images projected alone, by the server or this page, and the way back to all of them.
import { packBits, unpackBits } from "../../lib/base64.ts";
import type { LayoutMover } from "./layoutMover.ts";
import type { MapParts } from "./parts.ts";

const NOTHING = "Select some points first, with the lasso or the box; A then projects them alone.";
const NOT_HERE = "Images are projected alone in Explore, once the training has ended.";
const FROM_SUBSET_REASON = "The points that were projected alone.";

type Parts = Pick<MapParts, "state" | "scene" | "send"> & { mover: Pick<LayoutMover, "project" | "release"> };

export class Subset {
  /** The images that the person has asked for. */
  private request: string | null = null;

  constructor(private parts: Parts) {}

  /** Those that alone are on the map; null where all are. */
  get bits(): string | null {
    return this.parts.state.subset;
  }

  /** Project the images that are selected, or shown alone. */
  project(): void {
    const { state, mover } = this.parts;
    const mask = state.model.selected ?? state.model.isolated;
    const { projects, layouts } = state.data;
    if (!mask || !(projects || layouts)) {
      state.trouble = mask ? NOT_HERE : NOTHING;
      return;
    }
    state.trouble = null;
    state.store.record();
    if (!projects) return void mover.project(mask);
    this.request = packBits(mask);
    this.ask(this.request);
  }

  /** Show all images again; those that were alone are selected. */
  leave(): void {
    const { state, scene, mover } = this.parts;
    if (!this.bits) return;
    const { store, model } = state;
    store.record();
    store.set({ isolated: null, selected: unpackBits(this.bits, model.n), reason: FROM_SUBSET_REASON });
    if (state.alone) mover.release();
    else this.ask(null);
    scene.camera.goHome();
  }

  private ask(bits: string | null): void {
    this.parts.state.store.set({ view: null }); // only the server knows its name
    this.parts.send("subset", { bits });
  }

  /** The server shows these images alone: among them none is selected. */
  arrive(bits: string | null): void {
    const { state, scene } = this.parts;
    if (bits && bits === this.request) {
      state.store.set({ isolated: null, selected: null, reason: null });
      scene.camera.goHome();
    }
    this.request = null;
  }
}
