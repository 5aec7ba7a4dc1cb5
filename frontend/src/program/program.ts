// A program that Python wrote (dmlviz/export/program/writer.py): its memory, and how it is run. Pure: no DOM.
import { maxOf } from "../lib/extent.ts";
import {
  DAMAGED,
  KINDS,
  NO_MEMORY,
  VERSION,
  type Kind,
  type Operand,
  type PackedProgram,
  type Room,
  type Step,
} from "./format.ts";
import { kernelOf } from "./kernels.ts";
import { scratchNumbers } from "./matrices.ts";
import type { Numbers } from "./pointwise.ts";
import { simdProduct, type Product } from "./product.ts";

const ALIGNMENT = 16;
const PAGE = 65536;

/** Memory for programs, in which WebAssembly can work where the browser has it. */
export class Memory implements Room {
  private taken = 0;
  readonly buffer: ArrayBuffer;
  /** What an operation needs meanwhile: the same place for all. */
  readonly scratch: Float32Array;
  /** The product of matrices by vector instructions; null where there are none. */
  readonly simd: Product | null = null;

  /** Memory for these programs; `plain` is for tests. */
  constructor(programs: PackedProgram[], plain = false) {
    const scratch = maxOf(
      programs.flatMap(({ program }) => program.instructions.map(scratchNumbers)),
      0,
    );
    const pages = Math.ceil((programs.reduce((sum, each) => sum + bytesOf(each), 0) + 4 * scratch + ALIGNMENT) / PAGE);
    try {
      if (plain || typeof WebAssembly === "undefined") this.buffer = new ArrayBuffer(pages * PAGE);
      else {
        const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
        this.buffer = memory.buffer;
        this.simd = simdProduct(memory);
      }
    } catch (error) {
      throw new Error(NO_MEMORY, { cause: error });
    }
    this.scratch = this.take("f32", scratch) as Float32Array;
  }

  /** A new array of numbers. */
  take(kind: Kind, count: number): Numbers {
    return new KINDS[kind](this.buffer, this.reserve(count * KINDS[kind].BYTES_PER_ELEMENT), count);
  }

  /** A place of so many bytes. */
  reserve(bytes: number): number {
    const place = this.taken;
    this.taken += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    return place;
  }
}

/** A program in a memory, ready to run. */
export class Machine {
  private arrays: Numbers[];
  private steps: Step[];

  /** `given` are arrays for some of the inputs; the others get memory of their own. */
  constructor(
    private packed: PackedProgram,
    memory: Memory,
    given: Record<string, Numbers> = {},
    random: () => number = Math.random,
  ) {
    const { program, constants } = packed;
    const start = memory.reserve(program.size);
    const brought = new Map<number, Numbers>();
    for (const [name, number] of Object.entries(program.inputs))
      brought.set(number, given[name] ?? memory.take(program.buffers[number][0], program.buffers[number][1]));
    program.constants.forEach((number, i) => {
      const [kind, count] = program.buffers[number];
      const array = memory.take(kind, count);
      array.set(new KINDS[kind](constants[i].slice().buffer));
      brought.set(number, array);
    });
    this.arrays = program.buffers.map(([kind, count, place], number) => {
      const known = brought.get(number);
      if (known) return known;
      return place < 0 ? new KINDS[kind](0) : new KINDS[kind](memory.buffer, start + place, count);
    });
    this.steps = program.instructions.map((one) => kernelOf(one, this.arrays, memory, random));
  }

  input = (name: string): Numbers => this.arrays[this.packed.program.inputs[name]];
  output = (name: string): Numbers => this.arrays[this.packed.program.outputs[name]];

  /** Whether there is a result of this name. */
  has = (name: string): boolean => name in this.packed.program.outputs;

  /** Do all instructions, or those `from` a number on `to` another. */
  run(from = 0, to = this.steps.length): void {
    for (let i = from; i < to; i++) this.steps[i]();
  }

  /** Do what can be done before the input that comes later, or the rest. */
  runFirst = (): void => this.run(0, this.packed.program.first);
  runRest = (): void => this.run(this.packed.program.first);
}

/** Bytes that a program takes. */
function bytesOf({ program }: PackedProgram): number {
  const brought = [...program.constants, ...Object.values(program.inputs)].map((number) => program.buffers[number]);
  const sizes = brought.map(([kind, count]) => ALIGNMENT + count * KINDS[kind].BYTES_PER_ELEMENT);
  return sizes.reduce((sum, size) => sum + size, program.size + ALIGNMENT);
}

/** Throw for a program that this page cannot run: nothing of it may reach beyond its arrays. */
export function check({ program, constants }: PackedProgram): void {
  const { version, buffers, instructions, inputs, outputs, size } = program;
  const bytes = (number: number): number => buffers[number][1] * KINDS[buffers[number][0]].BYTES_PER_ELEMENT;
  const whole = (number: number): boolean => Number.isInteger(buffers[number]?.[1]) && buffers[number][0] in KINDS;
  const known = (view: Operand): boolean => !Array.isArray(view) || whole(view[0]);
  const all =
    version === VERSION &&
    [...Object.values(inputs), ...Object.values(outputs), ...program.constants].every(whole) &&
    buffers.every(([, , place], number) => whole(number) && (place < 0 || place + bytes(number) <= size)) &&
    constants.length === program.constants.length &&
    constants.every((array, i) => array.length === bytes(program.constants[i])) &&
    instructions.every((one) => known(one.out) && one.in.every(known));
  if (!all) throw new Error(DAMAGED);
}
