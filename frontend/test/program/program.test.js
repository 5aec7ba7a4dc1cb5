import assert from "node:assert/strict";
import { test } from "node:test";
import { BINARY, UNARY } from "../../src/program/pointwise.ts";
import { DAMAGED, NO_MEMORY, sentenceOf } from "../../src/program/format.ts";
import { Machine, Memory, check } from "../../src/program/program.ts";
import { augment } from "../../src/program/augment.ts";
import { randomNumbers } from "../../src/lib/random.ts";

/** A program of one instruction: its output is buffer 0, its inputs the buffers after it. */
function packed(instruction, buffers) {
  const inputs = Object.fromEntries(buffers.slice(1).map((_, i) => [`input${i}`, i + 1]));
  const size = 4096;
  const placed = buffers.map(([kind, count], i) => [kind, count, i ? -1 : 0]);
  const program = {
    version: 1,
    buffers: placed,
    inputs,
    outputs: { out: 0 },
    constants: [],
    instructions: [instruction],
    first: 1,
    size,
  };
  return { program, constants: [] };
}

function result(instruction, out, ...inputs) {
  const one = packed(instruction, [out, ...inputs.map((values) => ["f32", values.length])]);
  check(one);
  const machine = new Machine(one, new Memory([one]));
  inputs.forEach((values, i) => machine.input(`input${i}`).set(values));
  machine.run();
  return Array.from(machine.output("out"));
}

const pointwise = (op, ...inputs) =>
  result(
    { op, shape: [inputs[0].length], out: [0, 0, 1], in: inputs.map((_, i) => [i + 1, 0, 1]) },
    ["f64", inputs[0].length],
    ...inputs,
  );

test("NaN and infinity go through as in torch", () => {
  assert.deepEqual(pointwise("maximum", [NaN, 1, 2], [0, NaN, 3]), [NaN, NaN, 3]);
  assert.deepEqual(pointwise("minimum", [NaN, 1, 2], [0, NaN, 3]), [NaN, NaN, 2]);
  assert.deepEqual(pointwise("relu", [NaN, -1, 2]), [NaN, 0, 2]);
  assert.deepEqual(pointwise("round", [0.5, 1.5, 3.5, 2.25]), [0, 2, 4, 2]);
  assert.deepEqual(pointwise("remainder", [5, -5], [3, 3]), [2, 1]);
  assert.deepEqual(pointwise("eq", [1, NaN], [1, NaN]), [1, 0]);
  assert.ok(Object.keys(UNARY).length + Object.keys(BINARY).length > 40);
});

test("an input of one number, and one of a column, is spread over rows", () => {
  const instruction = { op: "sub", shape: [2, 3], out: [0, 0, 3, 1], in: [[1, 0, 1, 0], 0.5] };
  assert.deepEqual(result(instruction, ["f32", 6], [1, 2]), [0.5, 0.5, 0.5, 1.5, 1.5, 1.5]);
});

test("rows are sorted, NaN last, and searched", () => {
  const sort = {
    op: "sort",
    shape: [],
    out: [0, 0, 1],
    in: [[1, 0, 1]],
    lengths: [3, 3],
    places: [2, 0, 1],
    descending: false,
  };
  assert.deepEqual(result(sort, ["f32", 3], [NaN, 2, 1], [0, 0, 0]), [1, 2, NaN]);
  const search = (right) => ({
    op: "searchsorted",
    shape: [],
    out: [0, 0, 1],
    in: [
      [1, 0, 1],
      [2, 0, 1],
    ],
    lengths: [2, 3, 2],
    right,
  });
  assert.deepEqual(result(search(false), ["i32", 2], [1, 2, 3], [2, 9]), [1, 3]);
  assert.deepEqual(result(search(true), ["i32", 2], [1, 2, 3], [2, 9]), [2, 3]);
});

test("vector instructions and plain code give the same product, of any sides and strides", () => {
  for (const [m, k, n, across] of [
    [5, 70, 13, false],
    [33, 40, 8, true],
    [4, 64, 32, false],
  ]) {
    const a = Array.from({ length: m * k }, (_, i) => Math.sin(i));
    const b = Array.from({ length: k * n }, (_, i) => Math.cos(3 * i));
    const of = across ? [1, 0, 1, m] : [1, 0, k, 1];
    const one = packed({ op: "mm", shape: [m, k, n], out: [0, 0, n, 1], in: [of, [2, 0, n, 1]] }, [
      ["f32", m * n],
      ["f32", m * k],
      ["f32", k * n],
    ]);
    one.program.size = 4 * m * n;
    const products = [false, true].map((plain) => {
      const memory = new Memory([one], plain);
      assert.equal(memory.simd === null, plain);
      const machine = new Machine(one, memory);
      machine.input("input0").set(a);
      machine.input("input1").set(b);
      machine.run();
      return Array.from(machine.output("out"));
    });
    products[0].forEach((value, i) => assert.ok(Math.abs(value - products[1][i]) < 1e-4));
  }
});

