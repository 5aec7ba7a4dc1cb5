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

export const TILES = 10;
export const MOST_RELEVANT = 50;

/** A ranking of ten results that is right at these ranks (from 1). */
export const rightAt = (ranks: number[], relevant: number): Ranking => ({
  hits: Array.from({ length: TILES }, (_, i) => ranks.includes(i + 1)),
  relevant,
});

const ALL = Array.from({ length: TILES }, (_, i) => i + 1);

/** The first four are the table of Musgrave, Belongie, Lim 2020, section 3; the last is how CMC is explained. */
export const PRESETS: { title: string; rankings: Ranking[] }[] = [
  { title: "1st right", rankings: [rightAt([1], 10)] },
  { title: "1st and 10th", rankings: [rightAt([1, 10], 10)] },
  { title: "1st and 2nd", rankings: [rightAt([1, 2], 10)] },
  { title: "All right", rankings: [rightAt(ALL, 10)] },
  { title: "Four queries: right at 3, 4, 1, 2", rankings: [3, 4, 1, 2].map((rank) => rightAt([rank], 1)) },
];

/** The ranking with one result turned over; R grows where there are more right ones than that. */
export function toggle({ hits, relevant }: Ranking, index: number): Ranking {
  return limit(
    hits.map((hit, i) => (i === index ? !hit : hit)),
    relevant,
  );
}

/** The ranking with one result at another place. */
export function reorder({ hits, relevant }: Ranking, from: number, to: number): Ranking {
  const rest = hits.filter((_, i) => i !== from);
  return { hits: [...rest.slice(0, to), hits[from], ...rest.slice(to)], relevant };
}

/** The ranking with another R, from the number of right results (at least 1) on. */
export const limit = (hits: boolean[], relevant: number): Ranking => ({
  hits,
  relevant: Math.min(MOST_RELEVANT, Math.max(1, countRight(hits), Math.round(relevant) || 1)),
});
