// @ts-nocheck
// Small drawings as SVG.

const SPACE = "http://www.w3.org/2000/svg";

/** An SVG element with attributes. */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SPACE, tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

/** Set attributes; null takes one away. */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  }
}

/** The path through points [x, y]. */
export const pathOf = (points) =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Where `value` lies between `low` and `high`, drawn from `from` to `to`; the middle when they are equal. */
export const scale = (low, high, from, to) => (value) =>
  high === low ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from);
