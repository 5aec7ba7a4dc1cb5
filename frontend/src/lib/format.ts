// Numbers as a person reads them. Pure: no DOM.

/** Name of an item where it has no other. */
export const ITEM = "test image";

const WHOLE = new Intl.NumberFormat("en-US"); // made once: toLocaleString makes one for each number

/** A whole number with a comma between thousands. */
export const grouped = (number: number): string => WHOLE.format(number);

/** A number to so many significant digits, without zeros at its end. */
export const digits = (number: number, count = 3): string => Number(number.toPrecision(count)).toString();

/** A share as percent: a decimal below ten. */
export const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;

/** A difference of shares with its sign. */
export const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

/** "1 step", "2 steps". */
export const counted = (number: number, noun: string): string => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

/** The text with a capital at its begin. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The message of a thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
