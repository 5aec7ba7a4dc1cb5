// The keys of a map, for Help; map/control/keys.ts says what each does.
/** The keys in the order in which Help lists them. */
export const KEYS: [keys: string, does: string][] = [
  ["Space", "play or pause"],
  [", and .", "one frame back or on"],
  ["Arrow keys", "from point to point"],
  ["+, − and Home", "zoom, fit the map"],
  ["V, L and B", "move, lasso, box"],
  ["X", "show the selection alone"],
  ["A and W", "project it alone, or all again"],
  ["N, T, D, P, M and I", "names, trails, contours, pictures, markers, training images"],
  ["O", "outline of the map"],
  ["F", "full screen, with title, step and score"],
  ["G", "the same, larger: for a projector"],
  ["Ctrl+Z and Ctrl+Y", "undo, redo"],
  ["Esc", "clear pin and selection"],
];
