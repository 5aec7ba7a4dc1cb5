// A program as Python writes it (dmlviz/export/program/writer.py), and what may be said against one. Pure: no DOM.
import type { Product } from "./product.ts";

export const KINDS = { f32: Float32Array, f64: Float64Array, i32: Int32Array, u8: Uint8Array };
export const VERSION = 1;

export type Kind = keyof typeof KINDS;
/** Buffer, offset, and a stride for each dimension. */
export type View = number[];
/** Where an array lies, or a number; infinity and NaN are text. */
export type Operand = View | number | string;

export interface Instruction {
  op: string;
  shape: number[];
  out: View;
  in: Operand[];
  over?: number[];
  strides?: number[];
  lengths?: number[];
  places?: View | View[];
  sizes?: number[];
  descending?: boolean;
  right?: boolean;
  stride?: number;
  padding?: number;
  image?: number[];
  kernel?: number[];
}

export interface ProgramData {
  version: number;
  /** Kind, count, and place of each in the program's memory; those that are brought have none. */
  buffers: [Kind, number, number][];
  inputs: Record<string, number>;
  outputs: Record<string, number>;
  constants: number[];
  instructions: Instruction[];
  /** Number of instructions that do not need the input that comes later. */
  first: number;
  size: number;
}

/** A program, and the arrays that are always the same. */
export interface PackedProgram {
  program: ProgramData;
  constants: Uint8Array<ArrayBuffer>[];
}

export const DAMAGED =
  "This page's program is damaged or of another version of dmlviz: reload the page, or write the site again.";
export const NO_MEMORY = "The browser gave this page too little memory to train: close other tabs, then train again.";

/** What went wrong, for the visitor: errors that the browser makes up are those of a foreign program, or of its memory. */
export function sentenceOf(error: unknown): string {
  if (error instanceof RangeError) return NO_MEMORY;
  return error instanceof Error && error.constructor === Error ? error.message : DAMAGED;
}

/** One instruction, ready to be done. */
export type Step = () => void;

/** What an instruction needs of the memory that it works in. */
export interface Room {
  readonly buffer: ArrayBuffer;
  /** What an operation needs meanwhile: the same place for all. */
  readonly scratch: Float32Array;
  /** The product of matrices by vector instructions; null where there are none. */
  readonly simd: Product | null;
}
