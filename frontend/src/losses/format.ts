// @ts-nocheck
// Numbers as formulas show them.

/** A number in a formula: three significant digits, no exponent unless it needs one. */
export function figure(value) {
  if (!Number.isFinite(value)) return "\\infty";
  const size = Math.abs(value);
  if (size >= 1e5 || (size > 0 && size < 1e-4)) {
    const [digits, power] = value.toExponential(1).split("e");
    return `${digits}\\cdot 10^{${Number(power)}}`;
  }
  if (Number.isInteger(value)) return String(value);
  const text = value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 4);
  return Number(text) === 0 ? "0" : text;
}

/** The same, in brackets when it is negative. */
export const signed = (value) => (value < 0 ? `(${figure(value)})` : figure(value));
