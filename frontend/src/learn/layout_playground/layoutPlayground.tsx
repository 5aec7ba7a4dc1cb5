// Points whose t-SNE or UMAP forms, and moves while one drags its settings: with a question that people get wrong.
import { useEffect, useRef, useState } from "preact/hooks";
import { context2d } from "../../lib/dom.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { panel } from "../../lib/panel.tsx";
import { randomNumbers } from "../../lib/random.ts";
import { fetchJson } from "../../lib/server.ts";
import { classColors } from "../../lib/palette.ts";
import { readTheme } from "../../lib/theme.ts";
import { LiveLayout, type LayoutSettings } from "../../projection/live.ts";
import { keptNeighbors } from "../../projection/neighbors.ts";
import type { LayoutPlaygroundProps, LossParameter, PointCloud } from "../../protocol.ts";
import { formatNumber } from "../../widgets/paramControls.tsx";
import { CLOUDS, type Cloud, type MadeCloud } from "./clouds.ts";
import { draw, nearestPoint } from "./drawing.ts";
import style from "./layoutPlayground.css";

const BUDGET_MS = 8; // of a frame, for iterations
const MEASURED_EVERY = 20; // frames; the cost four times as often
const COSTS = 200; // of the curve
// Sliders run over what shows something on a few hundred points.
const RANGES: Partial<Record<string, [number, number, number]>> = {
  perplexity: [2, 100, 1],
  attraction: [0.2, 30, 0.1],
  neighbors: [2, 100, 1],
  min_dist: [0, 1, 0.05],
};

interface Reading {
  iterations: number;
  kept: number;
  onMap: number | null;
  inSpace: number | null;
  costs: number[];
}

const NOTHING: Reading = { iterations: 0, kept: 0, onMap: null, inSpace: null, costs: [] };

export default panel<LayoutPlaygroundProps>(style, ({ method, parameters, clouds }) => {
  const used = parameters.filter(({ name }) => name in RANGES || name === "metric");
  const [settings, setSettings] = useState<Record<string, number | string>>(() =>
    Object.fromEntries(used.map(({ name, default: value }) => [name, value as number | string])),
  );
  const [chosen, setChosen] = useState(0);
  const [points, setPoints] = useState<Cloud | null>(null);
  const [trouble, setTrouble] = useState("");
  const [guess, setGuess] = useState<number | null>(null);
  const [pinned, setPinned] = useState<number | null>(null);
  const [playing, setPlaying] = useState(true);
  const [reading, setReading] = useState(NOTHING);
  const canvas = useRef<HTMLCanvasElement>(null);
  const live = useRef<LiveLayout | null>(null);
  const made: MadeCloud | undefined = CLOUDS[chosen];
  const waits = Boolean(made) && guess === null; // the guess comes first

  useEffect(() => {
    let wanted = true;
    setTrouble("");
    setPinned(null);
    setReading(NOTHING);
    if (made) setPoints(made.make());
    else {
      setPoints(null);
      fetchJson<PointCloud>(clouds[chosen - CLOUDS.length].url, "These points").then(
        ({ rows, labels, classes }) =>
          wanted && setPoints({ rows: Float32Array.from(rows.flat()), d: rows[0].length, labels, classes }),
        (error: unknown) => wanted && setTrouble(messageOf(error)),
      );
    }
    return () => (wanted = false);
  }, [chosen]);

  useEffect(() => {
    if (!points) return;
    live.current = new LiveLayout({ ...settings, method } as LayoutSettings & object, randomNumbers(1));
    live.current.take(points.rows, points.d);
  }, [points, method]);

  useEffect(() => live.current?.change(settings), [settings]);

  useEffect(() => {
    if (!points || !canvas.current) return;
    const { rows, d, labels } = points;
    const stage = canvas.current;
    const costs: number[] = [];
    let [frame, count] = [0, 0];
    const show = () => {
      const layout = live.current;
      if (!layout) return;
      const rested = layout.rests;
      const until = performance.now() + BUDGET_MS;
      if (playing && !waits && !document.hidden)
        do layout.step(1);
        while (performance.now() < until && !layout.rests);
      const theme = readTheme(stage);
      draw(context2d(stage), layout, labels, classColors(points.classes.length, theme.dark), pinned, theme.text);
      if (!rested && layout.iterations && (count % (MEASURED_EVERY / 4) === 0 || layout.rests)) {
        const { cost } = layout;
        if (cost !== null && costs.push(cost) > COSTS) costs.shift();
      }
      if (++count % MEASURED_EVERY === 0 && layout.iterations) {
        setReading({
          iterations: layout.iterations,
          kept: keptNeighbors(layout.near, layout.positions),
          onMap: made?.measure?.of(layout.positions, 2, labels) ?? null,
          inSpace: made?.measure?.of(rows, d, labels) ?? null,
          costs: [...costs],
        });
      }
      frame = requestAnimationFrame(show);
    };
    show();
    return () => cancelAnimationFrame(frame);
  }, [points, playing, waits, pinned]);

  const choose = (index: number) => {
    setGuess(null);
    setChosen(index);
  };
  const again = () => {
    live.current?.restart();
    setPlaying(true);
  };
  return (
    <section class="layout-playground" data-iterations={reading.iterations} data-kept={reading.kept.toFixed(2)}>
      <div class="stage">
        <canvas
          ref={canvas}
          width={640}
          height={640}
          role="img"
          aria-label={`Map of ${points?.labels.length ?? 0} points`}
          onClick={(event: MouseEvent) =>
            live.current && setPinned(nearestPoint(event, live.current.positions, pinned))
          }
        />
        {waits && made && <Guess question={made.question} answer={setGuess} />}
      </div>
      <div class="side">
        <select
          aria-label="Points"
          value={chosen}
          onChange={({ currentTarget }) => choose(Number(currentTarget.value))}
        >
          {[...CLOUDS, ...clouds].map(({ title }, i) => (
            <option key={title} value={i}>
              {title}
            </option>
          ))}
        </select>
        {trouble && <p role="alert">{trouble}</p>}
        {used.map((parameter) => (
          <Setting
            key={parameter.name}
            parameter={parameter}
            value={settings[parameter.name]}
            change={(value) => setSettings({ ...settings, [parameter.name]: value })}
          />
        ))}
        <div class="buttons">
          <button onClick={() => setPlaying(!playing)}>{playing ? "Pause" : "Play"}</button>
          <button onClick={again}>Start again</button>
        </div>
        <p class="reading" aria-live="polite">
          {reading.iterations > 0 && (
            <>
              <strong>{reading.kept.toFixed(1)}</strong> of 10 neighbors are kept.{" "}
              {made?.measure && reading.onMap !== null && reading.inSpace !== null && (
                <>
                  {made.measure.what} <strong>{formatNumber(reading.onMap)} ×</strong> on the map,{" "}
                  {formatNumber(reading.inSpace)} × in the space.
                </>
              )}
            </>
          )}
        </p>
        {made && guess !== null && (
          <p class="answer" role="status">
            <strong>{guess === made.question.right ? "Right." : "Many think so."}</strong> {made.question.why}
          </p>
        )}
        {reading.costs.length > 1 && <Costs costs={reading.costs} of={method} />}
        <p class="hint">Click a point to see what holds it: the thicker a line, the stronger the pull.</p>
      </div>
    </section>
  );
});

