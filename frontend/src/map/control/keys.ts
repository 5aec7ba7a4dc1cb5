// @ts-nocheck
// The keyboard on the stage.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** What a key means on the stage: [action, argument], or null for keys that are not ours. */
export function meaningOf(event) {
  if (event.ctrlKey || event.metaKey) return null;
  if (ARROWS[event.key]) return ["walk", ARROWS[event.key]];
  switch (event.key) {
    case " ": return ["play"];
    case "Escape": return ["clear"];
    case "Home": case "0": return ["home"];
    case "+": case "=": return ["zoom", 1.4];
    case "-": return ["zoom", 1 / 1.4];
    case ",": case "PageUp": return ["step", -1];
    case ".": case "PageDown": return ["step", 1];
    case "v": return ["mode", "pan"];
    case "l": return ["mode", "lasso"];
    case "b": return ["mode", "box"];
    case "m": return ["markers"];
    case "n": return ["names"];
    case "t": return ["trails"];
    case "f": return ["fullscreen"];
    default: return null;
  }
}
