// Ten results to turn over and to move, and what the metrics of a ranking make of them.
import { h, setData } from "../../lib/dom.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import type { RankingToyProps } from "../../protocol.ts";
import { PRESETS, TILES } from "./presets.ts";
import { RankingRow } from "./rankingRow.ts";
import style from "./rankingToy.css";
import { complete, countRight, meanScores, precisions, type Ranking, type ScoreName } from "./scores.ts";

const SCORES: ScoreName[] = ["precision_at_1", "r_precision", "map_at_r", "map", "mrr"];
const MOST_TERMS = 4; // of a sum that is written out

export default function ({ parentElement, data }: ComponentArguments<RankingToyProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new RankingToy(parent),
    (toy) => toy.update(data),
  );
}

class RankingToy {
  private rankings: Ranking[] = PRESETS[1].rankings;
  private rows: RankingRow[] = [];
  private props: RankingToyProps = { metric: "", titles: {} };
  private buttons = PRESETS.map(({ title, rankings }) =>
    h("button", { type: "button", class: "preset", click: () => this.begin(rankings) }, title),
  );
  private queries = h("div", "queries");
  private after = h("p", "after");
  private cmc = h("div", "cmc");
  private scores = h("dl", { "aria-live": "polite" });
  private root = h(
    "section",
    "ranking-toy",
    h("div", { class: "presets", role: "group", "aria-label": "Examples" }, ...this.buttons),
    this.queries,
    this.cmc,
    this.after,
    this.scores,
  );

  constructor(parent: ParentNode) {
    parent.append(this.root);
    this.begin(this.rankings);
  }

  update(props: RankingToyProps): void {
    this.props = props;
    this.paint();
  }

  destroy(): void {
    this.root.remove();
  }

  private begin(rankings: Ranking[]): void {
    this.rankings = rankings;
    this.rows = rankings.map((ranking, i) => {
      const title = rankings.length > 1 ? `Query ${i + 1}` : "Results of a query, nearest first";
      return new RankingRow(ranking, title, (next) => this.change(i, next));
    });
    this.queries.replaceChildren(...this.rows.map((row) => row.root));
    this.paint();
  }

  private change(index: number, ranking: Ranking): void {
    this.rankings = this.rankings.map((old, i) => (i === index ? ranking : old));
    this.paint();
  }

  private paint(): void {
    const { rankings, props } = this;
    rankings.forEach((ranking, i) => this.rows[i].paint(ranking));
    this.buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(PRESETS[i].rankings === rankings));
    });
    const mean = meanScores(rankings);
    const isCmc = ["cmc_at_k", "recall_at_k"].includes(props.metric);
    this.cmc.classList.toggle("chosen", isCmc);
    this.cmc.replaceChildren(
      h("div", "head", props.titles.cmc_at_k ?? "", " = ", props.titles.recall_at_k ?? "", ", k = 1 to 10"),
      h("div", "tiles", ...mean.cmc.map((value) => h("span", "cell", format(value)))),
    );
    const missing = rankings.map(({ hits, relevant }) => relevant - countRight(hits));
    this.after.textContent = missing.some(Boolean) ? missingText(missing) : "";
    this.scores.replaceChildren(
      ...SCORES.map((name) =>
        h(
          "div",
          { class: name === props.metric ? "chosen" : null, "data-score": name },
          h("dt", null, props.titles[name] ?? name),
          h("dd", null, format(mean[name])),
          h("p", null, rankings.length > 1 ? `mean of ${rankings.length} queries` : formula(name, rankings[0])),
        ),
      ),
    );
    setData(this.root, { ready: "true", ...Object.fromEntries(SCORES.map((name) => [name, mean[name]])) });
    this.root.dataset.cmc = JSON.stringify(mean.cmc);
  }
}

const format = (value: number): string => value.toFixed(2);

function missingText(missing: number[]): string {
  const all = missing.reduce((total, count) => total + count, 0);
  const subject = all === 1 ? "1 right image is" : `${all} right images are`;
  return `${subject} not among the first ${TILES}: directly after them, as MAP counts.`;
}

/** The computation of one query's score, in numbers. */
function formula(name: ScoreName, ranking: Ranking): string {
  const { relevant } = ranking;
  const all = complete(ranking);
  switch (name) {
    case "precision_at_1":
      return all[0] ? "the first is right" : "the first is wrong";
    case "r_precision":
      return `${countRight(all, relevant)} of the first R = ${relevant}`;
    case "map_at_r":
      return sumOf(precisions(all, relevant), relevant);
    case "map":
      return sumOf(precisions(all), relevant);
    case "mrr":
      return `first right at ${all.indexOf(true) + 1}`;
  }
}

function sumOf(terms: { rank: number; right: number }[], relevant: number): string {
  if (!terms.length) return `none right: 0 / ${relevant}`;
  const parts = terms.slice(0, MOST_TERMS).map(({ rank, right }) => `${right}/${rank}`);
  return `(${parts.join(" + ")}${terms.length > MOST_TERMS ? " + …" : ""}) / ${relevant}`;
}
