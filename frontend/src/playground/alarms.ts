// Signs of a failing training, by the rules of dmlviz/training/diagnostics.py. Pure: no DOM.
import { grouped } from "../lib/format.ts";
import type { RunEvent } from "../protocol.ts";
import type { Scores } from "./scores.ts";
import type { BatchStats } from "./training.ts";

const WINDOW = 20; // batches that an alarm about the loss is based on
const COLLAPSE_RATIO = 0.05; // of the untrained net's mean distance between classes
const LOSS_RISE_FACTOR = 3; // times the lowest mean loss so far

/** Follows a training; each call returns the alarms that come, and the ends of those that go. */
export function watch() {
  const active = new Set<string>();
  let recent: BatchStats[] = [];
  let [first, lowest, before] = [NaN, Infinity, NaN];

  /** The events of one alarm: `sentence` is empty where all is well. */
  function change(step: number, alarm: string, sentence: string): RunEvent[] {
    if (Boolean(sentence) === active.has(alarm)) return [];
    if (sentence) active.add(alarm);
    else active.delete(alarm);
    return [sentence ? { event: "alarm", step, alarm, sentence, remedies: [] } : { event: "alarm_over", step, alarm }];
  }

  return {
    step(step: number, stats: BatchStats): RunEvent[] {
      recent = [...recent.slice(1 - WINDOW), stats];
      if (Number.isNaN(first)) first = stats.loss;
      if (recent.length < WINDOW) return [];
      const mean = recent.reduce((sum, one) => sum + one.loss, 0) / WINDOW;
      lowest = Math.min(lowest, mean);
      const rises = mean > LOSS_RISE_FACTOR * Math.abs(lowest) && mean > 1.5 * Math.abs(first);
      return [
        ...change(
          step,
          "inactive",
          recent.every((one) => one.active === 0)
            ? `No active loss terms in the last ${WINDOW} batches: the gradient is zero.`
            : "",
        ),
        ...change(
          step,
          "diverging",
          rises
            ? `Loss is diverging: mean ${mean.toPrecision(3)} over the ${WINDOW} batches up to step ${grouped(step)}, ${first.toPrecision(3)} in the first.`
            : "",
        ),
      ];
    },
    snapshot(step: number, { mean_negative_distance: between }: Scores): RunEvent[] {
      if (Number.isNaN(before)) before = between;
      const fallen = between <= COLLAPSE_RATIO * before;
      return change(
        step,
        "collapsed",
        fallen
          ? `Embeddings have collapsed to a point: mean distance between classes ${between.toPrecision(2)}; ${before.toPrecision(2)} before training.`
          : "",
      );
    },
  };
}
