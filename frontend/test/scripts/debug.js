import { readFileSync } from "node:fs";
import { decodeBase64 } from "../../src/lib/base64.ts";
import { Machine, Memory, check } from "../../src/program/program.ts";
const floats = (text) => new Float32Array(decodeBase64(text).buffer);
for (const c of JSON.parse(readFileSync("/tmp/tab/dump.json", "utf8"))) {
  const packed = { program: c.program, constants: c.constants.map(decodeBase64) };
  check(packed);
  const m = new Machine(packed, new Memory([packed], c.plain));
  c.runs.forEach((inputs, r) => {
    for (const [n, v] of Object.entries(inputs)) m.input(n).set(floats(v));
    let shown = 0;
    c.program.instructions.forEach((one, i) => {
      m.run(i, i + 1);
      const out = m.arrays[one.out[0]];
      if (r === 0 && shown < 3 && out.some((x) => x !== x)) { shown++; console.log(c.name, "NaN at", i, JSON.stringify(one), one.in.map((v) => Array.isArray(v) ? Array.from(m.arrays[v[0]].slice(v[1], v[1] + 6)) : v)); }
    });
    for (const [n, v] of Object.entries(c.right[r])) console.log(c.name, n, Array.from(floats(v).slice(0, 4)), Array.from(m.output(n).slice(0, 4)));
  });
}
