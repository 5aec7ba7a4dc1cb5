// Reads {name: batch as the server tells it} from standard input, says what the page makes of each. See test_terms.py.
import { readFileSync } from "node:fs";

import { lossOf } from "../../src/losses/index.ts";
import { parseBatch } from "../../src/batch_explorer/batch.ts";
import { mathml } from "../../src/batch_explorer/latexToMathml.ts";
import { termsOf } from "../../src/batch_explorer/lossTerms.ts";

const { batches, formulas } = JSON.parse(readFileSync(0, "utf8"));
const told = Object.fromEntries(
  Object.entries(batches).map(([name, batch]) => {
    const b = parseBatch(batch);
    const terms = b.rows.slice(0, 40).flatMap((row) => termsOf(b, row));
    terms.forEach(({ latex }) => mathml(latex));
    const loss = lossOf(b.loss_of.name, b.params, b.batch);
    return [name, { loss, terms: terms.map(({ value }) => value), known: Boolean(b.formula.text) }];
  }),
);
for (const formula of formulas) mathml(formula);
console.log(JSON.stringify(told));
