// A loss's parameters as sliders, menus and ticks that answer at once.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { LossParameter } from "../protocol.ts";

export type ParamValue = number | string | boolean;

type Change = (value: ParamValue) => void;

const NUMBER = "a number";

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

interface Shown {
  parameters: Control[];
  values: Record<string, ParamValue>;
  /** Called while a person drags. */
  change(this: void, name: string, value: ParamValue): void;
}

/** A row for each parameter. */
export const ParamControls = ({ parameters, values, change }: Shown) =>
  parameters.map((parameter) => {
    const { name } = parameter;
    return <ParamControl key={name} {...parameter} value={values[name]} change={(value) => change(name, value)} />;
  });

function ParamControl({ value, change, ...parameter }: Control & { value: ParamValue; change: Change }) {
  const { name, kind, help = "", choices = [], words = [], low, high, step } = parameter;
  const range = low === undefined || high === undefined || !step ? rangeOf(parameter) : { low, high, step };
  const middle = range.low + (range.high - range.low) / 2;
  const last = useRef(typeof value === "number" ? value : middle); // goes on when a word gives way to a number
  if (typeof value === "number") last.current = value;
  const label = parameter.label ?? name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
  const row = (control: ComponentChildren, hidden = false) => (
    <label class="knob" title={help || undefined} hidden={hidden}>
      <span>{label}</span>
      {control}
    </label>
  );
  const select = (options: string[], chosen: ParamValue, pick: (value: string) => void) =>
    row(
      <select value={String(chosen)} onChange={(event) => pick(event.currentTarget.value)}>
        {options.map((option) => (
          <option value={option}>{option}</option>
        ))}
      </select>,
    );
  if (kind === "bool")
    return row(
      <input type="checkbox" checked={value === true} onChange={(event) => change(event.currentTarget.checked)} />,
    );
  if (choices.length) return select(choices, value, change);
  if (kind === "str" && !words.length)
    return row(
      <input
        type="text"
        {...{ value: String(value), maxLength: 200, spellcheck: false, autocapitalize: "off" }}
        onChange={(event) => change(event.currentTarget.value)}
      />,
    );
  const isWord = words.length > 0 && typeof value === "string";
  const slider = row(
    <>
      <input
        type="range"
        {...{ min: range.low, max: range.high, step: range.step, value: last.current }}
        onInput={(event) => change(Number(event.currentTarget.value))}
      />
      <output>{formatNumber(last.current)}</output>
    </>,
    isWord,
  );
  if (!words.length) return slider;
  const chosen = isWord ? value : NUMBER;
  return (
    <div class="knob-words">
      {select([NUMBER, ...words], chosen, (word) => change(word === NUMBER ? last.current : word))}
      {slider}
    </div>
  );
}
