// @ts-nocheck
// From page to page by an address, as Back and Forward go: one entry of the history, and nothing is loaded anew.

/** The address of the page `name` ("" is the home page) with these parameters, seen from the page `here`. */
export function addressOf(name, query, { pathname }, here) {
  const root = pathname.replace(new RegExp(`${here}/?$`), "");
  const parameters = new URLSearchParams(query).toString();
  return `${root}${name}${parameters ? `?${parameters}` : ""}`;
}

/** Explore's parameters with another run, which is shown from its own side. */
export function exploring(query, run) {
  const { view: _view, pin: _pin, step: _step, ...kept } = query;
  const own = Object.entries(kept).filter(([name]) => !name.startsWith("view."));
  return { ...Object.fromEntries(own), run };
}

/** Compare's parameters with this run as the first, the one that was first being the second. */
export const comparing = ({ a, b }, run) => Object.fromEntries(
  Object.entries({ a: run, b: a === run ? b : a }).filter(([, value]) => value),
);

/** Go there. */
export function visit(address) {
  history.pushState({}, "", address);
  dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}
