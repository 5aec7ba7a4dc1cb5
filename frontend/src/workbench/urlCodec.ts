// What is looked at as the parameters of an address, and back. Pure: no DOM.
import { unzlibSync, zlibSync } from "fflate";
import { packBytes, unpackBytes } from "../lib/base64.ts";
import { decodeBase64, encodeBase64 } from "../lib/base64.ts";
import { VIEW_KEYS } from "../protocol.ts";
import { DISPLAY, SHOWN_IMAGES, START, type Display, type Shown, type ViewState } from "./store.ts";

export type Query = Record<string, string>;

const FLAGS = ["names", "trails", "contours", "pictures"] as const;
const NUMBERS = { pin: "pinned", partner: "partner", step: "step" } as const;
const MASKS = { select: "selected", isolate: "isolated" } as const;
const MAX_CLASSES = 100_000; // that an address may hide
const REASON = "Selected by a link or a curve. Click an image to pin it.";
const MAX_NAME = 100; // letters of a column

/** True if a parameter of an address belongs to the view; the others are the server's. */
export const isViewKey = (name: string): boolean => VIEW_KEYS.includes(name);

/** The parameters of an address, without defaults. */
export function encodeView(state: ViewState, dataset: string): Query {
  const query: Query = {};
  for (const [key, name] of Object.entries(NUMBERS)) if (state[name] !== null) query[key] = String(state[name]);
  for (const [key, name] of Object.entries(MASKS)) {
    const mask = state[name];
    if (mask?.some(Boolean)) query[key] = `${dataset}.${packWord(mask)}`;
  }
  if (state.color !== START.color) query.color = state.color;
  if (state.metric !== START.metric) query.metric = state.metric;
  for (const name of FLAGS)
    if (state.display[name] !== DISPLAY[name]) query[`show.${name}`] = String(Number(state.display[name]));
  for (const name of ["images", "markers"] as const)
    if (state.display[name] !== DISPLAY[name]) query[`show.${name}`] = state.display[name];
  if (state.open.size) query.open = [...state.open].sort().join(",");
  if (state.hidden.size) query.hide = `${dataset}.${rangesOf([...state.hidden].sort((a, b) => a - b))}`;
  return query;
}

/** The view in an address, without invalid values. `query` may hold the server's parameters, too. */
export function decodeView(query: Query, { dataset, n }: Pick<Shown, "dataset" | "n">): Partial<ViewState> {
  const state: Partial<ViewState> = {};
  for (const [key, name] of Object.entries(NUMBERS))
    if (/^\d{1,9}$/.test(query[key] ?? "") && (name === "step" || Number(query[key]) < n))
      state[name] = Number(query[key]);
  for (const [key, name] of Object.entries(MASKS)) {
    const mask = unpackWord(wordOf(query[key], dataset), n);
    if (mask) state[name] = mask;
  }
  if (state.selected) state.reason = REASON;
  if (query.color && query.color.length <= MAX_NAME) state.color = query.color;
  if (query.metric === "cosine") state.metric = "cosine";
  if (/^[a-z]{1,12}(,[a-z]{1,12}){0,9}$/.test(query.open ?? "")) state.open = new Set(query.open.split(","));
  const display: Partial<Display> = {};
  for (const name of FLAGS)
    if (/^[01]$/.test(query[`show.${name}`] ?? "")) display[name] = query[`show.${name}`] === "1";
  const images = SHOWN_IMAGES.find((one) => one === query["show.images"]);
  const markers = query["show.markers"] ?? "";
  if (images) display.images = images;
  if (markers === "class" || (markers.startsWith("column.") && markers.length <= MAX_NAME)) display.markers = markers;
  if (Object.keys(display).length) state.display = { ...DISPLAY, ...display };
  const labels = numbersOf(wordOf(query.hide, dataset));
  if (labels.length) state.hidden = new Set(labels);
  return state;
}

/** The part behind the data set's name; empty for another data set. */
function wordOf(text = "", dataset: string): string {
  const dot = text.lastIndexOf(".");
  return text.slice(0, Math.max(dot, 0)) === dataset ? text.slice(dot + 1) : "";
}

/** A mask as a short word: its bits without the zeros at the end, deflated, in the letters of an address. */
function packWord(mask: Uint8Array): string {
  const bytes = packBytes(mask);
  const end = bytes.findLastIndex(Boolean) + 1;
  const word = encodeBase64(zlibSync(bytes.subarray(0, end), { level: 9 }));
  return word.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function unpackWord(word: string, n: number): Uint8Array | null {
  if (!word) return null;
  try {
    const bytes = decodeBase64(word.replaceAll("-", "+").replaceAll("_", "/"));
    const mask = unpackBytes(unzlibSync(bytes, { out: new Uint8Array((n + 7) >> 3) }), n);
    return mask.some(Boolean) ? mask : null;
  } catch {
    return null; // no such word
  }
}

/** Ascending numbers in short: 0-3,7. */
function rangesOf(numbers: number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** The numbers of `rangesOf`; none if a part is no range. */
function numbersOf(ranges: string): number[] {
  const numbers: number[] = [];
  for (const part of ranges.split(",")) {
    const [, first, last] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    if (first === undefined) return [];
    for (let number = Number(first); number <= Number(last ?? first); number++) {
      if (number >= MAX_CLASSES || numbers.length >= MAX_CLASSES) return [];
      numbers.push(number);
    }
  }
  return numbers;
}
