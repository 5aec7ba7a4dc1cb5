// Rankings to begin with: the worked examples of the literature. Pure: no DOM.
import { countRight, type Ranking } from "./scores.ts";

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
