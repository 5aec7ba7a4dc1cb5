// The guesses of a class, a bar each.
import { h } from "../../lib/dom.ts";

/** Draw the guesses; `answer` (from 1) is marked where it is given. */
export function histogram(guesses: string[], counts: number[], answer: number | null): HTMLElement {
  const most = Math.max(1, ...counts);
  const rows = guesses.map((text, i) => {
    const right = answer === i + 1;
    const fill = h("span", { class: "fill", style: `width: ${(100 * counts[i]) / most}%` });
    return h(
      "li",
      { class: right ? "right" : "", "data-count": counts[i] },
      h("span", "guess", text, right ? h("span", "mark", "✓ the answer") : null),
      h("span", "track", fill),
      h("span", "count", String(counts[i])),
    );
  });
  return h("ol", "histogram", ...rows);
}
