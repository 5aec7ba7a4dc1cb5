// From page to page by an address, as Back and Forward go: one entry of the history, and nothing is loaded anew.
// Every change of the address: by Streamlit, Back and Forward, or this page.

// Chromium has this since 2022, Safari and Firefox since 2026; older ones report only Back, Forward and links.
const { navigation } = globalThis as { navigation?: EventTarget };

/** Parameters of an address. */
export type Query = Record<string, string | undefined>;

/** The address of the page `name` ("" is the home page) with these parameters, seen from the page `here`. */
export function addressOf(name: string, query: Query, { pathname }: { pathname: string }, here: string): string {
  const root = pathname.replace(new RegExp(`${here}/?$`), "");
  const parameters = new URLSearchParams(query as Record<string, string>).toString();
  return `${root}${name}${parameters ? `?${parameters}` : ""}`;
}

/** Explore's parameters with another run, which is shown from its own side. */
export function exploreQuery(query: Query, run: string): Query {
  const { view: _view, pin: _pin, step: _step, ...rest } = query;
  const own = Object.entries(rest).filter(([name]) => !name.startsWith("view."));
  return { ...Object.fromEntries(own), run };
}

/** Compare's parameters with this run as the first, the one that was first being the second. */
export const compareQuery = ({ a, b }: Query, run: string): Query =>
  Object.fromEntries(
    Object.entries({ a: run, b: a === run ? b : a }).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );

/**
 * Go there. Until a person does something else, a page that was left does not come back: Streamlit pushes the address
 * of a page when its run begins, which may have been asked for before, and Back would lead to that.
 */
export function navigate(address: string): void {
  const { pathname } = new URL(address, location.href);
  const push: History["pushState"] = (...entry) => History.prototype.pushState.apply(history, entry);
  push({}, "", address);
  dispatchEvent(new PopStateEvent("popstate", { state: {} })); // also ends what an earlier call has begun
  history.pushState = (state, unused, to) => {
    if (new URL(to ?? "", location.href).pathname === pathname) push(state, unused, to);
  };
  const over = () => delete (history as Partial<History>).pushState;
  for (const name of ["popstate", "pointerdown", "keydown"])
    addEventListener(name, over, { capture: true, once: true });
}

/** Follow the address until the returned function is called; `back` says whether by Back, Forward or a link of ours. */
export function onAddressChange(listener: (back: boolean) => void): () => void {
  const onPop = () => listener(true);
  const onChange = () => listener(false);
  addEventListener("popstate", onPop);
  navigation?.addEventListener("currententrychange", onChange);
  return () => {
    removeEventListener("popstate", onPop);
    navigation?.removeEventListener("currententrychange", onChange);
  };
}
