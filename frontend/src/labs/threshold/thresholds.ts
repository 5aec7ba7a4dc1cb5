// Error rates of a threshold, from histograms of the distances of both kinds of pairs. Pure: no DOM.

/** Shares of the pairs of each kind in bins of the distance. */
export interface Histograms {
  edges: number[];
  same: number[];
  different: number[];
}

/** Shares accepted by a threshold: of the pairs of one identity, and of two. */
export interface Rates {
  recall: number;
  falsePositives: number;
}

/** The share of pairs below a distance; within a bin they are taken to lie evenly. */
export function shareBelow(edges: number[], shares: number[], distance: number): number {
  let sum = 0;
  for (let i = 0; i < shares.length; i++) {
    if (distance >= edges[i + 1]) sum += shares[i];
    else return sum + (shares[i] * Math.max(0, distance - edges[i])) / (edges[i + 1] - edges[i]);
  }
  return sum;
}

export const ratesAt = ({ edges, same, different }: Histograms, threshold: number): Rates => ({
  recall: shareBelow(edges, same, threshold),
  falsePositives: shareBelow(edges, different, threshold),
});

/** As many pairs of one identity as of two: the share that is judged rightly. */
export const accuracy = ({ recall, falsePositives }: Rates): number => (recall + 1 - falsePositives) / 2;

/** The threshold whose point on the ROC is nearest to (x, y), looked for in `steps` steps. */
export function thresholdNear(histograms: Histograms, x: number, y: number, steps = 400): number {
  const end = histograms.edges[histograms.edges.length - 1];
  let [best, least] = [0, Infinity];
  for (let i = 0; i <= steps; i++) {
    const threshold = (end * i) / steps;
    const { recall, falsePositives } = ratesAt(histograms, threshold);
    const away = (falsePositives - x) ** 2 + (recall - y) ** 2;
    if (away < least) [best, least] = [threshold, away];
  }
  return best;
}
