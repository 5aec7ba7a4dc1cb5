// Colors of classes. The ten were found by annealing for the largest least difference (OKLab) between any two, as seen
// by normal, protan, deutan and tritan eyes; both themes keep the hues. tests/js holds them to it.
import { mix, type Rgb, type Theme } from "./theme.ts";

const LIGHT = "#328ff7 #eb8102 #0f8361 #d82a20 #8640cb #7dc7f7 #812e28 #b379a8 #bac67a #385179".split(" ");
const DARK = "#46b3ff #ff9e2a #36a379 #fe5949 #9f66f5 #a3dfff #b05041 #bfa2ba #dde78b #5a7399".split(" ");

const rgb = (hex: string): Rgb => {
  const at = (i: number) => parseInt(hex.slice(i, i + 2), 16);
  return [at(1), at(3), at(5)];
};

/** One [r, g, b] for each of `count` classes, tuned for the theme's ground. */
export function classColors(count: number, dark: boolean): Rgb[] {
  const base = (dark ? DARK : LIGHT).map(rgb);
  return Array.from({ length: count }, (_, i) => (i < base.length ? base[i] : extraColor(i, dark)));
}

/** The class of items without a label, and the category of those without a value. */
export const UNLABELED = "no label";
export const NO_VALUE = "(no value)";

/** One color for each of several named groups; gray for the items that belong to none. */
export function groupColors(names: string[], theme: Theme): Rgb[] {
  const none = mix(theme.muted, theme.background, 0.4);
  const isNone = (name: string) => names.length > 1 && (name === UNLABELED || name === NO_VALUE);
  return classColors(names.length, theme.dark).map((color, i) => (isNone(names[i]) ? none : color));
}

// Beyond the tuned ten, hues by the golden angle at alternating lightness: distinct enough to follow with shapes.
function extraColor(i: number, dark: boolean): Rgb {
  const hue = (i * 137.508) % 360;
  const lightness = (dark ? 62 : 42) + (i % 3) * 9;
  const a = 0.62 * Math.min(lightness, 100 - lightness);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(2.55 * (lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

/** A color for each share of alarm, 0 to 1: quiet gray, then orange, then dark red (light on a dark ground). */
export function ramp(theme: Theme): (share: number) => Rgb {
  const quiet = mix(theme.muted, theme.background, theme.dark ? 0.62 : 0.55);
  const stops: Rgb[] = theme.dark ? [quiet, [226, 132, 40], [255, 240, 170]] : [quiet, [233, 137, 31], [122, 16, 32]];
  return (share) => {
    const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    return mix(stops[low], stops[low + 1], at - low);
  };
}
