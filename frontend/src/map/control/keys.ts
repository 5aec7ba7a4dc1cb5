// The keyboard on the stage.

import type { Mode } from "../data/state.ts";

type Direction = readonly [number, number];

/** A person's action on a map, with its argument. */
export type Action =
  | ["mode", Mode]
  | ["zoom" | "step" | "seek" | "seekStep" | "scrub", number]
  | ["walk", Direction]
  | ["home" | "play" | "markers" | "names" | "trails" | "density" | "pictures" | "images" | "refit" | "speed"]
  | ["isolate" | "subset" | "whole" | "undo" | "redo" | "fullscreen" | "present" | "outline" | "clear"];

const ARROWS: Record<string, Direction> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

const TYPED =
  "textarea, select, [contenteditable=true], [role=combobox], [role=dialog], [role=listbox], [popover], dialog";
const CHECKED = ["checkbox", "radio", "button", "range"];
const OF_CONTROLS = new Set(["walk", "play", "home", "step", "clear"]);

/** True if a key belongs to what has the focus: a field takes all, another control the keys that move or press it. */
export function isTaken(path: readonly EventTarget[], [name]: Action): boolean {
  const nodes = path.filter((target): target is Element => target instanceof Element);
  const isField = (node: Element) =>
    node.matches(TYPED) || (node instanceof HTMLInputElement && !CHECKED.includes(node.type));
  if (nodes.some(isField)) return true;
  return (
    OF_CONTROLS.has(name) && nodes[0] !== document.body && nodes.some((node) => (node as HTMLElement).tabIndex >= 0)
  );
}

type KeyPress = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "shiftKey">;

/** The action of a key on the stage, or null for other keys. */
export function keyAction(event: KeyPress): Action | null {
  // A letter of another alphabet is where the Latin one is on its keyboard; Caps Lock changes nothing.
  const key = event.key > "~" ? event.code.replace("Key", "") : event.key;
  const name = key.length === 1 ? key.toLowerCase() : key;
  if (event.ctrlKey || event.metaKey) {
    if (name === "z") return [event.shiftKey ? "redo" : "undo"];
    return name === "y" ? ["redo"] : null;
  }
  if (ARROWS[event.key]) return ["walk", ARROWS[event.key]];
  switch (name) {
    case " ":
      return ["play"];
    case "Escape":
      return ["clear"];
    case "Home":
    case "0":
      return ["home"];
    case "+":
    case "=":
      return ["zoom", 1.4];
    case "-":
      return ["zoom", 1 / 1.4];
    case ",":
    case "PageUp":
      return ["step", -1];
    case ".":
    case "PageDown":
      return ["step", 1];
    case "v":
      return ["mode", "pan"];
    case "l":
      return ["mode", "lasso"];
    case "b":
      return ["mode", "box"];
    case "q":
      return ["mode", "here"];
    case "m":
      return ["markers"];
    case "n":
      return ["names"];
    case "t":
      return ["trails"];
    case "d":
      return ["density"];
    case "p":
      return ["pictures"];
    case "x":
      return ["isolate"];
    case "a":
      return ["subset"];
    case "w":
      return ["whole"];
    case "i":
      return ["images"];
    case "o":
      return ["outline"];
    case "f":
      return ["fullscreen"];
    case "g":
      return ["present"];
    default:
      return null;
  }
}
