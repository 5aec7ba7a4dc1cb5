// Reads {name: batch as the server tells it} from standard input, says what the page makes of each. See test_terms.py.
import { readFileSync } from "node:fs";

import { readBatch } from "../../app/components/lossview/batch.js";
import { mathml } from "../../app/components/lossview/math.js";
import { known, lossOf, termsOf } from "../../app/components/lossview/terms/index.js";

const { batches, formulas } = JSON.parse(readFileSync(0, "utf8"));
const told = Object.fromEntries(
  Object.entries(batches).map(([name, batch]) => {
    const b = readBatch(batch);
    const terms = b.rows.slice(0, 40).flatMap((row) => termsOf(b, row));
    terms.forEach(({ latex }) => mathml(latex));
    return [name, { loss: lossOf(b), terms: terms.map(({ value }) => value), latex: terms[0]?.latex ?? "" }];
  }),
);
for (const formula of formulas) mathml(formula);
console.log(JSON.stringify({ known, told }));
