// One failing part never takes the others with it: it says so where it stands, and all that it listens to goes on.
import { h } from "./dom.ts";
import { messageOf } from "./format.ts";

interface Part {
  place: Node & ParentNode;
  name: string;
}

const STYLE = "position: relative; margin: 8px; overflow-wrap: anywhere; background: var(--ground)";

let drawn: Part | null = null; // what it begins to listen to now is its own
const sentences = new WeakMap<Node, HTMLElement>();

/** Draw a part that stands in `place`. Returns false if that failed, which it says there until it is drawn again. */
export function within(place: Part["place"], name: string, draw: () => void): boolean {
  const done = attempt({ place, name }, draw);
  if (done) forget(place);
  return done;
}

/** A listener that stops no other one: what it throws is told where the part stands that is drawn now. */
export function guarded<A extends unknown[]>(listener: (...args: A) => void): (...args: A) => void {
  const part = drawn;
  return (...args) => void attempt(part, () => listener(...args));
}

function attempt(part: Part | null, action: () => void): boolean {
  const outer = drawn;
  drawn = part;
  try {
    action();
    return true;
  } catch (error) {
    console.error(error);
    if (part) say(part, error);
    return false;
  } finally {
    drawn = outer;
  }
}

function say({ place, name }: Part, error: unknown): void {
  forget(place);
  const words = `${name} failed (${messageOf(error)}). The rest of the page goes on; reload it to try again.`;
  const sentence = h("p", { role: "alert", style: STYLE }, words);
  sentences.set(place, sentence);
  if (place.parentNode) place.parentNode.insertBefore(sentence, place.nextSibling);
  else place.append(sentence); // the root of a part
}

function forget(place: Node): void {
  sentences.get(place)?.remove();
  sentences.delete(place);
}
