// @ts-nocheck
// A loss's parameters as sliders, menus and ticks that answer at once.
import { element } from "../lib/element.ts";

/** Parameters that decide nothing in a picture of a few points. */
const UNSEEN = ["reduction", "per_class", "hidden", "support"];

export const seen = (parameters) => parameters.filter(({ name }) => !UNSEEN.includes(name));

/** From where to where a slider goes: what is usual, where the declaration allows more than anybody wants. */
export function rangeOf({ kind, default: start, minimum, maximum, step }) {
  const fine = step ?? (kind === "int" ? 1 : 0.05);
  const usual = Math.max(2 * (typeof start === "number" ? start : 0), kind === "int" ? 4 : fine < 0.05 ? 1 : 2);
  return { low: minimum ?? 0, high: Math.min(maximum ?? Infinity, usual), step: fine };
}

/** Every parameter with its default. */
export const defaults = (parameters) => Object.fromEntries(parameters.map(({ name, default: value }) => [name, value]));

/** A number as a person writes it. */
export const written = (x) =>
  Math.abs(x) >= 1000 ? x.toExponential(1) : String(Number(Math.abs(x) < 0.1 ? x.toFixed(3) : x.toPrecision(3)) + 0).replace("-", "−");

/** A row for each parameter, into `parent`; `change(name, value)` is called while a person drags. */
export function knobs(parent, parameters, values, change) {
  parent.replaceChildren(...parameters.map((parameter) => knob(parameter, values[parameter.name], (value) => change(parameter.name, value))));
}

function knob(parameter, value, change) {
  const { name, kind, help, choices = [], words = [] } = parameter;
  const label = parameter.label ?? name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
  if (kind === "bool") return ticked(label, help, value, change);
  if (choices.length) return menu(label, help, choices, value, change);
  const range = parameter.low === undefined ? rangeOf(parameter) : parameter;
  const numeric = typeof value === "number" ? value : range.low + (range.high - range.low) / 2;
  const row = slider(label, help, range, numeric, change);
  if (!words.length) return row;
  const both = element("div", "knob-words");
  const pick = menu(label, help, ["a number", ...words], typeof value === "string" ? value : "a number", (word) => {
    row.hidden = word !== "a number";
    change(row.hidden ? word : Number(row.querySelector("input").value));
  });
  row.hidden = typeof value === "string";
  both.append(pick, row);
  return both;
}

function slider(label, help, { low, high, step }, value, change) {
  const input = element("input");
  Object.assign(input, { type: "range", min: low, max: high, step });
  input.value = value;
  const output = element("output");
  const show = () => (output.textContent = written(Number(input.value)));
  input.addEventListener("input", () => {
    show();
    change(Number(input.value));
  });
  show();
  return row(label, help, input, output);
}

function menu(label, help, options, value, change) {
  const select = element("select");
  select.append(...options.map((option) => new Option(option, option, false, option === value)));
  select.addEventListener("change", () => change(select.value));
  return row(label, help, select);
}

function ticked(label, help, value, change) {
  const input = element("input");
  Object.assign(input, { type: "checkbox", checked: value });
  input.addEventListener("change", () => change(input.checked));
  return row(label, help, input);
}

function row(label, help, ...parts) {
  const made = element("label", "knob");
  if (help) made.title = help;
  const name = element("span");
  name.textContent = label;
  made.append(name, ...parts);
  return made;
}
