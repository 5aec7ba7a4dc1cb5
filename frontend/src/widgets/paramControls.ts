// A loss's parameters as sliders, menus and ticks that answer at once.
import type { LossParameter } from "../protocol.ts";
import { h, type Child } from "../lib/dom.ts";

export type ParamValue = number | string | boolean;

interface Range {
  low: number;
  high: number;
  step: number;
}

/** A parameter, or a setting of the page's own, which brings its range. */
export type Control = Pick<LossParameter, "name" | "default"> &
  Partial<LossParameter> & { label?: string; low?: number; high?: number };

/** Parameters that decide nothing in a picture of a few points. */
const HIDDEN_PARAMS = ["reduction", "per_class", "hidden", "support"];

export const visibleParams = (parameters: LossParameter[]): LossParameter[] =>
  parameters.filter(({ name }) => !HIDDEN_PARAMS.includes(name));

/** Range of a slider: the usual values, where the declaration allows far more. */
export function rangeOf({ kind, default: start, minimum, maximum, step }: Control): Range {
  const fine = step ?? (kind === "int" ? 1 : 0.05);
  const value = typeof start === "number" ? start : 0;
  const usual = Math.max(2 * value, kind === "int" ? 4 : fine < 0.05 ? 1 : 2);
  const low = minimum ?? 0;
  return { low, high: Math.min(maximum ?? Infinity, usual), step: stepThatReaches(value - low, fine) };
}

/** A slider stands on its lowest value plus whole steps only: `step`, or a part of it with which it reaches the default. */
function stepThatReaches(distance: number, step: number): number {
  const reaches = (fine: number) => Math.abs(distance / fine - Math.round(distance / fine)) < 1e-6;
  return [1, 2, 5, 10, 20, 50, 100].map((parts) => step / parts).find(reaches) ?? step / 100;
}

/** Every parameter with its default. */
export const defaults = (parameters: LossParameter[]): Record<string, ParamValue> =>
  Object.fromEntries(parameters.map(({ name, default: value }) => [name, value as ParamValue]));

/** A number as a person writes it. */
export const formatNumber = (x: number): string =>
  Math.abs(x) >= 1000
    ? x.toExponential(1)
    : String(Number(Math.abs(x) < 0.1 ? x.toFixed(3) : x.toPrecision(3)) + 0).replace("-", "−");

/** A row for each parameter, into `parent`; `change(name, value)` is called while a person drags. */
export function renderControls(
  parent: HTMLElement,
  parameters: Control[],
  values: Record<string, ParamValue>,
  change: (name: string, value: ParamValue) => void,
): void {
  parent.replaceChildren(
    ...parameters.map((parameter) =>
      control(parameter, values[parameter.name], (value) => change(parameter.name, value)),
    ),
  );
}

function control(parameter: Control, value: ParamValue, change: (value: ParamValue) => void): HTMLElement {
  const { name, kind, help = "", choices = [], words = [], low, high, step } = parameter;
  const label = parameter.label ?? name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
  if (kind === "bool") return checkbox(label, help, value === true, change);
  if (choices.length) return select(label, help, choices, value, change);
  const range = low === undefined || high === undefined || !step ? rangeOf(parameter) : { low, high, step };
  const numeric = typeof value === "number" ? value : range.low + (range.high - range.low) / 2;
  const [line, input] = slider(label, help, range, numeric, change);
  if (!words.length) return line;
  const pick = select(label, help, ["a number", ...words], typeof value === "string" ? value : "a number", (word) => {
    line.hidden = word !== "a number";
    change(line.hidden ? word : Number(input.value));
  });
  line.hidden = typeof value === "string";
  return h("div", "knob-words", pick, line);
}

function slider(
  label: string,
  help: string,
  { low, high, step }: Range,
  value: number,
  change: (value: number) => void,
): [HTMLElement, HTMLInputElement] {
  const input = h("input", { type: "range", min: low, max: high, step });
  input.value = String(value);
  const output = h("output");
  const show = () => (output.textContent = formatNumber(Number(input.value)));
  input.addEventListener("input", () => {
    show();
    change(Number(input.value));
  });
  show();
  return [row(label, help, input, output), input];
}

function select(
  label: string,
  help: string,
  options: string[],
  value: ParamValue,
  change: (value: string) => void,
): HTMLElement {
  const node = h(
    "select",
    { change: () => change(node.value) },
    ...options.map((option) => new Option(option, option, false, option === value)),
  );
  return row(label, help, node);
}

function checkbox(label: string, help: string, value: boolean, change: (value: boolean) => void): HTMLElement {
  const input = h("input", { type: "checkbox", change: () => change(input.checked) });
  input.checked = value;
  return row(label, help, input);
}

const row = (label: string, help: string, ...parts: Child[]): HTMLElement =>
  h("label", { class: "knob", title: help || null }, h("span", null, label), ...parts);
