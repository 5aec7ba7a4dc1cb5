// One failing part never takes the others with it: it says so where it stands, and all that it listens to goes on.
import { messageOf } from "./format.ts";

interface Part {
  place: Node & ParentNode;
  name: string;
}

const STYLE = "position: relative; margin: 8px; overflow-wrap: anywhere; background: var(--ground)";

let drawn: Part | null = null; // what it begins to listen to now is its own
const parts = new WeakMap<Node, Part>(); // by their places
const sentences = new WeakMap<Node, HTMLElement>();

/** Draw a part that stands in `place`. Returns false if that failed, which it says there until it is drawn again. */
export function within(place: Part["place"], name: string, draw: () => unknown): boolean {
  const part = { place, name };
  parts.set(place, part);
  const done = attempt(part, draw);
  if (done) forget(place);
  return done;
}

/** As `within`, unless that part is being drawn already. */
export const withinPart = (place: Part["place"], draw: () => unknown): boolean =>
  drawn?.place === place ? (draw(), true) : within(place, "This part", draw);

/**
 * A listener that stops no other one: what it throws, now or later in a promise, is told where the part stands that is drawn now,
 * or else in which the event happened.
 */
export function guarded<A extends unknown[]>(listener: (...args: A) => unknown): (...args: A) => void {
  const part = drawn;
  return (...args) => void attempt(part ?? partOf(args[0]), () => listener(...args));
}

/** What a part does with a promise that it does not await: a failure is told where the part stands that is drawn now. */
export const heeding = (): ((promise: Promise<unknown>) => void) => guarded((promise: Promise<unknown>) => promise);

function attempt(part: Part | null, action: () => unknown): boolean {
  const outer = drawn;
  drawn = part;
  try {
    const result = action();
    if (result instanceof Promise) result.catch((error: unknown) => failed(part, error));
    return true;
  } catch (error) {
    failed(part, error);
    return false;
  } finally {
    drawn = outer;
  }
}

function failed(part: Part | null, error: unknown): void {
  console.error(error);
  if (part) say(part, error);
}

/** The innermost part around the element that an event is at. */
function partOf(event: unknown): Part | null {
  let node = (event as Partial<Event> | undefined)?.currentTarget as Node | null | undefined;
  while (node && !parts.has(node)) node = node.parentNode ?? (node as Partial<ShadowRoot>).host;
  return (node && parts.get(node)) ?? null;
}

function say({ place, name }: Part, error: unknown): void {
  forget(place);
  const words = `${name} failed (${messageOf(error)}). The rest of the page goes on; reload it to try again.`;
  const sentence = document.createElement("p");
  sentence.setAttribute("role", "alert");
  sentence.setAttribute("style", STYLE);
  sentence.append(words);
  sentences.set(place, sentence);
  if (place.parentNode) place.parentNode.insertBefore(sentence, place.nextSibling);
  else place.append(sentence); // the root of a part
}

function forget(place: Node): void {
  sentences.get(place)?.remove();
  sentences.delete(place);
}
