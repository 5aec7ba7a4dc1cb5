// Colors, markers and layers of all points, as the renderers take them.
import { ramp } from "../../lib/palette.ts";
import { mix, type Rgb, type Theme } from "../../lib/theme.ts";
import { NUM_SHAPES } from "../data/columns.ts";
import type { Grades, Model } from "../data/model.ts";
import type { Port } from "../math/camera.ts";

const LAYER_HIDDEN = 0;
const LAYER_BEHIND = 1;
const LAYER_FRONT = 2;
const RAMP_STEPS = 40;
const ERROR_COLOR: Record<"light" | "dark", Rgb> = { light: [200, 30, 60], dark: [255, 110, 120] };

/**
 * Bytes for the renderers: `paint` (r, g, b, opacity a point) and `marks` (shape, layer a point). What is picked out
 * (the selection, else the group under the pointer in the legend, else in error colors the wrong ones) lies in front,
 * the rest fades.
 */
export function computePointColors({
  model,
  colors,
  theme,
  shapeIds,
  colorBy,
  spotlight,
}: {
  model: Model;
  colors: Rgb[];
  theme: Theme;
  /** The number of each item's shape; null where all are discs. */
  shapeIds: Uint16Array | null;
  colorBy: string;
  spotlight: number | null;
}): { paint: Uint8Array<ArrayBuffer>; marks: Uint8Array<ArrayBuffer> } {
  const { n, groupIds, selected } = model;
  const scale = model.grades && gradedColors(model.grades, n, theme);
  const errors = colorBy === "error" && model.nearest;
  const inks = [
    colorTable(
      colors.map((c) => (errors ? paleColor(c, theme) : c)),
      errors ? 150 : 255,
    ),
    colorTable(
      colors.map((c) => mix(c, theme.muted, 0.55)),
      selected ? 48 : 40,
    ),
    colorTable([errorColor(theme)], 255),
    colorTable([errorColor(theme)], selected ? 48 : 40),
  ];
  const paint = new Uint32Array(n);
  const marks = new Uint8Array(2 * n);
  const sorted = selected !== null || spotlight !== null;
  for (let i = 0; i < n; i++) {
    const label = groupIds[i];
    const isPick = sorted && (selected ? selected[i] === 1 : label === spotlight);
    const isFaint = sorted && !isPick;
    const wrong = errors && model.isWrong(i);
    paint[i] = wrong
      ? inks[isFaint ? 3 : 2][0]
      : scale
        ? scale.inks[isFaint ? 1 : 0][scale.at[i]]
        : inks[isFaint ? 1 : 0][label];
    marks[2 * i] = shapeIds ? shapeIds[i] % NUM_SHAPES : 0;
    const striking = !isFaint && (wrong || (scale && scale.at[i] > RAMP_STEPS / 2));
    marks[2 * i + 1] = !model.isVisible(i) ? LAYER_HIDDEN : isPick || striking ? LAYER_FRONT : LAYER_BEHIND;
  }
  return { paint: new Uint8Array(paint.buffer), marks };
}

// Colors of numbers: which step of the ramp each item is at (0 also where there is no number), and the inks.
function gradedColors({ numbers, low, high, alarming }: Grades, n: number, theme: Theme) {
  const colorAt = ramp(theme);
  const steps = Array.from({ length: RAMP_STEPS + 1 }, (_, i) => colorAt(i / RAMP_STEPS));
  const at = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const share = (numbers[i] - low) / (high - low);
    if (Number.isFinite(share)) at[i] = Math.round(RAMP_STEPS * Math.min(1, Math.max(0, alarming(share))));
  }
  return { at, inks: [colorTable(steps, 255), colorTable(steps, 48)] };
}

// r, g, b, opacity of each color, as the one number that four bytes make.
function colorTable(colors: Rgb[], alpha: number): Uint32Array {
  return new Uint32Array(Uint8Array.from(colors.flatMap((rgb) => [...rgb, alpha])).buffer);
}

/** The color of a class where only errors stand out. */
export const paleColor = (color: Rgb, theme: Theme): Rgb => mix(mix(color, theme.muted, 0.75), theme.background, 0.25);

/** The color that stands for "nearest neighbor of another class". */
export const errorColor = (theme: Theme): Rgb => (theme.dark ? ERROR_COLOR.dark : ERROR_COLOR.light);

export interface PointStyle {
  radius: number;
  opacity: number;
  halo: number;
}

/**
 * Radius (CSS pixels), opacity and width of the halo for `count` points on a stage, `zoom` times closer than
 * Home; smaller again among pictures.
 */
export function pointStyle(count: number, port: Port, zoom: number, pictured = false): PointStyle {
  const area = Math.sqrt((port.width * port.height) / (760 * 520));
  const crowd = Math.max(count, 150) / 10000;
  const base = 2.15 * crowd ** -0.27 * Math.min(1.25, Math.max(0.7, area ** 0.6));
  const close = Math.max(zoom, 1) ** 0.42;
  const radius = Math.min(pictured ? 4.5 : 8, Math.max(1.1, Math.min(base, 5.2) * close));
  const opacity = Math.min(0.95, 0.86 - 0.13 * Math.log10(Math.max(crowd, 0.1) * 10) + 0.1 * Math.log2(close + 1e-9));
  return { radius, opacity: Math.max(0.45, opacity), halo: Math.min(1, Math.max(0, (radius - 2.2) * 0.6)) };
}
