// A few images projected alone, by the server or this page, and the way back to all of them.
import { packBits, unpackBits } from "../../lib/base64.ts";
import type { MapState } from "../data/state.ts";
import type { CameraController } from "../render/cameraController.ts";
import type { LayoutMover } from "./layoutMover.ts";

const NOTHING = "Select some images first, with the lasso or the box; A then projects them alone.";
const NOT_HERE = "Images are projected alone in Explore, once the training has ended.";
const FROM_SUBSET_REASON = "The images that were projected alone.";

interface Parts {
  state: MapState;
  camera: Pick<CameraController, "goHome">;
  /** Ask the server for a map of these images, or of all. */
  ask: (subset: { bits: string | null }) => void;
  mover: Pick<LayoutMover, "project" | "release">;
}

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
    const { state, camera, mover } = this.parts;
    if (!this.bits) return;
    const { store, model } = state;
    store.record();
    store.set({ isolated: null, selected: unpackBits(this.bits, model.n), reason: FROM_SUBSET_REASON });
    if (state.alone) mover.release();
    else this.ask(null);
    camera.goHome();
  }

  private ask(bits: string | null): void {
    this.parts.state.store.set({ view: null }); // only the server knows its name
    this.parts.ask({ bits });
  }

  /** The server shows these images alone: among them none is selected. */
  arrive(bits: string | null): void {
    const { state, camera } = this.parts;
    if (bits && bits === this.request) {
      state.store.set({ isolated: null, selected: null, reason: null });
      camera.goHome();
    }
    this.request = null;
  }
}
