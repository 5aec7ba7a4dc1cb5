// Building elements without a framework.
import { guarded } from "./boundary.ts";

type Value = string | number | boolean | null | undefined;
type Listeners = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };
type Plain = Partial<Record<`data-${string}` | `aria-${string}`, Value>> &
  Partial<
    Record<
      | "class"
      | "type"
      | "title"
      | "popover"
      | "hidden"
      | "role"
      | "tabindex"
      | "id"
      | "width"
      | "height"
      | "src"
      | "alt"
      | "loading"
      | "href"
      | "download"
      | "scope"
      | "style"
      | "value"
      | "placeholder"
      | "maxlength"
      | "accept"
      | "disabled"
      | "min"
      | "max"
      | "step"
      | "label",
      Value
    >
  >;
export type Attributes = Listeners & Plain;
export type Child = Node | string | null | undefined;

/** Names that a page shortens, by what it shows in their place, which says the whole name under the mouse. */
export const wholeNames = new Map<string, string>();

/** The whole one of the first shortened name among texts. */
export const wholeNameIn = (texts: unknown[]): string | undefined =>
  wholeNames.size
    ? texts.map((text) => typeof text === "string" && wholeNames.get(text)).find(Boolean) || undefined
    : undefined;

/**
 * Make an element: a class or attributes (a function becomes a listener; false, null and undefined are left out), then
 * children (null and undefined are left out).
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes | string | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (tag === "button") node.setAttribute("type", "button"); // else it would send a form
  if (typeof attributes === "string") {
    if (attributes) node.className = attributes;
  } else {
    for (const [name, value] of Object.entries(attributes ?? {}) as [string, Value | EventListener][]) {
      if (typeof value === "function") node.addEventListener(name, guarded(value));
      else if (value !== false && value !== null && value !== undefined)
        node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  const whole = wholeNameIn([node.title, ...children]);
  if (whole) node.title = whole;
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

/** A line icon from the `d` of its path, on a grid of 16; `filled` ones have no stroke. */
export function icon(d: string, filled = false): SVGSVGElement {
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
export function updateAttribute(node: Element, name: string, value: string | number | boolean): void {
  const text = String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Set data attributes. */
export function setData(node: HTMLElement, data: Record<string, string | number | boolean>): void {
  for (const [name, value] of Object.entries(data)) node.dataset[name] = String(value);
}

/** The 2-D context of a canvas, which every browser gives that has canvases. */
export function context2d(
  canvas: HTMLCanvasElement,
  options?: CanvasRenderingContext2DSettings,
): CanvasRenderingContext2D {
  const context = canvas.getContext("2d", options);
  if (!context) throw new Error("This browser cannot draw on a canvas.");
  return context;
}

/** How many times larger than laid out a transform draws `node`; offsetWidth is rounded, so not by less than a hundredth. */
export function scaleOf(node: HTMLElement): number {
  const scale = node.getBoundingClientRect().width / node.offsetWidth;
  return Math.abs(scale - 1) > 0.01 && Number.isFinite(scale) ? scale : 1;
}

/** The place of a pointer in an element: shares of its width and its height. */
export function pointerPlace(event: MouseEvent, node: Element): [number, number] {
  const box = node.getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
}

/** Put text on the clipboard; on a page that is neither https nor localhost only the old way is open. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { style: "position: fixed; opacity: 0" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

/** Hand a text over as a file. */
export function download(name: string, text: string, type = "text/csv"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** How far a key moves a slider. */
export const SLIDER_KEYS: Record<string, number | undefined> = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: 10,
  PageDown: -10,
  Home: -Infinity,
  End: Infinity,
};
