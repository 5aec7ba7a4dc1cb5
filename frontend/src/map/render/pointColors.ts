// @ts-nocheck
// Colours, markers and layers of all points, as the renderers take them.
import { ramp } from "../../lib/palette.ts";
import { mix } from "../../lib/theme.ts";

const HIDDEN = 0;
const BEHIND = 1;
const FRONT = 2;
const STEPS = 40; // of the ramp
const WRONG = { light: [200, 30, 60], dark: [255, 110, 120] };

/**
 * Bytes for the renderers: `paint` (r, g, b, opacity a point) and `marks` (shape, layer a point). What is picked out
 * (the selection, else the class under the pointer in the legend, else in error colours the wrong ones) lies in front,
 * the rest fades.
 */
export function paintPoints({ model, colours, theme, shapes, colour, spotlight }) {
  const { n, labels, selected } = model;
  const graded = model.numbers && gradedInks(model.numbers, n, theme);
  const errors = colour === "error" && model.nearest;
  const pale = (c) => mix(mix(c, theme.muted, 0.75), theme.background, 0.25);
  const inks = [
    inkTable(colours.map((c) => (errors ? pale(c) : c)), errors ? 150 : 255),
    inkTable(colours.map((c) => mix(c, theme.muted, 0.55)), selected ? 48 : 40),
    inkTable([wrongColour(theme)], 255),
    inkTable([wrongColour(theme)], selected ? 48 : 40),
  ];
  const shown = colours.map((_, c) => !model.hidden.has(c));
  const paint = new Uint32Array(n);
  const marks = new Uint8Array(2 * n);
  const sorted = selected !== null || spotlight !== null;
  for (let i = 0; i < n; i++) {
    const label = labels[i];
    const picked = sorted && (selected ? selected[i] === 1 : label === spotlight);
    const faded = sorted && !picked;
    const wrong = errors && model.isWrong(i);
    paint[i] = wrong ? inks[faded ? 3 : 2][0] : graded ? graded.inks[faded ? 1 : 0][graded.at[i]] : inks[faded ? 1 : 0][label];
    marks[2 * i] = shapes ? label % 10 : 0;
    const striking = !faded && (wrong || (graded && graded.at[i] > STEPS / 2));
    marks[2 * i + 1] = !shown[label] ? HIDDEN : picked || striking ? FRONT : BEHIND;
  }
  return { paint: new Uint8Array(paint.buffer), marks };
}

// Colours of numbers: which step of the ramp each item is at (0 also where there is no number), and the inks.
function gradedInks({ numbers, low, high, alarming }, n, theme) {
  const colourAt = ramp(theme);
  const steps = Array.from({ length: STEPS + 1 }, (_, i) => colourAt(i / STEPS));
  const at = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const share = (numbers[i] - low) / (high - low);
    if (Number.isFinite(share)) at[i] = Math.round(STEPS * Math.min(1, Math.max(0, alarming(share))));
  }
  return { at, inks: [inkTable(steps, 255), inkTable(steps, 48)] };
}

// r, g, b, opacity of each colour, as the one number that four bytes make.
function inkTable(colours, alpha) {
  return new Uint32Array(Uint8Array.from(colours.flatMap((rgb) => [...rgb, alpha])).buffer);
}

/** The colour that stands for "nearest neighbour of another class". */
export const wrongColour = (theme) => (theme.dark ? WRONG.dark : WRONG.light);