function Guess({ question, answer }: { question: MadeCloud["question"]; answer: (choice: number) => void }) {
  return (
    <div class="guess" role="group" aria-label="Your guess">
      <p>{question.asks}</p>
      {question.choices.map((choice, i) => (
        <button key={choice} onClick={() => answer(i)}>
          {choice}
        </button>
      ))}
    </div>
  );
}

function Setting(props: {
  parameter: LossParameter;
  value: number | string;
  change: (value: number | string) => void;
}) {
  const { parameter, value, change } = props;
  const { name, help, choices } = parameter;
  const title = name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
  const [low, high, step] = RANGES[name] ?? [0, 1, 1];
  return (
    <label title={help}>
      <span>{title}</span>
      {choices.length ? (
        <select value={value} onChange={({ currentTarget }) => change(currentTarget.value)}>
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <>
          <input
            type="range"
            min={low}
            max={high}
            step={step}
            value={value}
            aria-label={title}
            onInput={({ currentTarget }) => change(Number(currentTarget.value))}
          />
          <output>{formatNumber(Number(value))}</output>
        </>
      )}
    </label>
  );
}

const COST: Record<string, string> = { tsne: "Cost KL(P ‖ Q)", umap: "Cross entropy over all pairs" };
// Damrich, Hamprecht 2021: On UMAP's true loss function.
const UMAP_COST =
  "It may rise: UMAP pushes with a few pairs drawn by chance, and so does not go down to the least of it.";

/** The cost over time, from its largest value down to its smallest. */
function Costs({ costs, of }: { costs: number[]; of: string }) {
  const [most, least] = [maxOf(costs), minOf(costs)];
  const place = (cost: number, i: number) =>
    `${(100 * i) / (costs.length - 1)},${30 - (28 * (cost - least)) / (most - least || 1)}`;
  return (
    <figure>
      <svg viewBox="0 0 100 32" preserveAspectRatio="none" role="img" aria-label="Cost over time">
        <polyline points={costs.map(place).join(" ")} />
      </svg>
      <figcaption>
        {COST[of]}:{" "}
        {costs[costs.length - 1] < 100
          ? formatNumber(costs[costs.length - 1])
          : grouped(Math.round(costs[costs.length - 1]))}
        . {of === "umap" && UMAP_COST}
      </figcaption>
    </figure>
  );
}
