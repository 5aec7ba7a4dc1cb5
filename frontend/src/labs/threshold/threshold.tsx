// A threshold on the distance: its line on the histograms, its point on the ROC and the verdicts of pairs move together.
import type { ComponentChildren } from "preact";
import { pathOf, scale } from "../../charts/svg.ts";
import { pointerPlace } from "../../lib/dom.ts";
import { maxOf } from "../../lib/extent.ts";
import { useParts } from "../../lib/hooks.ts";
import { panel } from "../../lib/panel.tsx";
import type { ThresholdNet, ThresholdPair, ThresholdProps } from "../../protocol.ts";
import style from "./threshold.css";

/** Shares of the pairs of each kind in bins of the distance. */
export interface Histograms {
  edges: number[];
  same: number[];
  different: number[];
}

/** Shares accepted by a threshold: of the pairs of one identity, and of two. */
export interface Rates {
  recall: number;
  falsePositives: number;
}

/** The share of pairs below a distance; within a bin they are taken to lie evenly. */
export function shareBelow(edges: number[], shares: number[], distance: number): number {
  let sum = 0;
  for (let i = 0; i < shares.length; i++) {
    if (distance >= edges[i + 1]) sum += shares[i];
    else return sum + (shares[i] * Math.max(0, distance - edges[i])) / (edges[i + 1] - edges[i]);
  }
  return sum;
}

export const ratesAt = ({ edges, same, different }: Histograms, threshold: number): Rates => ({
  recall: shareBelow(edges, same, threshold),
  falsePositives: shareBelow(edges, different, threshold),
});

/** As many pairs of one identity as of two: the share that is judged rightly. */
export const accuracy = ({ recall, falsePositives }: Rates): number => (recall + 1 - falsePositives) / 2;

/** The threshold whose point on the ROC is nearest to (x, y), looked for in `steps` steps. */
export function thresholdNear(histograms: Histograms, x: number, y: number, steps = 400): number {
  const end = histograms.edges[histograms.edges.length - 1];
  let [best, least] = [0, Infinity];
  for (let i = 0; i <= steps; i++) {
    const threshold = (end * i) / steps;
    const { recall, falsePositives } = ratesAt(histograms, threshold);
    const away = (falsePositives - x) ** 2 + (recall - y) ** 2;
    if (away < least) [best, least] = [threshold, away];
  }
  return best;
}

const [WIDTH, HEIGHT] = [400, 250];
const [LEFT, RIGHT, TOP, BOTTOM] = [40, 392, 12, 212];
const STEPS = 200; // of the slider
const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
const endOf = ({ edges }: ThresholdNet) => edges[edges.length - 1];

function Threshold({ nets, best, pairs, you }: ThresholdProps) {
  const [chosen, choose] = useParts({ title: best, threshold: null as number | null });
  const net = nets.find(({ title }) => title === chosen.title) ?? nets[0];
  const end = endOf(net);
  const threshold = Math.max(0, Math.min(end, chosen.threshold ?? net.threshold));
  const moveTo = (threshold: number) => choose({ threshold });
  const rates = ratesAt(net, threshold);
  const order = pairs.map((_, i) => i).sort((a, b) => net.distances[a] - net.distances[b]);
  const accepted = order.filter((i) => net.distances[i] < threshold);
  const rest = order.slice(accepted.length);
  const verdict = (i: number) => pairView(pairs[i], net.distances[i], threshold);
  const data = { "data-threshold": threshold.toFixed(4), "data-recall": rates.recall.toFixed(4) };
  return (
    <section class="threshold" data-ready {...data} data-accepted={accepted.length}>
      <div class="head">
        <label>
          {"Net "}
          <select
            aria-label="Net"
            value={net.title}
            onChange={(event) => choose({ title: event.currentTarget.value, threshold: null })}
          >
            {nets.map(({ title }) => (
              <option value={title}>{title}</option>
            ))}
          </select>
        </label>
        <label class="wide">
          {"Threshold "}
          <input
            type="range"
            {...{ min: 0, max: STEPS, step: 1, "aria-label": "Threshold", "aria-valuetext": threshold.toFixed(2) }}
            value={Math.round((threshold / end) * STEPS)}
            onInput={(event) => moveTo((Number(event.currentTarget.value) / STEPS) * end)}
          />
        </label>
      </div>
      <p class="reading" aria-live="polite">
        {`Nearer than ${threshold.toFixed(2)} is “the same”: ${percent(rates.recall)} of the pairs of one identity ` +
          `are recognized, ${percent(rates.falsePositives)} of those of two accepted. ` +
          `${percent(accuracy(rates))} are judged rightly, with as many of each.`}
      </p>
      <div class="charts">
        <Chart label="Distances of the pairs; drag the threshold" drag={(x) => moveTo(scale(LEFT, RIGHT, 0, end)(x))}>
          {histogram(net, threshold)}
        </Chart>
        <Chart
          label="ROC; drag the point along the curve"
          drag={(x, y) => moveTo(thresholdNear(net, scale(LEFT, RIGHT, 0, 1)(x), scale(BOTTOM, TOP, 0, 1)(y)))}
        >
          {roc(net, threshold, you)}
        </Chart>
      </div>
      <div class="strip" role="list" aria-label="Pairs, the nearest first" hidden={!order.length}>
        <p>{`Said to be the same: ${accepted.length} of ${order.length} pairs`}</p>
        <div class="row">{accepted.map(verdict)}</div>
        <p>{`Said to be different: ${rest.length}`}</p>
        <div class="row">{rest.map(verdict)}</div>
      </div>
      <div class="folds">{folds(net)}</div>
    </section>
  );
}

