// Colours and marker shapes of classes.

const LIGHT = ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"];
const DARK = ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"];

/** Marker shapes in the order of classes; shaders.js and canvas.js draw them. */
export const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "plus", "wedge", "star", "ring", "bar"];

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** One [r, g, b] for each of `count` classes, tuned for the theme's ground. */
export function classColours(count, dark) {
  const base = (dark ? DARK : LIGHT).map(rgb);
  return Array.from({ length: count }, (_, i) => (i < base.length ? base[i] : further(i, dark)));
}

// Beyond the tuned ten, hues by the golden angle at alternating lightness: distinct enough to follow with shapes.
function further(i, dark) {
  const hue = (i * 137.508) % 360;
  const lightness = (dark ? 62 : 42) + (i % 3) * 9;
  const a = 0.62 * Math.min(lightness, 100 - lightness);
  return [0, 8, 4].map((n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(2.55 * (lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });
}
