// Says the scores that the page gives to lists of rankings, and what its examples are. See tests/app/test_page_scripts.py.
import { readFileSync } from "node:fs";
import { PRESETS } from "../../src/learn/ranking_toy/presets.ts";
import { meanScores } from "../../src/learn/ranking_toy/scores.ts";

const given = JSON.parse(readFileSync(0, "utf8"));
console.log(
  JSON.stringify({
    given: given.map(meanScores),
    presets: PRESETS.map(({ title, rankings }) => ({ title, rankings, scores: meanScores(rankings) })),
  }),
);
