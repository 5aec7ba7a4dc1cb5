// The scores of a ranking, by the names and formulas of dmlviz.metrics: tests/app/test_page_scripts.py holds them equal.
// Pure: no DOM.

/** The result of one query: whether each item is right, nearest first; and R, the number of right ones in all. */
export interface Ranking {
  hits: boolean[];
  relevant: number;
}

/** The scores of one query; the mean over all queries is the metric. */
export interface QueryScores {
  precision_at_1: number;
  r_precision: number;
  map_at_r: number;
  map: number;
  mrr: number;
  /** CMC@k (R@k) for k = 1, 2, …: 1 from the first right result on. */
  cmc: number[];
}

export type ScoreName = Exclude<keyof QueryScores, "cmc">;

/** Number of right items among the first `rank` results. */
export const countRight = (hits: boolean[], rank = hits.length): number => hits.slice(0, rank).filter(Boolean).length;

/** The results with those added that are right and missing: they come directly after. */
export function complete({ hits, relevant }: Ranking): boolean[] {
  const missing = Math.max(0, relevant - countRight(hits));
  return [...hits, ...Array<boolean>(missing).fill(true)];
}

/** The ranks (from 1) of the right results among the first `most`, each with how many are right up to there. */
export function precisions(hits: boolean[], most = hits.length): { rank: number; right: number }[] {
  let right = 0;
  return hits.slice(0, most).flatMap((hit, i) => (hit ? [{ rank: i + 1, right: (right += 1) }] : []));
}

export function scoreRanking(ranking: Ranking): QueryScores {
  const all = complete(ranking);
  const { relevant, hits } = ranking;
  const sum = (most: number) => precisions(all, most).reduce((total, { rank, right }) => total + right / rank, 0);
  const first = all.indexOf(true) + 1;
  return {
    precision_at_1: Number(first === 1),
    r_precision: countRight(all, relevant) / relevant,
    map_at_r: sum(relevant) / relevant,
    map: sum(all.length) / relevant,
    mrr: 1 / first,
    cmc: hits.map((_, i) => Number(first <= i + 1)),
  };
}

/** The metrics: means over the queries. */
export function meanScores(rankings: Ranking[]): QueryScores {
  const all = rankings.map(scoreRanking);
  const mean = (of: (scores: QueryScores) => number) => all.reduce((total, one) => total + of(one), 0) / all.length;
  return {
    precision_at_1: mean((one) => one.precision_at_1),
    r_precision: mean((one) => one.r_precision),
    map_at_r: mean((one) => one.map_at_r),
    map: mean((one) => one.map),
    mrr: mean((one) => one.mrr),
    cmc: rankings[0].hits.map((_, i) => mean((one) => one.cmc[i])),
  };
}