export default panel(style, Threshold);

interface Dragged {
  label: string;
  drag(this: void, x: number, y: number): void;
  children: ComponentChildren;
}

function Chart({ label, drag, children }: Dragged) {
  const move = (event: PointerEvent) => {
    const [x, y] = pointerPlace(event, event.currentTarget as Element);
    drag(x * WIDTH, y * HEIGHT);
  };
  return (
    <svg
      {...{ viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        move(event);
      }}
      onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && move(event)}
    >
      {children}
    </svg>
  );
}

const tick = (x: number, y: number, text: string, anchor: "middle" | "end" = "middle") => (
  <text class="tick" x={x} y={y} text-anchor={anchor}>
    {text}
  </text>
);

const axes = (title: string, ticks: [number, string][]) => [
  <path class="axis" d={`M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}`} />,
  ...ticks.map(([x, text]) => tick(x, BOTTOM + 15, text)),
  tick((LEFT + RIGHT) / 2, BOTTOM + 31, title),
];

function histogram(net: ThresholdNet, threshold: number) {
  const { edges, same, different, folds } = net;
  const end = endOf(net);
  const x = scale(0, end, LEFT, RIGHT);
  const y = scale(0, maxOf([...same, ...different]), BOTTOM, TOP);
  const area = (shares: number[], name: string) => {
    const top = shares.flatMap((share, i): [number, number][] => [
      [x(edges[i]), y(share)],
      [x(edges[i + 1]), y(share)],
    ]);
    return <path class={name} d={pathOf([[LEFT, BOTTOM], ...top, [RIGHT, BOTTOM]]) + "Z"} />;
  };
  const ticks = [0, end / 2, end].map((value): [number, string] => [x(value), value.toFixed(1)]);
  return [
    area(different, "different"),
    area(same, "same"),
    axes("distance", ticks),
    folds.threshold.map((value) => (
      <path class="fold" d={`M${x(value)} ${BOTTOM}v-7`}>
        <title>{`a fold's: ${value.toFixed(3)}`}</title>
      </path>
    )),
    <path class="line" d={`M${x(threshold)} ${TOP}V${BOTTOM}`} />,
    <circle class="grip" cx={x(threshold)} cy={TOP + 4} r={6} />,
    <text class="same" x={LEFT + 6} y={TOP + 10}>
      one identity
    </text>,
    <text class="different" x={RIGHT - 4} y={TOP + 10} text-anchor="end">
      two identities
    </text>,
  ];
}

function roc(net: ThresholdNet, threshold: number, you: number[] | null) {
  const [x, y] = [scale(0, 1, LEFT, RIGHT), scale(0, 1, BOTTOM, TOP)];
  const pointAt = (edge: number): [number, number] => {
    const { falsePositives, recall } = ratesAt(net, edge);
    return [x(falsePositives), y(recall)];
  };
  const [left, top] = pointAt(threshold);
  const ticks = [0, 0.5, 1].map((value): [number, string] => [x(value), String(value)]);
  return [
    <path class="chance" d={`M${LEFT} ${BOTTOM}L${RIGHT} ${TOP}`} />,
    <path class="curve" d={pathOf(net.edges.map(pointAt))} />,
    axes("false positive rate", ticks),
    [0, 0.5, 1].map((value) => tick(LEFT - 6, y(value) + 4, String(value), "end")),
    <text class="tick" transform={`translate(14 ${(TOP + BOTTOM) / 2 - 30}) rotate(-90)`} text-anchor="middle">
      recall
    </text>,
    you && <path class="you" d={`M${x(you[0]) - 7} ${y(you[1]) - 7}l14 14m0 -14l-14 14`} />,
    you && (
      <text class="you" x={x(you[0]) + 10} y={y(you[1]) + 14}>
        you
      </text>
    ),
    <circle class="grip" cx={left} cy={top} r={6} />,
  ];
}

function pairView({ images, same, pixels }: ThresholdPair, distance: number, threshold: number) {
  const right = same === distance < threshold;
  return (
    <figure class={right ? "right" : "wrong"} role="listitem" data-same={same}>
      <span class="images">
        {images.map((src) => (
          <img src={src} alt={same ? "one identity" : "one of two"} />
        ))}
      </span>
      <figcaption>{`${right ? "✓" : "✗"} ${distance.toFixed(2)}`}</figcaption>
      {pixels !== null && <figcaption class="pixels">{`pixels ${pixels.toFixed(1)}`}</figcaption>}
    </figure>
  );
}

function folds({ folds: { accuracy: right, threshold } }: ThresholdNet) {
  const mean = right.reduce((sum, value) => sum + value, 0) / right.length;
  const row = (title: string, values: string[]) => (
    <tr>
      <th scope="row">{title}</th>
      {values.map((value) => (
        <td>{value}</td>
      ))}
    </tr>
  );
  return (
    <table>
      {row("Fold", [...right.map((_, i) => String(i + 1)), "mean"])}
      {row("Threshold of the other nine", [...threshold.map((value) => value.toFixed(3)), ""])}
      {row("Accuracy", [...right.map(percent), percent(mean)])}
    </table>
  );
}
