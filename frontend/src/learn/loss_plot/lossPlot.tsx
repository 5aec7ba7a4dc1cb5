// The loss of a pair, a triplet or an image and class weights against distance or angle, and its slope, as the library
// samples them: a few samples while a slider moves, many once it rests.
import { useLayoutEffect, useRef } from "preact/hooks";
import { sentence } from "../../lib/format.ts";
import { useParts, useSide } from "../../lib/hooks.ts";
import { panel, type Hosted } from "../../lib/panel.tsx";
import { ROUTES } from "../../lib/server.ts";
import type { LossCurve, LossPlotProps } from "../../protocol.ts";
import { defaults, formatNumber, ParamControls, visibleParams, type ParamValue } from "../../widgets/paramControls.tsx";
import { useNewest } from "../newestQuestion.ts";
import { axisValue, drawCurve, readAt, shareAt } from "./curveChart.ts";
import style from "./lossPlot.css";

const FINE = 160; // samples
const COARSE = 24;

type Values = Record<string, ParamValue>;

interface CurveQuestion {
  params: Values;
  held: Values;
  samples: number;
}

interface State {
  params: Values;
  /** Of what stands still. */
  held: Values;
  /** Position at which the curve is read, as a share of the axis. */
  probe: number;
  curve: LossCurve | null;
  trouble: string;
}

function LossPlot({ loss, parameters, host }: Hosted<LossPlotProps>) {
  const first: State = { params: defaults(parameters), held: {}, probe: 0.4, curve: null, trouble: "" };
  const [{ params, held, probe, curve, trouble }, set] = useParts(first);
  const [chart] = useSide<SVGSVGElement>(); // drawn anew with each width
  const newest = useRef<CurveQuestion | null>(null);
  const send = useNewest<CurveQuestion, LossCurve>(
    (curve, question) => {
      // What a person set stays when a parameter brings other sliders.
      const values = Object.fromEntries(curve.held.map(({ name, default: value }) => [name, held[name] ?? value]));
      set({ curve, held: values, trouble: "" });
      if (newest.current === question && question.samples === COARSE) ask({ held: values }, FINE);
    },
    (trouble) => set({ trouble }),
  );
  const ask = (change: Partial<Omit<CurveQuestion, "samples">>, samples = COARSE) => {
    set(change);
    newest.current = { params, held, ...change, samples };
    send(`${ROUTES}/losses/${loss}/curve.json`, newest.current);
  };
  const value = curve ? curve.low + probe * (curve.high - curve.low) : 0;
  useLayoutEffect(() => ask({}, FINE), []);
  useLayoutEffect(() => {
    if (chart.current && curve) drawCurve(chart.current, curve, value);
  });
  const read = (share: number) => set({ probe: Math.max(0, Math.min(1, share)) });
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const to = { Home: 0, End: 1 }[event.key];
    if (by === undefined && to === undefined) return;
    event.preventDefault();
    read(to ?? probe + (by ?? 0) / (event.shiftKey ? 10 : 100));
  };
  const point = (event: PointerEvent) => read(shareAt(event.currentTarget as Element, event.clientX));
  const shown = curve && readingOf(curve, value);
  const data = shown && {
    ...{ "data-ready": true, "data-loss": loss, "data-at": value.toFixed(4) },
    ...{ "data-near": shown.sides[0].value, "data-far": shown.sides[1].value },
  };
  const slider = shown && {
    ...{ role: "slider" as const, "aria-label": `Loss against ${curve.axis.title}; arrow keys move the reading` },
    ...{ "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(probe * 100) },
    "aria-valuetext": `${shown.place}: ${shown.sides.map(({ name, value }) => `${name} ${formatNumber(value)}`).join(", ")}`,
  };
  return (
    <section class="lossplot" {...data}>
      <div class="picture">
        <p class="reading" aria-live="polite">
          {trouble || (shown && <span class="place">{shown.place}</span>)}
          {!trouble &&
            shown?.sides.map(({ kind, name, value, slope }) => (
              <span class={kind}>
                {name}
                <strong>{formatNumber(value)}</strong>
                {` slope ${formatNumber(slope)}`}
              </span>
            ))}
        </p>
        <svg
          {...{ tabindex: 0, ref: chart, ...slider }}
          {...{ onPointerMove: point, onPointerDown: point, onKeyDown: onKey }}
        />
        <p class="note">{curve?.note}</p>
      </div>
      <div class="side">
        <div class="knobs">
          <ParamControls
            {...{ parameters: visibleParams(parameters), values: params }}
            change={(name, value) => ask({ params: { ...params, [name]: value } })}
          />
        </div>
        <div class="knobs held">
          <ParamControls
            {...{ parameters: curve?.held ?? [], values: held }}
            change={(name, value) => ask({ held: { ...held, [name]: value } })}
          />
        </div>
        <button class="try" onClick={() => host.setTriggerValue("go", params)}>
          Try these settings in Explore
        </button>
      </div>
    </section>
  );
}

export default panel<LossPlotProps>(style, (props) => <LossPlot key={props.loss} {...props} />);

/** The place on the axis, and loss and slope of both sides there. */
function readingOf(curve: LossCurve, value: number) {
  const sides = (["near", "far"] as const).map((kind, i) => ({
    ...{ kind, name: curve.names[i] },
    ...readAt(curve, curve[kind], value),
  }));
  return { place: `${sentence(curve.axis.title)} ${axisValue(curve.axis, value)}`, sides };
}
