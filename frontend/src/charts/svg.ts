// Small drawings as SVG.

const SPACE = "http://www.w3.org/2000/svg";

type SvgAttributes = Record<string, string | number | null>;

/** An SVG element with attributes. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: SvgAttributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SPACE, tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/** Set attributes; null takes one away. */
export function setAttributes(node: Element, attributes: SvgAttributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, String(value));
  }
}

/** The path through points [x, y]. */
export const pathOf = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Map `value` from [`low`, `high`] to [`from`, `to`]; to the middle when `low` and `high` are equal. */
export const scale =
  (low: number, high: number, from: number, to: number) =>
  (value: number): number =>
    high === low ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from);
