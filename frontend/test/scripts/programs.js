// Runs programs that Python wrote on inputs that it gives, and returns what they give: base64 of float32.
import { readFileSync } from "node:fs";
import { decodeBase64, encodeBase64 } from "../../src/lib/base64.ts";
import { Machine, Memory, check } from "../../src/program/program.ts";

const floats = (text) => new Float32Array(decodeBase64(text).buffer);
const text = (array) => encodeBase64(new Uint8Array(Float32Array.from(array).buffer));

function results({ program, constants, runs, plain, random }) {
  const packed = { program, constants: constants.map(decodeBase64) };
  check(packed);
  let drawn = 0;
  const next = random && (() => random[drawn++ % random.length]);
  const machine = new Machine(packed, new Memory([packed], plain), {}, next);
  return runs.map((inputs) => {
    for (const [name, values] of Object.entries(inputs)) machine.input(name).set(floats(values));
    machine.run();
    return Object.fromEntries(Object.keys(program.outputs).map((name) => [name, text(machine.output(name))]));
  });
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(results)));
