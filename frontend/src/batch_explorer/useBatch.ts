// The recorded batches of a run, and the one that is shown.
import { useMemo } from "preact/hooks";
import type { StreamEvent } from "../lib/eventStream.ts";
import { maxOf } from "../lib/extent.ts";
import { ROUTES } from "../lib/server.ts";
import type { Theme } from "../lib/theme.ts";
import type { BatchAnswer, BatchExplorerProps, BatchTerms, Source } from "../protocol.ts";
import { parseBatch, type LoadedBatch } from "./batch.ts";
import { useJson } from "./jsonCache.ts";

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
export function useBatch({ run, begun }: Source, step: number | null, isFinal: boolean, wantsTerms: boolean) {
  const folder = `${ROUTES}/runs/${run}/batches`;
  const answers = useJson<BatchAnswer>(`${folder}?${begun}`);
  const terms = useJson<BatchTerms>(`${folder}?${begun}`);
  const shown = useMemo(() => ({ url: "", error: "", batch: null as LoadedBatch | null }), [answers]);
  const url = step === null ? shown.url : `${folder}/${step}.json?${begun}${isFinal ? "" : "-live"}`;
  const answer = url === shown.url ? null : answers.get(url);
  if (answer && "error" in answer) Object.assign(shown, { url, error: answer.error, batch: null });
  else if (answer) Object.assign(shown, { url, error: "", batch: parseBatch(answer, String(begun)) });
  const { batch } = shown;
  if (batch && wantsTerms && !batch.terms && !batch.termsError) {
    const own = terms.get(`${folder}/${batch.step}/terms.json?${begun}`);
    if (own && "error" in own) batch.termsError = own.error;
    else batch.terms = own;
  }
  return shown;
}
