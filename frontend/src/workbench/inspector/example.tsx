// Beside the map until something is pinned: a test image, its neighbors, and why some of them are of another class.
import { heeding } from "../../lib/boundary.ts";
import type { InspectorProps, ItemNeighbors } from "../../protocol.ts";
import { bus } from "../../lib/bus.ts";
import { sentence } from "../../lib/format.ts";
import { fetchServer, ROUTES } from "../../lib/server.ts";
import { fetchNeighbors, momentOf } from "../../lib/neighbors.ts";
import { UNLABELED } from "../../lib/palette.ts";
import { Details } from "../details.tsx";
import type { ViewStore } from "../store.ts";
import { classOf, type WithSubject } from "./captions.ts";
import { TextButton } from "../../lib/panel.tsx";

const EXAMPLE_HINT = "An example, until you click a point";
const AFTER_MS = 150; // of the map's first frame, which comes first

/** The example of a run, asked for once the map of that run shows something. */
export class Example {
  private readonly heed = heeding();
  private run = "";
  private key = "";
  private request = "";
  private item: number | null = null;
  private answer: ItemNeighbors | null = null;
  private asks = false;
  private step: number | null | undefined; // of the answer
  private timer: ReturnType<typeof setTimeout> | undefined;
  private off = bus.on("frame", ({ run }) => run === this.run && this.schedule());

  /** `changed` hears that there is one. */
  constructor(private onChange: () => void) {}

  /** The image and its neighbors; null where there is none yet, or none at all. */
  of({ run = "", among, example }: InspectorProps): ItemNeighbors | null {
    this.run = run;
    this.key = example ? `${run} ${among}` : "";
    if (this.key !== this.request) {
      clearTimeout(this.timer);
      this.request = ""; // an answer under way is of the run before
      this.item = this.answer = null;
      this.step = undefined;
    }
    if (bus.last("frame")?.run === run) this.schedule();
    return this.answer;
  }

  private schedule(): void {
    if (this.key === this.request) return this.keepUp();
    const { run, key } = this;
    this.request = key;
    this.timer = setTimeout(() => this.heed(this.fetch(run, key)), AFTER_MS);
  }

  private async fetch(run: string, request: string): Promise<void> {
    try {
      const response = await fetchServer(`${ROUTES}/runs/${run}/example.json`);
      const { item } = (response.ok ? await response.json() : { item: null }) as { item: number | null };
      if (request !== this.request) return;
      this.item = item;
      this.keepUp();
    } catch {
      // the words that say what to do stay
    }
  }

  /** Ask at the step that the map shows, one question at a time. */
  private keepUp(): void {
    if (this.item !== null && !this.asks && momentOf(this.run) !== this.step) this.heed(this.ask(this.item));
  }

  private async ask(item: number): Promise<void> {
    const { request, run } = this;
    this.asks = true;
    this.step = momentOf(run);
    const answer = await fetchNeighbors(run, item, "euclidean").catch(() => null); // not among those of that step
    this.asks = false;
    if (request === this.request) {
      this.answer = answer;
      this.onChange();
    } else this.step = undefined;
    this.keepUp();
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.off();
  }
}

/** Which neighbors are of another class, how far they are, and what a vote says; "" where all are of one class. */
export function whySentence({ subject, neighbors, classes }: WithSubject): string {
  const nameOf = (label: number | null | undefined) => classOf({ classes }, label);
  if (nameOf(subject.label) === UNLABELED) return "";
  const wrong = neighbors.flatMap(({ label, distance }, i) =>
    label === subject.label || nameOf(label) === UNLABELED
      ? []
      : [`number ${i + 1} (class ${nameOf(label)}, ${distance.toFixed(3)} away)`],
  );
  const nearest = neighbors.find(({ label }) => label === subject.label);
  if (!wrong.length || !nearest) return "";
  const votes = new Map<number, number>();
  for (const { label } of neighbors) votes.set(label, (votes.get(label) ?? 0) + 1);
  const [[winner, most], [, second]] = [...votes].sort(([, a], [, b]) => b - a);
  return (
    `${sentence(enumerate(wrong))} ${wrong.length > 1 ? "are" : "is"} of another class; the nearest of class ` +
    `${nameOf(subject.label)} is ${nearest.distance.toFixed(3)} away. A vote of all ${neighbors.length} is for ` +
    `class ${nameOf(winner)}, by ${most} to ${second}.`
  );
}

const enumerate = (words: string[]) => [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ");

/** The question why, its answer, and the way to a closer look at the first neighbor of another class. */
export function Why({
  data,
  store,
  look,
}: {
  data: WithSubject;
  store: ViewStore;
  look(this: void, item: number): void;
}) {
  const sentence = whySentence(data);
  if (!sentence) return <p class="quiet">{EXAMPLE_HINT}</p>;
  const index = data.neighbors.findIndex(({ label }) => label !== data.subject.label);
  return (
    <Details class="why unfolds" store={store} name="why">
      <summary>
        <span class="quiet">{EXAMPLE_HINT}</span>
        <span class="ask">Why?</span>
      </summary>
      <p>
        {sentence}{" "}
        <TextButton onClick={() => look(data.neighbors[index].item)}>
          {data.comparable ? `Compare it with number ${index + 1}` : `See the neighbors of number ${index + 1}`}
        </TextButton>
      </p>
    </Details>
  );
}
