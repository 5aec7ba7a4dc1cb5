// Ten results to turn over and to move, and what the metrics of a ranking make of them.
import { minOf } from "../../lib/extent.ts";
import { panel } from "../../lib/panel.tsx";
import type { RankingToyProps } from "../../protocol.ts";
import {
  limit,
  MOST_RELEVANT,
  PRESETS,
  reorder,
  TILES,
  toggle,
  complete,
  countRight,
  meanScores,
  precisions,
  type Ranking,
  type ScoreName,
} from "./scores.ts";
import style from "./rankingToy.css";
import { useRef, useState } from "preact/hooks";

const DRAG_START = 6; // pixels

interface Changed {
  ranking: Ranking;
  title: string;
  change(this: void, ranking: Ranking): void;
}

function RankingRow({ ranking, title, change }: Changed) {
  const tiles = useRef<HTMLDivElement>(null);
  /** The tile under the pointer, where that went down, and whether it moved since. */
  const grip = useRef<{ index: number; x: number; moved: boolean } | null>(null);
  const wasDragged = useRef(false);
  const [dragged, mark] = useState<number | null>(null);
  const buttons = () => Array.from(tiles.current?.querySelectorAll("button") ?? []);
  const indexAt = (x: number) => {
    const boxes = buttons().map((tile) => tile.getBoundingClientRect());
    const away = boxes.map(({ left, width }) => Math.abs(left + width / 2 - x));
    return away.indexOf(minOf(away));
  };
  const drag = ({ clientX }: PointerEvent) => {
    const held = grip.current;
    if (!held || (!held.moved && Math.abs(clientX - held.x) < DRAG_START)) return;
    held.moved = true;
    const to = indexAt(clientX);
    if (to !== held.index) change(reorder(ranking, held.index, to));
    held.index = to;
    mark(to);
  };
  const lift = () => {
    wasDragged.current = grip.current?.moved ?? false;
    grip.current = null;
    mark(null);
  };
  const onKey = (event: KeyboardEvent, index: number) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(TILES - 1, index + by));
    if (event.shiftKey && to !== index) change(reorder(ranking, index, to));
    buttons()[to].focus();
  };
  return (
    <div class="query">
      <div class="head">
        <strong>{title}</strong>
        <label>
          {"R, right ones in all "}
          <input
            type="number"
            {...{ min: 1, max: MOST_RELEVANT, value: ranking.relevant }}
            onChange={(event) => {
              const next = limit(ranking.hits, Number(event.currentTarget.value));
              event.currentTarget.value = String(next.relevant);
              change(next);
            }}
          />
        </label>
      </div>
      <div class="tiles" role="group" aria-label={`${title}: results, nearest first`} ref={tiles}>
        {ranking.hits.map((hit, i) => (
          <div class="cell">
            <span class="rank">{i + 1}</span>
            <button
              {...{
                title: "Click: right or wrong. Drag: another place.",
                class: i === dragged ? "dragged" : undefined,
              }}
              {...{
                "data-right": hit,
                "aria-pressed": hit,
                "aria-label": `Result ${i + 1}: ${hit ? "right" : "wrong"}`,
              }}
              onClick={() => {
                if (!wasDragged.current) change(toggle(ranking, i));
                wasDragged.current = false;
              }}
              onKeyDown={(event) => onKey(event, i)}
              onPointerDown={(event) => {
                wasDragged.current = false;
                grip.current = { index: i, x: event.clientX, moved: false };
                event.currentTarget.setPointerCapture(event.pointerId);
              }}
              {...{ onPointerMove: drag, onPointerUp: lift, onPointerCancel: lift }}
            >
              {hit ? "✓" : "✗"}
            </button>
            <span class="note">{hit && `${countRight(ranking.hits, i + 1)}/${i + 1}`}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

const SCORES: ScoreName[] = ["precision_at_1", "r_precision", "map_at_r", "map", "mrr"];
const MOST_TERMS = 4; // of a sum that is written out

function RankingToy({ metric, titles }: RankingToyProps) {
  const [rankings, change] = useState<Ranking[]>(PRESETS[1].rankings);
  const mean = meanScores(rankings);
  const missing = rankings.map(({ hits, relevant }) => relevant - countRight(hits));
  const data = Object.fromEntries(SCORES.map((name) => [`data-${name}`, mean[name]]));
  return (
    <section class="ranking-toy" data-ready {...data} data-cmc={JSON.stringify(mean.cmc)}>
      <div class="presets" role="group" aria-label="Examples">
        {PRESETS.map((preset) => (
          <button
            {...{ class: "preset", "aria-pressed": preset.rankings === rankings }}
            onClick={() => change(preset.rankings)}
          >
            {preset.title}
          </button>
        ))}
      </div>
      <div class="queries">
        {rankings.map((ranking, i) => (
          <RankingRow
            ranking={ranking}
            title={rankings.length > 1 ? `Query ${i + 1}` : "Results of a query, nearest first"}
            change={(next) => change((all) => all.map((old, j) => (i === j ? next : old)))}
          />
        ))}
      </div>
      <div class={["cmc_at_k", "recall_at_k"].includes(metric) ? "cmc chosen" : "cmc"}>
        <div class="head">{`${titles.cmc_at_k ?? ""} = ${titles.recall_at_k ?? ""}, k = 1 to 10`}</div>
        <div class="tiles">
          {mean.cmc.map((value) => (
            <span class="cell">{format(value)}</span>
          ))}
        </div>
      </div>
      <p class="after">{missing.some(Boolean) && missingText(missing)}</p>
      <dl aria-live="polite">
        {SCORES.map((name) => (
          <div class={name === metric ? "chosen" : undefined} data-score={name}>
            <dt>{titles[name] ?? name}</dt>
            <dd>{format(mean[name])}</dd>
            <p>{rankings.length > 1 ? `mean of ${rankings.length} queries` : formula(name, rankings[0])}</p>
          </div>
        ))}
      </dl>
    </section>
  );
}

export default panel(style, RankingToy);

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
