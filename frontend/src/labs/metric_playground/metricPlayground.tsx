// Two tilted groups of points and a query in the plane: who is nearer, by Euclid, by Mahalanobis, by a learned metric?
import { useLayoutEffect, useRef } from "preact/hooks";
import { pointerPlace } from "../../lib/dom.ts";
import { useParts } from "../../lib/hooks.ts";
import { classColors } from "../../lib/palette.ts";
import { panel, themeOf, type Hosted } from "../../lib/panel.tsx";
import { css } from "../../lib/theme.ts";
import {
  covariance,
  descend,
  eigen,
  EUCLID,
  inverse,
  LEARNERS,
  matrixOf,
  nearestError,
  normals,
  objective,
  pointsOf,
  squared,
  type Group,
  type Learner,
  type Matrix,
  type Point,
  type Weights,
} from "./planeMetric.ts";
import style from "./metricPlayground.css";

const EXTENT = 4;
const COUNT = 30; // points of a group
const TITLES: Record<Learner, string> = { xing: "Xing et al.", nca: "NCA", lmnn: "LMNN" };
const STEPS = 150;
const RATE = 0.1;
const DRAWS = [normals(COUNT, 7), normals(COUNT, 8)];
const LABELS = DRAWS.flatMap((draws, i) => draws.map(() => i));
const UNTRAINED = { weights: [1, 0, 0, 1] as Weights, step: 0 };
const FIRST = {
  ...UNTRAINED,
  groups: [
    { middle: [-1, 0.4], long: 1.5, wide: 0.35, tilt: 0.75 },
    { middle: [0.8, -0.5], long: 1.5, wide: 0.35, tilt: 0.75 },
  ] as Group[],
  query: [0.9, 1.2] as Point,
  learner: "nca" as Learner,
  learning: false,
};

/** What one may drag: the middle and the end of each group, and the query. */
interface Handle {
  label: string;
  at: Point;
  text: string;
  move(this: void, to: Point): void;
}

