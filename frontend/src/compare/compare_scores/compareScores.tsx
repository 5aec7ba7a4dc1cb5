// Differences of two runs: their scores at the shown steps, and the images that only one gets right. Of more, a chart and a table.
import { unpackBits } from "../../lib/base64.ts";
import { bus } from "../../lib/bus.ts";
import { counted, grouped, ITEM, signed } from "../../lib/format.ts";
import { useAnswer } from "../../lib/hooks.ts";
import { dataOf, panel, Term, themeOf } from "../../lib/panel.tsx";
import { fetchJson } from "../../lib/server.ts";
import type { Agreement, CompareProps, MapQuality, Nouns } from "../../protocol.ts";
import { useFrame } from "../../workbench/hooks.ts";
import { captionAt, scoresAt, type ScoreState } from "../../workbench/scores/scoreState.ts";
import { RaceTable } from "./raceTable.tsx";
import { ScoreChart, useReadings } from "./scoreChart.tsx";
import style from "./compareScores.css";

interface ScoreRow {
  key: string;
  label: string;
  title: string;
  a: number | null;
  b: number | null;
  difference: number | null;
}

/** Of two runs. */
type Both<T> = readonly [T, T];

type AgreementName = "both" | "first" | "second" | "neither";

/** The scores of two readings, row by row; null where one is not known. */
function scoreRows([a, b]: Both<ScoreState>, [stepA, stepB]: Both<number | null>): ScoreRow[] {
  const others = scoresAt(b, stepB);
  const rows = scoresAt(a, stepA).map((score, i) => ({ ...score, other: others[i] }));
  return rows
    .filter(({ absent, other }) => !absent || !other.absent)
    .map(({ key, label, title, value, other: { value: second } }) => {
      return {
        key,
        label,
        title,
        a: value,
        b: second,
        difference: value === null || second === null ? null : second - value,
      };
    });
}

/** On which images both were measured and when; where that differs it is said of each. */
function captionOf([a, b]: Both<ScoreState>, [stepA, stepB]: Both<number | null>): string {
  const [one, other] = [captionAt(a, stepA), captionAt(b, stepB)];
  return one === other
    ? `Both: ${one.charAt(0).toLowerCase()}${one.slice(1)}.`
    : `First: ${lowerFirst(one)}. Second: ${lowerFirst(other)}.`;
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** Description of a table cell, as the reason of a selection. */
function agreementReason(cell: AgreementName, [a, b]: Both<string>, item: string): string {
  const right = `Their nearest ${item} is of their own class`;
  return {
    both: `${right} in both runs`,
    first: `${right} in “${a}” but not in “${b}”`,
    second: `${right} in “${b}” but not in “${a}”`,
    neither: `Their nearest ${item} is of a different class in both runs`,
  }[cell];
}

const ALIKE = 5e-4; // a difference that three digits do not show

/** `all`: the table of all scores of more than two runs, in place of the chart of one. */
export default panel<CompareProps & Nouns & { all?: boolean }>(style, (props) => {
  if (props.all) return <RaceTable {...props} dark={themeOf(props.host).dark} />;
  return props.sides.length > 2 ? <ScoreChart {...props} /> : <Scores {...props} />;
});

function Scores({ sides, status, quality, cells, cells_url, noun }: CompareProps & Nouns) {
  const readings = [0, 1].map((i) => useReadings(sides[i] ?? NONE, noun)) as [ScoreState, ScoreState];
  const steps = [0, 1].map((i) => useFrame(sides[i]?.run).step) as [number | null, number | null];
  const { found = null } = useAnswer(cells_url ?? null, (url) => fetchJson<Agreement>(url, "The comparison"));
  const agreement = cells ?? found;
  return (
    <section
      class="compare-scores"
      aria-label="Scores of both runs"
      {...dataOf({ ready: true, runs: sides.map(({ run }) => run).join(" ") })}
    >
      {quality && <Quality {...quality} />}
      {sides.length > 0 && ( // two maps of one run have the same scores
        <>
          <table class="scores">
            <thead>
              <tr>
                <th scope="col">Score</th>
                <th scope="col" title={sides[0].title} children="First" />
                <th scope="col" title={sides[1].title} children="Second" />
                <th scope="col">Difference</th>
              </tr>
            </thead>
            <tbody>{scoreRows(readings, steps).map(rowView)}</tbody>
          </table>
          <p class="quiet">{captionOf(readings, steps)}</p>
          {agreement ? <AgreementTable {...{ sides, noun }} cells={agreement} /> : <p class="quiet">{status}</p>}
        </>
      )}
    </section>
  );
}

const NONE = { run: "" };

type AgreementProps = Pick<CompareProps, "sides"> & Nouns & { cells: Agreement };

function AgreementTable({ cells, sides, noun }: AgreementProps) {
  const item = noun ?? ITEM;
  const total = Object.values(cells).reduce((sum, { count }) => sum + count, 0);
  const select = (name: AgreementName) => {
    const items: number[] = [];
    unpackBits(cells[name].bits, total).forEach((bit, item) => void (bit && items.push(item)));
    const titles = [sides[0].title, sides[1].title] as const;
    bus.emit("select", { run: sides[0].run, items, reason: agreementReason(name, titles, item) });
  };
  const row = (label: string, ...names: AgreementName[]) => (
    <tr>
      <th scope="row">{label}</th>
      {names.map((name) => (
        <td class={name}>
          <button
            data-cell={name}
            disabled={cells[name].count === 0}
            title="Select these on both maps"
            onClick={() => select(name)}
          >
            <b>{grouped(cells[name].count)}</b>
            <span class="share">{`${((100 * cells[name].count) / total).toFixed(1)}%`}</span>
          </button>
        </td>
      ))}
    </tr>
  );
  const among = `All ${counted(total, item)}${noun ? "" : ", final models"}`;
  return (
    <div class="agreement">
      <table>
        <thead>
          <tr>
            <td />
            <th scope="col">Second right</th>
            <th scope="col">Second wrong</th>
          </tr>
        </thead>
        <tbody>
          {row("First right", "both", "first")}
          {row("First wrong", "second", "neither")}
        </tbody>
      </table>
      <p class="quiet">{`${among}. Right: the nearest other ${item} is of the same class.`}</p>
    </div>
  );
}

const digits = (value: number | null) => value?.toFixed(3) ?? "–";

/** Faithfulness of both maps, side by side. */
const Quality = ({ titles, rows, note }: MapQuality) => (
  <>
    <table class="scores">
      <thead>
        <tr>
          {["What the map keeps", ...titles].map((title) => (
            <th scope="col">{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, values]) => (
          <tr>
            <th scope="row">{name}</th>
            {values.map((value) => (
              <td>{digits(value)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
    <p class="quiet">{note}</p>
  </>
);

function rowView({ key, label, title, a, b, difference }: ScoreRow) {
  const better = difference === null || Math.abs(difference) < ALIKE ? "" : difference > 0 ? "second" : "first";
  return (
    <tr title={title} data-score={key} data-better={better}>
      <th scope="row">
        <Term term={key} children={label} />
      </th>
      <td class="a">{digits(a)}</td>
      <td class="b">{digits(b)}</td>
      <td class="difference">{difference === null ? "–" : signed(difference)}</td>
    </tr>
  );
}
