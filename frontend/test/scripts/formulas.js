// Reads cases from standard input, [{loss, params, points, labels, triplets, own}], and writes what the page computes.
import { readFileSync } from "node:fs";
import { forces, FORMULAS } from "../../src/losses/index.ts";

const cases = JSON.parse(readFileSync(0, "utf8"));
const results = cases.map(({ loss, params, points, labels, triplets, own }) =>
  forces(loss, params, points, labels, { triplets, own }),
);
console.log(JSON.stringify({ names: Object.keys(FORMULAS), results }));