function MetricPlayground({ host }: Hosted<object>) {
  const [{ groups, query, learner, learning, weights, step }, set] = useParts(FIRST);
  const drag = useRef("");
  const points = groups.flatMap((group, i) => pointsOf(group, DRAWS[i]));
  useLayoutEffect(() => {
    if (!learning || step >= STEPS) return;
    const frame = requestAnimationFrame(() => {
      const [, gradient] = objective(learner, weights, points, LABELS);
      set({ weights: descend(weights, gradient, RATE), step: step + 1 });
    });
    return () => cancelAnimationFrame(frame);
  }, [learning, weights, points]);

  const colors = classColors(2, themeOf(host).dark).map((color) => css(color));
  const metrics: [string, string, Matrix][] = [
    ["Euclid", "euclid", EUCLID],
    ["Mahalanobis", "mahalanobis", mahalanobis(groups)],
    [`Learned (${TITLES[learner]})`, "learned", matrixOf(weights)],
  ];
  const change = (i: number, part: Partial<Group>) =>
    set({ groups: groups.map((group, j) => (i === j ? { ...group, ...part } : group)) });
  const turn = (i: number, [x, y]: Point) => {
    const [dx, dy] = [x - groups[i].middle[0], y - groups[i].middle[1]];
    change(i, { long: Math.max(0.4, Math.min(2.5, Math.hypot(dx, dy))), tilt: Math.atan2(dy, dx) });
  };

  const handles = groups.flatMap(({ middle: [x, y], long, tilt }, i): Handle[] => [
    { label: `middle of group ${i + 1}`, at: [x, y], text: String(i + 1), move: (to) => change(i, { middle: to }) },
    {
      ...{ label: `end of group ${i + 1}`, at: [x + long * Math.cos(tilt), y + long * Math.sin(tilt)], text: "" },
      move: (to) => turn(i, to),
    },
  ]);
  handles.push({ label: "query", at: query, text: "q", move: (to) => set({ query: to }) });
  const apply = ({ move }: Handle, to: Point) =>
    move(to.map((value) => Math.max(-EXTENT + 0.2, Math.min(EXTENT - 0.2, value))) as Point);
  const grab = (event: PointerEvent, label: string) => {
    event.preventDefault();
    drag.current = label;
    (event.currentTarget as SVGElement).ownerSVGElement?.setPointerCapture(event.pointerId);
  };
  const onKey = (event: KeyboardEvent, handle: Handle) => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!by) return;
    event.preventDefault();
    apply(handle, [handle.at[0] + 0.1 * by[0], handle.at[1] + 0.1 * by[1]]);
  };
  const pull = (event: PointerEvent) => {
    const handle = handles.find(({ label }) => label === drag.current);
    const [x, y] = pointerPlace(event, event.currentTarget as Element);
    if (handle) apply(handle, [(2 * x - 1) * EXTENT, (1 - 2 * y) * EXTENT]);
  };
  const lift = () => (drag.current = "");

  return (
    <section class="metric-playground" data-ready data-step={step}>
      <div class="stage">
        <svg
          viewBox={`${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`}
          {...{ role: "group", "aria-label": "Two groups of points and a query to drag" }}
          {...{ onPointerMove: pull, onPointerUp: lift, onPointerCancel: lift }}
        >
          {points.map(([x, y], i) => (
            <circle cx={x} cy={-y} r={0.06} fill={colors[LABELS[i]]} class="point" />
          ))}
          {metrics.map(([, name, matrix]) => ellipse(matrix, query, name))}
          {handles.map((handle, i) => {
            const { at, label, text } = handle;
            const color = colors[i >> 1] ?? "currentColor";
            const [from, to] = handles.slice(i).map((one) => one.at);
            return [
              i % 2 === 0 && to && (
                <line x1={from[0]} y1={-from[1]} x2={to[0]} y2={-to[1]} class="axis" stroke={color} />
              ),
              <g
                {...{ class: "handle", tabindex: 0, role: "button", "aria-label": `${label}; arrow keys move it` }}
                onPointerDown={(event) => grab(event, label)}
                onKeyDown={(event) => onKey(event, handle)}
              >
                <circle cx={at[0]} cy={-at[1]} r={text ? 0.2 : 0.12} fill={color} />
                <text x={at[0]} y={-at[1] + 0.09}>
                  {text}
                </text>
              </g>,
            ];
          })}
        </svg>
      </div>
      <div class="side">
        <p>Drag the middles, the ends and the query q: which group is q nearer to?</p>
        <div class="row">
          <label>
            {"Learned by "}
            <select
              {...{ "aria-label": "Learned by", value: learner }}
              onChange={({ currentTarget: { value } }) =>
                set({ ...UNTRAINED, learner: value as Learner, learning: false })
              }
            >
              {LEARNERS.map((name) => (
                <option value={name}>{TITLES[name]}</option>
              ))}
            </select>
          </label>
          <button onClick={() => set({ ...UNTRAINED, learning: true })}>Learn</button>
        </div>
        <div class="readings" aria-live="polite">
          {metrics.map(([title, name, matrix]) => {
            const [d1, d2] = groups.map(({ middle }) => Math.sqrt(squared(matrix, query, middle)));
            const nearer = d1 < d2 ? 1 : 2;
            const { a, b, c } = matrix;
            const error = nearestError(matrix, points, LABELS);
            return (
              <div class={`metric ${name}`} data-nearer={nearer} data-error={error.toFixed(3)}>
                <b>{title}</b>
                {` q is nearer to group ${nearer} (${d1.toFixed(2)}, ${d2.toFixed(2)}). `}
                <span class="matrix">{`A = [${a.toFixed(2)} ${b.toFixed(2)}; ${b.toFixed(2)} ${c.toFixed(2)}]. `}</span>
                {`Nearest neighbor wrong: ${(100 * error).toFixed(0)}%.`}
              </div>
            );
          })}
        </div>
        <p class="note">
          Each outline is all that lies at one distance from q: a circle for Euclid, an ellipse for the others. The
          lines in it are the eigenvectors of A. Mahalanobis knows how the groups are stretched; the learned metric sees
          only which points belong together.
        </p>
      </div>
    </section>
  );
}

export default panel(style, MetricPlayground);

/** Mahalanobis' matrix: the inverse of the mean covariance of the groups. */
function mahalanobis(groups: Group[]): Matrix {
  const [p, q] = groups.map(covariance);
  return inverse({ a: (p.a + q.a) / 2, b: (p.b + q.b) / 2, c: (p.c + q.c) / 2 });
}

/** All points at distance 1 from `middle`, scaled so that every metric's outline has the same area. */
function ellipse(matrix: Matrix, [x, y]: Point, name: string) {
  const { large, small, angle } = eigen(matrix);
  const size = 1.1 * Math.sqrt(Math.sqrt(Math.max(large * small, 1e-9)));
  const rx = Math.min(3 * EXTENT, size / Math.sqrt(Math.max(small, 1e-6)));
  const ry = size / Math.sqrt(large);
  // The eigenvectors of A are the axes; the long one lies across the direction in which the metric is strict.
  return (
    <g transform={`translate(${x} ${-y}) rotate(${(-(angle + Math.PI / 2) * 180) / Math.PI})`}>
      <path class={`eigenvectors ${name}`} d={`M${-rx} 0H${rx}M0 ${-ry}V${ry}`} />
      <ellipse class={`outline ${name}`} rx={rx} ry={ry} />
    </g>
  );
}
