// On the board: the race of the class. A line for each run, and who leads; students' names only where they are shown.
import { useEffect, useState } from "preact/hooks";
import { ticks } from "../charts/lossSeries.ts";
import { pathOf, scale } from "../charts/svg.ts";
import { maxOf, minOf } from "../lib/extent.ts";
import { counted, grouped, messageOf, sentence } from "../lib/format.ts";
import { classColors } from "../lib/palette.ts";
import { interval, leadersText, places, rangeText } from "../lib/ranking.ts";
import { fetchJson } from "../lib/server.ts";
import { css } from "../lib/theme.ts";
import type { ClassRace as Race } from "../protocol.ts";

const PAUSE_MS = 3000;
const [WIDTH, HEIGHT, LEFT, BELOW] = [520, 280, 40, 20];

/** `named`: the students of each run are named, not counted. */
export function ClassRace({ url, named, dark }: { url: string; named: boolean; dark: boolean }) {
  const [race, take] = useState<Race | null>(null);
  const [trouble, say] = useState("");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = setTimeout(look);
    function look(): void {
      fetchJson<Race>(`${url}/race.json`, "The race")
        .then((race) => (take(race), say("")))
        .catch((error: unknown) => say(messageOf(error)))
        .finally(() => timer && (timer = setTimeout(look, PAUSE_MS)));
    }
    return () => {
      clearTimeout(timer ?? undefined);
      timer = null;
    };
  }, [url]);
  if (trouble) return <p class="trouble">{trouble}</p>;
  if (!race || !(race.racers.length || race.held)) return null;
  const { racers, on, images, others, held } = race;
  const colors = classColors(racers.length, dark).map((color) => css(color));
  const scores = racers.map(({ course }) => course.at(-1)![1]);
  const ranges = scores.map((score) => interval(score, images));
  const place = places(ranges);
  const order = racers.map((_, i) => i).sort((i, j) => scores[j] - scores[i]);
  const nameOf = (i: number) => (named ? racers[i].by.join(" and ") : racers[i].settings.join(" · "));
  const leaders = order.filter((i) => place[i] === 1);
  const notes = [
    racers.length
      ? `P@1 on ${on}. Runs tie where 95% intervals overlap; of each student the best run and what trains now.`
      : "",
    others ? `${counted(others, "run")} on other images: not in the race.` : "",
    held ? `${counted(held, "run")} of the task: shown with its answer.` : "",
  ];
  return (
    <section class="race" aria-label="Race of the class" data-racers={racers.length} data-leaders={leaders.length}>
      <h2 aria-live="polite">{sentence(leadersText(leaders.map(nameOf), racers.length)) || "Race"}</h2>
      {racers.length > 0 && (
        <div class="beside">
          {chart(racers, colors, place)}
          <table>
            <thead>
              <tr>
                {["Place", "Settings", named ? "By" : "Students", "P@1", "Step"].map((text) => (
                  <th scope="col">{text}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {order.map((i, rank) => (
                <tr key={racers[i].run} class={place[i] === 1 ? "best" : ""}>
                  <td>{place[i] === 1 ? "1." : `${rank + 1}.`}</td>
                  <td class="chip" style={{ "--chip": colors[i] }} children={racers[i].settings.join(" · ")} />
                  <td>{named ? racers[i].by.join(", ") : racers[i].by.length}</td>
                  <td title={rangeText(ranges[i])}>{scores[i].toFixed(3)}</td>
                  <td>{stepText(racers[i])}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="quiet">{notes.filter(Boolean).join(" ")}</p>
    </section>
  );
}

function stepText({ live, steps, course }: Race["racers"][number]): string {
  const at = grouped(course.at(-1)![0]);
  return live ? `${at} of ${grouped(steps)} …` : at;
}

/** The lines of all runs; those that lead are the strongest. */
function chart(racers: Race["racers"], colors: string[], place: (number | null)[]) {
  const points = racers.flatMap(({ course }) => course);
  const last = maxOf(
    racers.map(({ steps }) => steps),
    1,
  );
  const [low, high] = [minOf(points.map(([, score]) => score)), maxOf(points.map(([, score]) => score))];
  const x = scale(0, last, LEFT, WIDTH - 6);
  const y = scale(low, high > low ? high : low + 1e-3, HEIGHT - BELOW, 8);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="P@1 of each run over its steps">
      {ticks(low, high > low ? high : low + 1e-3).map((tick) => [
        <line x1={LEFT} x2={WIDTH - 6} y1={y(tick)} y2={y(tick)} />,
        <text x={LEFT - 5} y={y(tick) + 4} text-anchor="end" children={String(tick)} />,
      ])}
      <text x={LEFT} y={HEIGHT - 4} children="0" />
      <text x={WIDTH - 6} y={HEIGHT - 4} text-anchor="end" children={`${grouped(last)} steps`} />
      {racers.map(({ course }, i) => (
        <path
          class={place[i] === 1 ? "best" : ""}
          d={pathOf(course.map(([step, score]) => [x(step), y(score)] as const))}
          stroke={colors[i]}
        />
      ))}
    </svg>
  );
}
