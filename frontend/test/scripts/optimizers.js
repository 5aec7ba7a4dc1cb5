// Updates weights by gradients that Python gives, and returns the weights after each step.
import { readFileSync } from "node:fs";
import { OPTIMIZERS } from "../../src/program/optimizers.ts";

function steps({ optimizer, settings, weights, gradients, rates }) {
  const own = Float32Array.from(weights);
  const update = OPTIMIZERS[optimizer](own, settings);
  return gradients.map((gradient, i) => {
    update(Float32Array.from(gradient), rates[i]);
    return Array.from(own);
  });
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(steps)));
