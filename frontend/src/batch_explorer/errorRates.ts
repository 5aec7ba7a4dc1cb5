// Shares that a threshold on the distance accepts and rejects, from two histograms. Pure: no DOM.

/** Pairs of one class and of two by distance, from 0 to `high`. */
export interface Histograms {
  same: number[];
  different: number[];
  high: number;
}

/** Share of `counts` (bins from 0 to `high`) that lie below `threshold`; within a bin in proportion. */
export function cumulative(counts: number[], high: number, threshold: number): number {
  const at = (threshold / high) * counts.length;
  let sum = 0;
  let total = 0;
  counts.forEach((count, bin) => {
    total += count;
    sum += count * Math.max(0, Math.min(1, at - bin));
  });
  return total ? sum / total : 0;
}

/** "Same class" is said below the threshold: pairs of two classes accepted, pairs of one class rejected, as shares. */
export function rates(
  { same, different, high }: Histograms,
  threshold: number,
): { accepted: number; rejected: number } {
  return { accepted: cumulative(different, high, threshold), rejected: 1 - cumulative(same, high, threshold) };
}

/** The threshold at which both errors are equally frequent. */
export function eerThreshold(histograms: Histograms): number {
  let [low, up] = [0, histograms.high];
  for (let i = 0; i < 40; i++) {
    const middle = (low + up) / 2;
    const { accepted, rejected } = rates(histograms, middle);
    if (accepted < rejected) low = middle;
    else up = middle;
  }
  return (low + up) / 2;
}

/** Bins put together, `by` at a time, as shares of the whole per unit of bin. */
export function rebin(counts: number[], by: number): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  return Array.from(
    { length: Math.ceil(counts.length / by) },
    (_, i) => counts.slice(i * by, (i + 1) * by).reduce((sum, count) => sum + count, 0) / total,
  );
}

/** Mean distance of the pairs counted. */
export function mean(counts: number[], high: number): number {
  let [sum, total] = [0, 0];
  counts.forEach((count, bin) => {
    sum += count * (bin + 0.5);
    total += count;
  });
  return total ? (sum / total / counts.length) * high : 0;
}
