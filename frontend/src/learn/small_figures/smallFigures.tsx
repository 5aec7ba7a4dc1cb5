// Arguments of lectures as small figures: sliders, and what the server's own functions make of them.
import { useLayoutEffect, useState } from "preact/hooks";
import { ticks } from "../../charts/lossSeries.ts";
import { pathOf, scale } from "../../charts/svg.ts";
import { useParts } from "../../lib/hooks.ts";
import { panel } from "../../lib/panel.tsx";
import { ROUTES } from "../../lib/server.ts";
import type { Drawn, Series, SmallFigure, SmallFiguresProps } from "../../protocol.ts";
import { formatNumber, ParamControls, type ParamValue } from "../../widgets/paramControls.tsx";
import { useNewest } from "../newestQuestion.ts";
import style from "./smallFigures.css";

const WIDTH = 440;
const HEIGHT = 260;
const EDGE = { left: 40, right: 10, top: 20, bottom: 34 };
const BAR = 0.36; // half of the place between two bars

type Values = Record<string, ParamValue>;

const SmallFigures = ({ figures }: SmallFiguresProps) => (
  <div class="small-figures">
    {figures.map((figure) => (
      <Figure key={figure.name} {...figure} />
    ))}
  </div>
);

export default panel<SmallFiguresProps>(style, SmallFigures);

function Figure({ name, title, see, sliders, ...axes }: SmallFigure) {
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(sliders.map(({ name, default: value }) => [name, value])),
  );
  const [{ drawn, trouble }, set] = useParts<{ drawn: Drawn | null; trouble: string }>({ drawn: null, trouble: "" });
  const send = useNewest<Values, Drawn>(
    (drawn) => set({ drawn, trouble: "" }),
    (trouble) => set({ trouble }),
  );
  const ask = (values: Values) => send(`${ROUTES}/figures/${name}.json`, values);
  useLayoutEffect(() => ask(values), []);
  return (
    <figure data-name={name} data-ready={drawn ? true : undefined}>
      <h5>{title}</h5>
      <p class="see">{see}</p>
      {drawn && <Chart {...{ drawn, title, ...axes }} />}
      <p class="reading" aria-live="polite">
        {trouble || drawn?.reading || "Computing …"}
      </p>
      {drawn?.formula && <p class="formula">{drawn.formula}</p>}
      <div class="knobs">
        <ParamControls
          {...{ parameters: sliders, values }}
          change={(name, value) => {
            const changed = { ...values, [name]: value };
            setValues(changed);
            ask(changed);
          }}
        />
      </div>
    </figure>
  );
}

function Chart({ drawn, title, x: across, y: up }: { drawn: Drawn; title: string; x: string; y: string }) {
  const [left, right] = drawn.x;
  const [low, high] = drawn.y;
  const isPlane = !across;
  // In a plane both axes have one measure.
  const room = { width: WIDTH - EDGE.left - EDGE.right, height: HEIGHT - EDGE.top - EDGE.bottom };
  const unit = Math.min(room.width / (right - left), room.height / (high - low));
  const wide = isPlane ? unit * (right - left) : room.width;
  const tall = isPlane ? unit * (high - low) : room.height;
  const start = EDGE.left + (room.width - wide) / 2;
  const x = scale(left, right, start, start + wide);
  const y = scale(low, high, EDGE.top + tall, EDGE.top);
  const base = EDGE.top + tall;
  const named = drawn.ticks.map((words, i) => [i, words] as const);
  const marks = named.length ? named : ticks(left, right).map((tick) => [tick, formatNumber(tick)] as const);
  const colors = new Map(drawn.series.filter(({ name }) => name).map(({ name }, i) => [name, i % 4]));
  return (
    <>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}. ${drawn.reading}`}>
        {!isPlane && (
          <clipPath id="inside">
            <rect x={start} y={EDGE.top} width={wide} height={tall} />
          </clipPath>
        )}
        {!isPlane &&
          ticks(low, high).map((tick) => (
            <g>
              <path class="grid" d={`M${start} ${y(tick)}h${wide}`} />
              <text x={start - 5} y={y(tick) + 3.5} text-anchor="end">
                {formatNumber(tick)}
              </text>
            </g>
          ))}
        {!isPlane &&
          marks.map(([at, words]) => (
            <text x={x(at)} y={base + 13} text-anchor="middle">
              {words}
            </text>
          ))}
        <text x={start + wide} y={base + 28} text-anchor="end">
          {across}
        </text>
        <text x={start - 4} y={EDGE.top - 9}>
          {up}
        </text>
        <g clip-path={isPlane ? undefined : "url(#inside)"}>
          {drawn.series.map((series) => (
            <g class={`color-${colors.get(series.name) ?? 3}`}>{shapes(series, x, y, drawn)}</g>
          ))}
        </g>
      </svg>
      <ul class="legend">
        {[...colors].map(([name, color]) => (
          <li class={`color-${color}`}>{name}</li>
        ))}
      </ul>
    </>
  );
}

type Scale = (value: number) => number;

function shapes({ kind, points }: Series, x: Scale, y: Scale, { y: [low], series }: Drawn) {
  if (kind === "line") return <path class="line" d={pathOf(points.map(([a, b]) => [x(a), y(b)]))} />;
  if (kind === "dots") return points.map(([a, b]) => <circle cx={x(a)} cy={y(b)} r={4} />);
  if (kind === "arrows")
    return points.map(([a, b, c, d]) => {
      const [fromX, fromY, toX, toY] = [x(a), y(b), x(c), y(d)];
      const length = Math.hypot(toX - fromX, toY - fromY);
      if (length < 2) return null;
      const turn = (Math.atan2(toY - fromY, toX - fromX) * 180) / Math.PI;
      return (
        <>
          <path class="line" d={`M${fromX} ${fromY}L${toX} ${toY}`} />
          <path class="line" d="M-6 -4L0 0L-6 4" transform={`translate(${toX} ${toY}) rotate(${turn})`} />
        </>
      );
    });
  const half = (x(BAR) - x(0)) / Math.max(1, series.length);
  return points.map(([a, b]) => (
    <rect
      x={x(a) - half}
      y={Math.min(y(b), y(Math.max(0, low)))}
      width={2 * half}
      height={Math.abs(y(b) - y(Math.max(0, low)))}
    />
  ));
}