test("a damaged or foreign program is refused with one sentence", () => {
  const good = () =>
    packed({ op: "neg", shape: [2], out: [0, 0, 1], in: [[1, 0, 1]] }, [
      ["f32", 2],
      ["f32", 2],
    ]);
  const damages = [
    (program) => (program.version = 2),
    (program) => (program.instructions[0].in = [[7, 0, 1]]),
    (program) => (program.buffers[0][2] = 1e9),
    (program) => (program.outputs.out = 5),
    (program) => program.constants.push(1),
  ];
  check(good());
  for (const damage of damages) {
    const one = good();
    damage(one.program);
    assert.throws(() => check(one), /^Error: This page's program is damaged or of another version/);
  }
  const unknown = good();
  unknown.program.instructions[0].op = "launch";
  assert.throws(() => new Machine(unknown, new Memory([unknown])), /is damaged or of another version/);
});

test("what the browser cannot do is said in one sentence", () => {
  assert.equal(sentenceOf(new Error("The loss is not known.")), "The loss is not known.");
  assert.equal(sentenceOf(new TypeError("x is undefined")), DAMAGED);
  assert.equal(sentenceOf(new globalThis.WebAssembly.RuntimeError("memory access out of bounds")), DAMAGED);
  assert.equal(sentenceOf(new RangeError("Array buffer allocation failed")), NO_MEMORY);
  const one = packed({ op: "neg", shape: [2], out: [0, 0, 1], in: [[1, 0, 1]] }, [
    ["f32", 2],
    ["f32", 2],
  ]);
  one.program.size = 2 ** 45;
  assert.throws(() => new Memory([one]), { message: NO_MEMORY });
  assert.throws(() => new Memory([one], true), { message: NO_MEMORY });
});

test("without WebAssembly the same program runs as plain code", () => {
  const { WebAssembly: whole } = globalThis;
  globalThis.WebAssembly = undefined;
  try {
    const one = packed({ op: "neg", shape: [2], out: [0, 0, 1], in: [[1, 0, 1]] }, [
      ["f32", 2],
      ["f32", 2],
    ]);
    const memory = new Memory([one]);
    assert.equal(memory.simd, null);
    const machine = new Machine(one, memory);
    machine.input("input0").set([1, -2]);
    machine.run();
    assert.deepEqual(Array.from(machine.output("out")), [-1, 2]);
  } finally {
    globalThis.WebAssembly = whole;
  }
});

const SIZE = 12;
const image = Uint8Array.from({ length: 2 * SIZE ** 2 }, (_, i) => (i * 37) % 251);

function changed(strengths, { seed = 1, size = SIZE, from = SIZE ** 2, ground = 0 } = {}) {
  const to = new Uint8Array(size ** 2);
  augment(image, from, to, strengths, ground, randomNumbers(seed));
  return to;
}

test("an image without a strength is as it was, a flip mirrors it left to right", () => {
  const own = image.slice(SIZE ** 2);
  assert.deepEqual(changed({}), own);
  const mirrored = own.map((_, i) => own[i - (i % SIZE) + SIZE - 1 - (i % SIZE)]);
  assert.deepEqual(changed({ flip: 1 }), mirrored);
});

test("each strength changes an image, alike for equal seeds, and one pixel stays one", () => {
  for (const name of ["crop", "shift", "rotate", "erase", "jitter"]) {
    const strength = { [name]: name === "rotate" ? 40 : 0.4 };
    const tries = [1, 2, 3, 4].map((seed) => changed(strength, { seed }).join());
    assert.equal(changed(strength, { seed: 3 }).join(), tries[2], name);
    assert.ok(new Set(tries).size > 1, name);
    assert.equal(changed(strength, { size: 1 }).length, 1);
  }
});

test("what a shift uncovers has the color of the ground", () => {
  const moved = changed({ shift: 0.5 }, { ground: 255, seed: 2 });
  const bright = image.slice(SIZE ** 2).filter((value) => value === 255).length;
  assert.ok(moved.filter((value) => value === 255).length > bright + SIZE);
});
