// Colours, markers and layers of all points, as the renderers take them.
import { mix } from "../shared/theme.js";

const HIDDEN = 0;
const BEHIND = 1;
const FRONT = 2;
const WRONG = { light: [200, 30, 60], dark: [255, 110, 120] };

/**
 * Bytes for the renderers: `paint` (r, g, b, opacity a point) and `marks` (shape, layer a point). What is picked out
 * (the selection, else the class under the pointer in the legend, else in error colours the wrong ones) lies in front,
 * the rest fades.
 */
export function paintPoints({ model, colours, theme, shapes, colour, spotlight }) {
  const paint = new Uint8Array(4 * model.n);
  const marks = new Uint8Array(2 * model.n);
  const errors = colour === "error" && model.nearest;
  const quiet = colours.map((c) => mix(c, theme.muted, 0.55));
  const pale = colours.map((c) => mix(mix(c, theme.muted, 0.75), theme.background, 0.25));
  const wrong = theme.dark ? WRONG.dark : WRONG.light;
  for (let i = 0; i < model.n; i++) {
    const label = model.labels[i];
    const picked = model.selected ? model.selected[i] : spotlight === null ? null : label === spotlight;
    const isWrong = errors && model.isWrong(i);
    let rgb = errors ? (isWrong ? wrong : pale[label]) : colours[label];
    let alpha = errors && !isWrong ? 150 : 255;
    if (picked !== null && !picked) {
      rgb = isWrong ? rgb : quiet[label];
      alpha = model.selected ? 48 : 40;
    }
    paint.set(rgb ?? theme.muted, 4 * i);
    paint[4 * i + 3] = alpha;
    marks[2 * i] = shapes ? label % 10 : 0;
    marks[2 * i + 1] = model.shows(i) ? (picked || (isWrong && picked !== false) ? FRONT : BEHIND) : HIDDEN;
  }
  return { paint, marks };
}

/** The colour that stands for "nearest neighbour of another class". */
export const wrongColour = (theme) => (theme.dark ? WRONG.dark : WRONG.light);
