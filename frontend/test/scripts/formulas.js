// Reads formulas in LaTeX and templates of terms from standard input; says them as MathML. See tests/app/test_page_scripts.py.
import { readFileSync } from "node:fs";

import { mathml } from "../../src/batch_explorer/latexToMathml.ts";
import { formulasOf } from "../../src/batch_explorer/termFormula.ts";

const { formulas, templates } = JSON.parse(readFileSync(0, "utf8"));
const filled = templates.flatMap(({ template, numbers }) => formulasOf(template, numbers, 0.5));
console.log(JSON.stringify([...formulas, ...filled].map((latex) => mathml(latex))));
