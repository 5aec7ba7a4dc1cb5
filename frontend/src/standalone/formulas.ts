// The formulas of a page of a static site: written in LaTeX, shown as MathML.
import { mathml } from "../batch_explorer/latexToMathml.ts";

for (const place of document.querySelectorAll(".formula")) place.innerHTML = mathml(place.textContent, true);
