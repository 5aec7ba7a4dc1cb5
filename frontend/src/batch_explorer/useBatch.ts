// The recorded batches of a run, and the one that is shown.
import { heeding } from "../lib/boundary.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { maxOf } from "../lib/extent.ts";
import { messageOf } from "../lib/format.ts";
import { fetchJson, ROUTES } from "../lib/server.ts";
import type { Theme } from "../lib/theme.ts";
import type { BatchAnswer, BatchExplorerProps, BatchTerms, Nouns, Source } from "../protocol.ts";
import { type LoadedBatch, parseBatch } from "./batch.ts";
import { useMemo, useState } from "preact/hooks";

/** An answer, or why there is none. */
export type Answer<T> = T | { error: string };

/** Requests JSON and keeps the last answers; `onanswer` is called when one arrives. */
export class JsonCache<T> {
  private readonly heed = heeding();
  private answers = new Map<string, Answer<T>>();
  private asking: string | null = null;
  private next: string | null = null;

  constructor(
    private onanswer: (url: string, answer: Answer<T>) => void,
    private fetch: (url: string, what: string) => Promise<T> = fetchJson,
    private capacity = 80,
  ) {}

  /** The answer at `url` if it is here, else null, and it is asked for; of several questions only the last one waits. */
  get(url: string): Answer<T> | null {
    const answer = this.answers.get(url);
    if (answer) return answer;
    if (this.asking === null) this.heed(this.ask(url));
    else if (this.asking !== url) this.next = url;
    return null;
  }

  private async ask(url: string): Promise<void> {
    this.asking = url;
    const answer = await this.fetch(url, "The answer").catch((error: unknown) => ({ error: messageOf(error) }));
    this.answers.set(url, answer);
    if (this.answers.size > this.capacity) this.answers.delete(this.answers.keys().next().value as string);
    const next = this.next;
    this.asking = this.next = null;
    if (next && !this.answers.has(next)) this.heed(this.ask(next));
    this.onanswer(url, answer);
  }
}

/** The answers about one thing, `scope`; drawn anew when one arrives. */
export function useJson<T>(scope: string): JsonCache<T> {
  const [, setCount] = useState(0);
  return useMemo(() => new JsonCache<T>(() => setCount((count) => count + 1)), [scope]);
}

/** Of each of the two drawers. */
export type DrawerProps = BatchExplorerProps & { theme: Theme; open: boolean };

/** The last of the recorded batches up to the step that the map shows (null: the end). */
export function batchAt(steps: number[], moment: number | null): number | null {
  const upTo = steps.filter((step) => step <= (moment ?? Infinity));
  return (upTo.length ? maxOf(upTo) : steps[0]) ?? null;
}

/** True of an event after which nothing more is trained. */
export const isOver = ({ event }: StreamEvent): boolean => ["finished", "stopped", "failed"].includes(event);

/**
 * The batch of a step, and on demand its terms; the last one until another has come. Null asks nothing. `isFinal` is true once
 * the server has sent all that the run has: then the picture is that of the end.
 */
export function useBatch(
  { run, begun, noun }: Source & Nouns,
  step: number | null,
  isFinal: boolean,
  wantsTerms: boolean,
) {
  const folder = `${ROUTES}/runs/${run}/batches`;
  const answers = useJson<BatchAnswer>(`${folder}?${begun}`);
  const terms = useJson<BatchTerms>(`${folder}?${begun}`);
  const shown = useMemo(() => ({ url: "", error: "", batch: null as LoadedBatch | null }), [answers]);
  const url = step === null ? shown.url : `${folder}/${step}.json?${begun}${isFinal ? "" : "-live"}`;
  const answer = url === shown.url ? null : answers.get(url);
  if (answer && "error" in answer) Object.assign(shown, { url, error: answer.error, batch: null });
  else if (answer) Object.assign(shown, { url, error: "", batch: parseBatch(answer, String(begun), noun) });
  const { batch } = shown;
  if (batch && wantsTerms && !batch.terms && !batch.termsError) {
    const own = terms.get(`${folder}/${batch.step}/terms.json?${begun}`);
    if (own && "error" in own) batch.termsError = own.error;
    else batch.terms = own;
  }
  return shown;
}
