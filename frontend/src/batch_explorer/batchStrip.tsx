// Beside the map while a net trains: a pair or a triplet of the batch, its distances, and what the loss does with it.
import { useLayoutEffect, useState } from "preact/hooks";
import type { StreamEvent } from "../lib/eventStream.ts";
import { maxOf } from "../lib/extent.ts";
import { grouped } from "../lib/format.ts";
import { momentOf } from "../lib/neighbors.ts";
import { panel, themeOf } from "../lib/panel.tsx";
import { serverUrl } from "../lib/server.ts";
import type { Source } from "../protocol.ts";
import { useFrame, useRun } from "../workbench/hooks.ts";
import type { LoadedBatch } from "./batch.ts";
import { NEGATIVE_COLOR, POSITIVE_COLOR } from "./batchDrawing.ts";
import style from "./batchStrip.css";
import { TermDetail } from "./termDetail.tsx";
import { batchAt, isOver, useBatch } from "./useBatch.ts";

const nothing = () => ({ steps: [] as number[], trains: false });

function record(known: ReturnType<typeof nothing>, event: StreamEvent): boolean {
  if (event.event === "step" && known.trains) return false; // they come by dozens, and none has another batch
  if (event.event === "batch") known.steps.push(event.step);
  if (event.event === "step") known.trains = true;
  if (isOver(event) || event.event === "end") known.trains = false;
  return true;
}

/** What the loss does with a comparison, in a sentence. */
function pullOf({ rows, hardness, groups, tuples }: LoadedBatch, index: number): string {
  if (!hardness[index]) return "All are far enough apart: the loss leaves them alone.";
  if (tuples.kind === "triplets") return "The loss pulls the positive to the anchor, and pushes the negative away.";
  const [first, second] = rows[index].map((image) => groups[image]);
  return first === second ? "The loss pulls these two together." : "The loss pushes these two apart.";
}

/** A batch once its pictures are here; the one before stays until then. */
function useWithPictures(batch: LoadedBatch | null): LoadedBatch | null {
  const [shown, show] = useState<LoadedBatch | null>(null);
  useLayoutEffect(() => {
    let awaited = true;
    const urls = batch?.sheet.urls ?? [];
    const pictures = urls.map((url) => Object.assign(new Image(), { src: serverUrl(url) }).decode());
    void Promise.allSettled(pictures).then(() => awaited && show(batch));
    return () => {
      awaited = false;
    };
  }, [batch]);
  return shown;
}

export default panel<Source>(style, ({ host, ...source }) => {
  const { steps, trains } = useRun(source, nothing, record);
  const { step: moment } = useFrame(source.run);
  const newest = useBatch(source, trains ? batchAt(steps, momentOf(source.run)) : null, false, false);
  const batch = useWithPictures(newest.batch);
  const isShown = trains && batch !== null && batch.tuples.kind !== "classes";
  useLayoutEffect(() => {
    const { parentElement: place } = host;
    if (place instanceof ShadowRoot) (place.host as HTMLElement).hidden = !isShown;
  }, [isShown]);
  if (!isShown) return null;
  const shade = themeOf(host).dark ? "dark" : "light";
  const index = Math.max(0, batch.hardness.indexOf(maxOf(batch.hardness)));
  const colors = { positive: POSITIVE_COLOR[shade], negative: NEGATIVE_COLOR[shade] };
  return (
    <section class="batch-strip" aria-label="The batch that the loss sees" data-step={batch.step}>
      <p>
        Batch of step <strong>{grouped(batch.step)}</strong>
        {moment !== null && batch.step < moment && ", the last recorded one"}
        {Number.isFinite(batch.active) && ` · active terms ${Math.round(100 * batch.active)}%`}
      </p>
      <TermDetail {...{ batch, index, ...colors }} />
      {batch.rows.length > 0 && <p class="pull">{pullOf(batch, index)}</p>}
    </section>
  );
});
