// Fetches the neighbors of a pinned image at once; maps and inspectors show the same answer.
import { bus, type PinnedNeighbors } from "../lib/bus.ts";
import { messageOf } from "../lib/format.ts";
import { fetchNeighbors, isOnMap, momentOf } from "../lib/neighbors.ts";
import type { ViewStore } from "./store.ts";

const answers = new Map<string, PinnedNeighbors>();

/** The last neighbors in a run, for a part of the page that is mounted later. */
export const pinnedNeighbors = (run: string): PinnedNeighbors | null => answers.get(run) ?? null;

/** Answer the pins of the runs that are `shown`; of a run's pins the newest counts. Returns how to stop. */
export function followPins(store: ViewStore, isShown: (run: string) => boolean): () => void {
  const requests = new Map<
    string,
    { item: number | null; step?: number | null; waits: boolean; isRefused?: boolean; under: AbortController }
  >();

  const ask = (run: string, item: number | null) => {
    if (!isShown(run)) return;
    const under = new AbortController();
    requests.get(run)?.under.abort();
    if (item !== null && !isOnMap(run)) return void requests.set(run, { item, waits: false, under });
    const request = { item, step: momentOf(run), waits: item !== null, isRefused: false, under };
    requests.set(run, request);
    const publish = (answer: PinnedNeighbors) => {
      if (under.signal.aborted) return;
      answers.set(run, answer);
      bus.emit("neighbors", answer);
    };
    if (item === null) return publish({ run, item });
    void fetchNeighbors(run, item, store.state.metric, under.signal)
      .then(
        (answer) => publish({ run, item, found: answer }),
        (error: unknown) => {
          request.isRefused = !(error instanceof TypeError); // which says that the server was not reached
          publish({ run, item, trouble: messageOf(error) });
        },
      )
      .then(() => {
        request.waits = false;
        keepUp(run);
      });
  };
  /**
   * Ask at the step that the map shows now, one question at a time: steps are left out, never queued. Of an image that one
   * step does not know, no other step is asked: all have the same images.
   */
  const keepUp = (run: string) => {
    const { item = null, step, waits, isRefused } = requests.get(run) ?? {};
    const moment = momentOf(run);
    if (isRefused && typeof step === "number" && moment !== null) return;
    if (item !== null && !waits && step !== moment) ask(run, item);
  };
  const again = ({ run }: { run: string }) => {
    const item = requests.get(run)?.item ?? null;
    if (item !== null) ask(run, item);
  };
  const offs = [
    bus.on("pinned", ({ run, item }) => ask(run, item)),
    bus.on("embedded", again),
    bus.on("frame", ({ run }) => keepUp(run)),
    store.subscribe((change) => {
      if (change.has("metric")) for (const run of requests.keys()) again({ run });
    }),
  ];
  return () => {
    offs.forEach((off) => off());
    for (const { under } of requests.values()) under.abort();
  };
}
