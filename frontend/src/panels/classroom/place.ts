// Where a page is, as an address says it, and what it takes to get from one place to another. Pure: no DOM.
import type { Query } from "../../lib/router.ts";

export interface PagePlace {
  /** Name of the page; empty for Explore. */
  page: string;
  query: Record<string, string>;
  /** What comes before the page's name in the address, with its last slash. */
  root: string;
}

/** Parameters that belong to one person, which nobody is led to. */
const OWN = ["guess", "share", "code"];
/** Parameters that a map takes over without a new page. */
const SOFT = ["step", "pin"];

/** The place of an address; `pages` are the names of all pages but Explore. */
export function placeOf({ pathname, search }: { pathname: string; search: string }, pages: string[]): PagePlace {
  const parts = pathname.split("/");
  const name = parts.at(-1) || (parts.at(-2) ?? "");
  const page = pages.includes(name) ? name : "";
  const root = page ? pathname.slice(0, pathname.lastIndexOf(page)) : pathname.replace(/[^/]*$/, "");
  const query = Object.fromEntries(new URLSearchParams(search));
  return { page, query: without(query, OWN), root };
}

/** What a page has to do to be where the teacher is. */
export interface Move {
  /** An address to go to; null where this page stays. */
  address: string | null;
  /** The item to pin; undefined where that is as it should be. */
  pin?: number | null;
}

/** The way from a page to where the teacher is. */
export function moveTo(lead: { page: string; query: Query }, here: PagePlace, guess: number | null): Move {
  const wanted = without(lead.query as Record<string, string>, OWN);
  const same = lead.page === here.page && key(without(wanted, SOFT)) === key(without(here.query, SOFT));
  if (!same) {
    const own: Record<string, string> = wanted.lesson && guess !== null ? { guess: String(guess) } : {};
    const text = new URLSearchParams({ ...wanted, ...own }).toString();
    return { address: `${here.root}${lead.page}${text ? `?${text}` : ""}` };
  }
  if (wanted.pin === here.query.pin) return { address: null };
  return { address: null, pin: wanted.pin === undefined ? null : Number(wanted.pin) };
}

const without = (query: Record<string, string>, names: string[]) =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)));

const key = (query: Record<string, string>) => JSON.stringify(Object.entries(query).sort());
