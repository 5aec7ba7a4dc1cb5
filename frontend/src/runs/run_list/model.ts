// The cards that are shown, their order and their texts. Pure: no DOM.

import type { RunCardProps, RunListOrder } from "../../protocol.ts";

export const SORTS = { newest: "Newest", score: "Score", size: "Size" };
export const SCORES: Record<string, string> = { precision_at_1: "P@1", map_at_r: "MAP@R" };

const time = (card: RunCardProps) => (card.created ? Date.parse(card.created) : -Infinity); // ready-made ones come last

/** Owners of the shown runs, if runs belong to several people. */
export const GROUPS: Record<string, string> = {
  all: "All",
  mine: "Mine",
  shared: "Shared with me",
  public: "Public",
  others: "Others’",
};

/** The groups to choose from: none where everything belongs to one person, others' only for who sees them. */
export function groupsOf(cards: RunCardProps[]): string[] {
  if (!cards.some((card) => card.sharing)) return [];
  const others = cards.some((card) => card.sharing?.group === "others");
  return Object.keys(GROUPS).filter((group) => group !== "others" || others);
}

const ORDERS: Record<string, (a: RunCardProps, b: RunCardProps) => number> = {
  newest: (a, b) => time(b) - time(a),
  score: (a, b) => (b.scores.precision_at_1 ?? -1) - (a.scores.precision_at_1 ?? -1),
  size: (a, b) => b.bytes - a.bytes,
};

/** The cards of a group that hold every word of `search`, in the order of `sort`; of equals the newer first. */
export function filterAndSort(
  cards: RunCardProps[],
  { sort = "newest", search = "", group = "all" }: Partial<RunListOrder> = {},
): RunCardProps[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (card: RunCardProps) =>
    [card.title, ...card.badges, ...(card.tags ?? []), card.run, card.damage ?? "", card.sharing?.owner ?? ""]
      .join(" ")
      .toLowerCase();
  const list = cards
    .filter((card) => group === "all" || !card.sharing || card.sharing.group === group)
    .filter((card) => words.every((word) => text(card).includes(word)));
  return list.sort((a, b) => ORDERS[sort](a, b) || sign(ORDERS.newest(a, b)));
}

const sign = (difference: number) => (Number.isNaN(difference) ? 0 : difference);

/** Bytes as people say them. */
export function readable(size: number): string {
  for (const unit of ["bytes", "kB", "MB"]) {
    if (size < 999.5) return `${unit === "MB" && size < 9.95 ? size.toFixed(1) : size.toFixed(0)} ${unit}`;
    size /= 1000;
  }
  return `${size.toFixed(1)} GB`;
}

/** Elapsed time, in the largest unit that is precise enough. */
export function timeAgo(moment: string | null, now: number): string {
  if (!moment) return "ready-made";
  const minutes = (now - Date.parse(moment)) / 60_000;
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${Math.floor(minutes)} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return moment.slice(0, 10);
}

const STATES: Record<string, string> = {
  queued: "waiting",
  starting: "starting",
  running: "training",
  stopping: "stopping",
  stopped: "stopped early",
  failed: "failed",
  interrupted: "interrupted",
  damaged: "damaged",
};

/** State of a run, unless it has simply finished. */
export const statusLabel = (state: string): string => STATES[state] ?? "";

/** The tags in a line that a person wrote with commas. */
export const tagsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
];
