// What the person has set on the map, and what is isolated: told to Python, which keeps it in the address, and taken from
// there. A map whose Python keeps no display (`data.display` is missing) tells nothing.
import { packBits, unpackBits } from "../../lib/bitmask.ts";
import type { MapData } from "../data/expandProps.ts";
import { displayOf, displayText, setDisplay } from "../data/display.ts";
import type { MapState } from "../data/state.ts";
import type { SentState } from "./sentState.ts";

interface Parts {
  state: Pick<MapState, "model"> & Parameters<typeof setDisplay>[0];
  sent: Pick<SentState, "send" | "isExternalChange">;
}

export class DisplaySync {
  /** As Python knows them; the display is undefined until Python has sent one. */
  private display: string | undefined;
  private isolated: Uint8Array | null = null;
  /** What Python sent last. */
  private arrived: { display?: string; isolated?: string | null } = {};

  constructor(private parts: Parts) {}

  /** Other items are on the map, of which nothing was told. */
  clear(): void {
    this.display = undefined;
    this.isolated = null;
    this.arrived = {};
  }

  /** Take what Python sends; whether other points are shown, or in another way. */
  adopt({ display, isolated }: Pick<MapData, "display" | "isolated">): boolean {
    const { state, sent } = this.parts;
    if (!display) return false;
    const text = displayText(display);
    const bits = isolated?.bits ?? null;
    const { arrived } = this;
    this.arrived = { display: text, isolated: bits };
    let changed = false;
    const first = this.display === undefined;
    if (text !== arrived.display && (sent.isExternalChange("display", text) || first)) {
      changed = text !== JSON.stringify(displayOf(state));
      setDisplay(state, display);
      this.display = text;
    }
    if (bits !== (arrived.isolated ?? null) && (sent.isExternalChange("isolated", bits) || first)) {
      const { model } = state;
      if (bits !== (model.isolated && packBits(model.isolated).bits)) {
        model.isolated = bits === null ? null : unpackBits(bits, model.n);
        changed = true;
      }
      this.isolated = model.isolated;
    }
    return changed;
  }

  /** Tell Python what has changed since. */
  publish(): void {
    if (this.display === undefined) return;
    const { state, sent } = this.parts;
    const display = displayOf(state);
    const text = JSON.stringify(display);
    if (text !== this.display) {
      this.display = text;
      sent.send("display", display, text);
    }
    const { isolated } = state.model;
    if (isolated === this.isolated) return;
    this.isolated = isolated;
    const packed = isolated && packBits(isolated);
    sent.send("isolated", packed, packed?.bits ?? null);
  }
}
