// @ts-nocheck
// Building elements without a framework.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes (a function value becomes a listener, false and null are left out), then children. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A line icon from the `d` of its path, on a grid of 16; `filled` ones have no stroke. */
export function icon(d, filled = false) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", filled ? "icon filled" : "icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", d);
  svg.append(path);
  return svg;
}

/** Set an attribute only when it changes, so that observers of it hear of changes only. */
export function mark(node, name, value) {
  const text = String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Whole numbers with a thin space between thousands from 10 000 on, a comma otherwise never. */
export const grouped = (number) => number.toLocaleString("en-US");
