// Photographs that a drawing finds, and one map of both domains: circles are photographs, crosses are sketches.
import { circle, line, loadImage } from "../../lib/canvas.ts";
import { context2d, pointerPlace } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { useAnswer, useSide } from "../../lib/hooks.ts";
import { classColors } from "../../lib/palette.ts";
import { type Hosted, panel, themeOf } from "../../lib/panel.tsx";
import { fetchJson } from "../../lib/server.ts";
import { css, type Rgb, type Theme } from "../../lib/theme.ts";
import type { SketchSearchProps, TwoDomains } from "../../protocol.ts";
import { fitOf, nearest, place, type Points } from "../lab_planes/planeGeometry.ts";
import style from "./sketchSearch.css";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";

const REACH = 16; // pixels between the pointer and a point
const MARK = 4.5; // pixels: half the size of a mark

interface Pointed {
  data: TwoDomains | null;
  theme: Theme;
  marked: number;
  mark(this: void, pair: number): void;
}

function DomainMap({ data, theme, marked, mark }: Pointed) {
  const [view, side] = useSide<HTMLCanvasElement>();
  const places = useMemo(() => {
    const own = data?.answer ? [data.answer.place] : [];
    const points = Float32Array.from([...(data?.places.flat() ?? []), ...own].flat());
    return place(points, fitOf(points, false));
  }, [data]);
  useLayoutEffect(() => {
    if (view.current && side && data) paint(view.current, data, places, marked, theme);
  });
  const find = (event: PointerEvent) => {
    const pairs = data?.garments.length ?? 0;
    const node = event.currentTarget as HTMLElement;
    const item = nearest(places, ...pointerPlace(event, node), REACH / node.clientWidth, (one) => one < 2 * pairs);
    mark(item < 0 ? -1 : item % pairs);
  };
  const size = side ? { width: side, height: side } : {};
  const label = "Photographs and sketches on one map";
  return <canvas role="img" aria-label={label} ref={view} {...size} onPointerMove={find} onPointerDown={find} />;
}

function paint(node: HTMLCanvasElement, data: TwoDomains, places: Points, marked: number, theme: Theme): void {
  const side = node.width;
  const colors = classColors(data.names.length, theme.dark);
  const pairs = data.garments.length;
  const context = context2d(node);
  context.clearRect(0, 0, side, side);
  const at = (item: number) => [places[2 * item] * side, places[2 * item + 1] * side] as const;
  for (let pair = 0; pair < pairs; pair++) {
    context.strokeStyle = css(colors[data.garments[pair]], pair === marked ? 1 : 0.28);
    context.lineWidth = (pair === marked ? 2.5 : 1) * devicePixelRatio;
    line(context, at(pair), at(pairs + pair));
  }
  for (let pair = 0; pair < pairs; pair++) {
    const color = colors[data.garments[pair]];
    const size = (pair === marked ? 2 : 1) * MARK * devicePixelRatio;
    context.fillStyle = css(color, 0.85);
    circle(context, ...at(pair), size * 0.85);
    context.fill();
    cross(context, ...at(pairs + pair), size, color);
  }
  if (data.answer) paintOwn(context, data.answer, at, 2 * pairs, theme);
}

/** The drawing as a square, with a line to the nearest photograph that is on the map. */
function paintOwn(
  context: CanvasRenderingContext2D,
  answer: NonNullable<TwoDomains["answer"]>,
  at: (item: number) => readonly [number, number],
  own: number,
  theme: Theme,
): void {
  const [x, y] = at(own);
  const first = answer.nearest.find(({ item }) => item >= 0);
  context.strokeStyle = css(theme.text);
  context.lineWidth = 2 * devicePixelRatio;
  if (first) {
    context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    line(context, [x, y], at(first.item));
    context.setLineDash([]);
  }
  const size = 7 * devicePixelRatio;
  context.fillStyle = css(theme.text);
  context.fillRect(x - size, y - size, 2 * size, 2 * size);
  context.strokeStyle = css(theme.background);
  context.strokeRect(x - size, y - size, 2 * size, 2 * size);
}

function cross(context: CanvasRenderingContext2D, x: number, y: number, size: number, color: Rgb): void {
  context.strokeStyle = css(color);
  context.lineWidth = 2 * devicePixelRatio;
  line(context, [x - size, y - size], [x + size, y + size]);
  line(context, [x - size, y + size], [x + size, y - size]);
}

function SketchSearch({ url, version, trial, variant, drawing, host }: Hosted<SketchSearchProps>) {
  const [{ pair, last, of }, mark] = useState({ pair: -1, last: -1, of: null as unknown });
  const question = { trial, variant, drawing };
  const key = `${url}?${version} ${JSON.stringify(question)}`;
  const found = useAnswer(key, async () => {
    const data = await fetchJson<TwoDomains>(url, "The search", question);
    const { photographs, sketches, answer } = data;
    const sources = [photographs, sketches, ...(answer ? [answer.sheet, answer.prepared] : [])];
    return { data, sheets: await Promise.all(sources.map(loadImage)), variant };
  });
  const { data = null, sheets = [] } = found.last ?? {};
  const [marked, seen] = of === data ? [pair, last] : [-1, -1];
  const answer = data?.answer;
  const kinds = answer?.nearest.map(({ garment }) => data?.names[garment] ?? "") ?? [];
  const tile = (sheet: HTMLImageElement, i: number) => {
    const side = data?.tile ?? 28;
    const paint = (view: HTMLCanvasElement) =>
      context2d(view).drawImage(sheet, i * side, 0, side, side, 0, 0, side, side);
    return <canvas width={side} height={side} ref={(view) => void (view && paint(view))} />;
  };
  const words = answer
    ? `Your drawing, as the net sees it, and the ${kinds.length} nearest of ${grouped(data?.count ?? 0)} photographs.`
    : "Draw on the pad: lines only, as large as the pad. The nearest photographs come here.";
  return (
    <section
      class="sketch-search"
      data-ready={found.found !== undefined}
      data-pair={last < 0 ? undefined : last}
      {...(data && { "data-kinds": kinds.join(", "), "data-variant": found.last?.variant })}
      data-pairs={data?.garments.length}
    >
      <div class="answer">
        <p class="reading" aria-live="polite">
          {found.trouble || (data ? words : "Loading…")}
        </p>
        <ol class="nearest">
          {answer && (
            <li class="drawn">
              {tile(sheets[3], 0)}
              <span>drawn</span>
            </li>
          )}
          {answer?.nearest.map(({ distance }, i) => (
            <li title={`${kinds[i]}, ${distance.toFixed(2)} away`}>
              {tile(sheets[2], i)}
              <span>{kinds[i]}</span>
            </li>
          ))}
        </ol>
      </div>
      <figure>
        <DomainMap
          {...{ data, marked, theme: themeOf(host) }}
          mark={(pair) => pair !== marked && mark({ pair, last: pair < 0 ? last : pair, of: data })}
        />
        <figcaption>
          Circles: photographs. Crosses: their sketches. A line joins each true pair; the square is your drawing.
        </figcaption>
        <div class="pair">
          {seen >= 0 && tile(sheets[0], seen)}
          {seen >= 0 && tile(sheets[1], seen)}
          <span>{data && seen >= 0 ? data.names[data.garments[seen]] : "Point at the map to see a pair."}</span>
        </div>
      </figure>
    </section>
  );
}

export default panel(style, SketchSearch);
