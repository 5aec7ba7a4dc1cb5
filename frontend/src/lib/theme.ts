// Streamlit's theme as numbers a canvas can use.

/** Red, green, blue: 0 to 255. */
export type Rgb = [number, number, number];

export interface Theme {
  dark: boolean;
  background: Rgb;
  text: Rgb;
  surface: Rgb;
  primary: Rgb;
  muted: Rgb;
  font: string;
  /** Of a pixel, in sizes of text: more than 1 where the browser's text is larger than usual. */
  px: number;
  /** True if the person asked for less motion. */
  still: boolean;
}

const HEX = /^#([0-9a-f]{3,8})$/i;
const RGB = /^rgba?\(\s*([\d.]+)[\s,]+([\d.]+)[\s,]+([\d.]+)(?:[\s,/]+([\d.]+)(%?))?\s*\)$/i;

/** Read `#rgb`, `#rrggbb`, `#rrggbbaa`, `rgb()` or `rgba()` as [r, g, b, alpha]; null for anything else. */
export function parseColor(text: string): [number, number, number, number] | null {
  const hex = HEX.exec(text.trim());
  if (hex) {
    const digits = hex[1].length <= 4 ? [...hex[1]].map((digit) => digit + digit).join("") : hex[1];
    if (digits.length !== 6 && digits.length !== 8) return null;
    const at = (i: number) => parseInt(digits.slice(i, i + 2), 16);
    return [at(0), at(2), at(4), digits.length === 8 ? at(6) / 255 : 1];
  }
  const rgb = RGB.exec(text.trim());
  if (!rgb) return null;
  const alpha = rgb[4] === undefined ? 1 : Number(rgb[4]) / (rgb[5] ? 100 : 1);
  return [Number(rgb[1]), Number(rgb[2]), Number(rgb[3]), alpha];
}

/** Mix two colors: 0 gives `a`, 1 gives `b`. */
export const mix = (a: Rgb, b: Rgb, share: number): Rgb => {
  const at = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * share);
  return [at(0), at(1), at(2)];
};

/** Write a color for CSS and canvas. */
export const css = ([r, g, b]: ArrayLike<number> & Iterable<number>, alpha = 1): string =>
  `rgba(${r}, ${g}, ${b}, ${alpha})`;

/** Relative luminance (WCAG 2) of a color, 0 to 1. */
export function luminance([r, g, b]: Rgb): number {
  const linear = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

/** The theme that holds at `node`: colors as [r, g, b], whether it is dark, the font and its size. */
export function readTheme(node: Element): Theme {
  const style = getComputedStyle(node);
  const value = (name: string) => style.getPropertyValue(name).trim();
  const color = (name: string, otherwise: Rgb): Rgb => rgbOf(value(name)) ?? otherwise;
  const background = color("--st-background-color", [255, 255, 255]);
  const dark = luminance(background) < 0.3;
  const text = color("--st-text-color", dark ? [250, 250, 250] : [49, 51, 63]);
  return {
    dark,
    background,
    text,
    surface: color("--st-secondary-background-color", mix(background, text, 0.05)),
    primary: color("--st-primary-color", [47, 111, 235]),
    muted: mix(background, text, 0.58),
    font: value("--st-font") || "system-ui, sans-serif",
    px: parseFloat(getComputedStyle(document.documentElement).fontSize) / (Number(value("--root-px")) || 16),
    still: globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false,
  };
}

function rgbOf(text: string): Rgb | null {
  const color = parseColor(text);
  return color && [color[0], color[1], color[2]];
}
