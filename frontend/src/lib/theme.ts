// @ts-nocheck
// Streamlit's theme as numbers a canvas can use.

const HEX = /^#([0-9a-f]{3,8})$/i;
const RGB = /^rgba?\(\s*([\d.]+)[\s,]+([\d.]+)[\s,]+([\d.]+)(?:[\s,/]+([\d.]+)(%?))?\s*\)$/i;

/** Read `#rgb`, `#rrggbb`, `#rrggbbaa`, `rgb()` or `rgba()` as [r, g, b, alpha]; null for anything else. */
export function parseColour(text) {
  const hex = HEX.exec(text.trim());
  if (hex) {
    const digits = hex[1].length <= 4 ? [...hex[1]].map((digit) => digit + digit).join("") : hex[1];
    if (digits.length !== 6 && digits.length !== 8) return null;
    const at = (i) => parseInt(digits.slice(i, i + 2), 16);
    return [at(0), at(2), at(4), digits.length === 8 ? at(6) / 255 : 1];
  }
  const rgb = RGB.exec(text.trim());
  if (!rgb) return null;
  const alpha = rgb[4] === undefined ? 1 : Number(rgb[4]) / (rgb[5] ? 100 : 1);
  return [Number(rgb[1]), Number(rgb[2]), Number(rgb[3]), alpha];
}

/** Mix two colours: 0 gives `a`, 1 gives `b`. */
export const mix = (a, b, share) => [0, 1, 2].map((i) => Math.round(a[i] + (b[i] - a[i]) * share));

/** Write a colour for CSS and canvas. */
export const css = ([r, g, b], alpha = 1) => `rgba(${r}, ${g}, ${b}, ${alpha})`;

/** Relative luminance (WCAG 2) of a colour, 0 to 1. */
export function luminance([r, g, b]) {
  const linear = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

/** The theme that holds at `node`: colours as [r, g, b], whether it is dark, the font. */
export function readTheme(node) {
  const style = getComputedStyle(node);
  const value = (name) => style.getPropertyValue(name).trim();
  const colour = (name, otherwise) => parseColour(value(name)) ?? otherwise;
  const background = colour("--st-background-color", [255, 255, 255]);
  const dark = luminance(background) < 0.3;
  const text = colour("--st-text-color", dark ? [250, 250, 250] : [49, 51, 63]);
  return {
    dark,
    background,
    text,
    surface: colour("--st-secondary-background-color", mix(background, text, 0.05)),
    primary: colour("--st-primary-color", [47, 111, 235]),
    muted: mix(background, text, 0.58),
    font: value("--st-font") || "system-ui, sans-serif",
    still: globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false,
  };
}
