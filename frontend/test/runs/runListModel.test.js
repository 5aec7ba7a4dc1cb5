import assert from "node:assert/strict";
import test from "node:test";
import { timeAgo, filterAndSort, readable } from "../../src/runs/run_list/model.ts";

const card = (title, fields = {}) => ({
  run: title.toLowerCase(),
  title,
  badges: ["MNIST", "Triplet"],
  tags: [],
  scores: {},
  bytes: 1,
  created: "2026-01-01T00:00:00+00:00",
  ...fields,
});
const titles = (cards) => cards.map(({ title }) => title).join("");

test("the newest is first and ready-made ones are last", () => {
  const cards = [
    card("A", { created: null }),
    card("B"),
    card("C", { created: "2026-01-02T00:00:00+00:00" }),
    card("D", { created: null }),
  ];
  assert.equal(titles(filterAndSort(cards)), "CBAD");
});

test("the best score is first, and runs without one are last, the newer before the older", () => {
  const cards = [
    card("A"),
    card("B", { created: "2026-01-02T00:00:00+00:00" }),
    card("C", { scores: { precision_at_1: 0.5 } }),
    card("D", { scores: { precision_at_1: 0.9 } }),
  ];
  assert.equal(titles(filterAndSort(cards, { sort: "score" })), "DCBA");
});

test("the largest is first", () => {
  assert.equal(
    titles(filterAndSort([card("A", { bytes: 2 }), card("B", { bytes: 3 }), card("C")], { sort: "size" })),
    "BAC",
  );
});

test("a search finds cards with every word, in any of what they say", () => {
  const cards = [card("Alpha", { tags: ["lesson 2"] }), card("Beta", { badges: ["Digits", "Triplet"] })];
  assert.equal(titles(filterAndSort(cards, { search: " TRIPLET alp " })), "Alpha");
  assert.equal(titles(filterAndSort(cards, { search: "lesson" })), "Alpha");
  assert.equal(titles(filterAndSort(cards, { search: "triplet" })), "AlphaBeta");
  assert.equal(titles(filterAndSort(cards, { search: "gamma" })), "");
});

test("sizes are told in the unit that fits", () => {
  assert.deepEqual([0, 999, 1000, 999_499, 999_500, 5_340_000, 12_300_000, 1_240_000_000].map(readable), [
    "0 bytes",
    "999 bytes",
    "1 kB",
    "999 kB",
    "1.0 MB",
    "5.3 MB",
    "12 MB",
    "1.2 GB",
  ]);
});

test("times are told as people do", () => {
  const now = Date.parse("2026-01-03T12:00:00Z");
  assert.equal(timeAgo(null, now), "ready-made");
  assert.equal(timeAgo("2026-01-03T11:59:30+00:00", now), "just now");
  assert.equal(timeAgo("2026-01-03T11:29:30+00:00", now), "30 min ago");
  assert.equal(timeAgo("2026-01-02T12:00:00+00:00", now), "24 h ago");
  assert.equal(timeAgo("2026-01-01T11:00:00+00:00", now), "2026-01-01");
});

test("what is damaged is found by that word, and by the file", () => {
  const cards = [card("A", { damage: "embeddings.npy is damaged (it is cut off)." }), card("B")];
  assert.equal(titles(filterAndSort(cards, { search: "damaged" })), "A");
  assert.equal(titles(filterAndSort(cards, { search: "embeddings.npy" })), "A");
});
