// Words that explain themselves: a label is given the name of its term, and widgets/glossary shows the explanation.
import { BASE } from "./server.ts";

/** The attribute that names an element's term. */
export const TERM = "data-term";

/**
 * Have an element explain itself on hover, focus and tap by a term of dmlviz/catalog/glossary.toml. Where there is no server,
 * there is no glossary, and the element stays as it is.
 */
export function explain<E extends HTMLElement>(element: E, term: string): E {
  if (!BASE) return element;
  element.setAttribute(TERM, term.replace(/^(recall|cmc)_at_\d+$/, "$1_at_k"));
  element.title = ""; // one explanation, not two; not even that of an element around it
  element.style.textDecoration = "underline dotted"; // here: each panel has a style sheet of its own
  element.style.textUnderlineOffset = "0.2em";
  queueMicrotask(() => {
    if (element.closest("a, button, label, summary, [tabindex]")) return; // has the focus already
    element.tabIndex = 0;
    element.style.cursor = "help";
  });
  return element;
}
