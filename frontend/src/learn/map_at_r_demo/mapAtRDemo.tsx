// Small spaces side by side with their scores; the point under the pointer shows whom its scores come from. Points can
// be dragged, or moved with Shift and the arrow keys: the library scores them anew.
import { useRef, useState } from "preact/hooks";
import { pointerPlace } from "../../lib/dom.ts";
import { minOf } from "../../lib/extent.ts";
import { useParts } from "../../lib/hooks.ts";
import type { MapAtRDemoProps, SmallSpace, SpaceScores } from "../../protocol.ts";
import { ROUTES } from "../../lib/server.ts";
import { classColors } from "../../lib/palette.ts";
import { panel, themeOf, type Hosted } from "../../lib/panel.tsx";
import { css } from "../../lib/theme.ts";
import { useNewest } from "../newestQuestion.ts";
import style from "./mapAtRDemo.css";
import { countRight, scoreRanking } from "../ranking_toy/scores.ts";

/** The others by distance, nearest first; at equal distance those of another class first, as the library ranks. */
function rankNeighbors({ points, classes }: Pick<SmallSpace, "points" | "classes">, query: number): number[] {
  const far = (i: number) => Math.hypot(points[i][0] - points[query][0], points[i][1] - points[query][1]);
  const right = (i: number) => Number(classes[i] === classes[query]);
  return points
    .map((_, i) => i)
    .filter((i) => i !== query)
    .sort((i, j) => far(i) - far(j) || right(i) - right(j));
}

/** The R nearest of a query (R: how many others are of its class), which of them are right, and the scores. */
export function scoreQuery(space: Pick<SmallSpace, "points" | "classes">, query: number) {
  const relevant = space.classes.filter((label) => label === space.classes[query]).length - 1;
  const found = rankNeighbors(space, query).slice(0, relevant);
  const hits = found.map((i) => space.classes[i] === space.classes[query]);
  const scores = scoreRanking({ hits, relevant });
  return { found, hits, relevant, first: hits[0], precision: countRight(hits) / relevant, average: scores.map_at_r };
}

const EXTENT = 1.1;
const RADIUS = 0.028;
const STEP = 0.02;
const TITLES: Record<string, string> = {
  nmi: "NMI",
  pairwise_f1: "F1",
  precision_at_1: "R@1",
  r_precision: "R-prec.",
  map_at_r: "MAP@R",
};
const HINT =
  "Point at an image: the nearest R of it are ringed, R being how many others are of its class; a wrong one is crossed " +
  "out. Drag it, or use Shift and the arrow keys, and all scores follow.";

function MapAtRDemo({ spaces, host }: Hosted<MapAtRDemoProps>) {
  const [status, say] = useState(HINT);
  const colors = classColors(4, themeOf(host).dark).map((color) => css(color));
  return (
    <section class="map-at-r-demo" data-ready>
      <div class="row">
        {spaces.map((space) => (
          <Space {...{ given: space, colors, say }} />
        ))}
      </div>
      <p class="status" aria-live="polite">
        {status}
      </p>
    </section>
  );
}

export default panel(style, MapAtRDemo);

interface Drawn {
  given: SmallSpace;
  colors: string[];
  say(this: void, words: string): void;
}

function Space({ given: { title, classes, ...given }, colors, say }: Drawn) {
  const [{ points, scores, query }, set] = useParts<Look>({ ...given, query: null });
  const dragged = useRef<number | null>(null);
  const ask = useNewest<Pick<SmallSpace, "points" | "classes">, SpaceScores>(({ scores }) => set({ scores }), say);
  const look = (to: number | null, at = points) => {
    if (to === query && at === points) return;
    set({ query: to, points: at });
    say(to === null ? HINT : wordsOf(scoreQuery({ points: at, classes }, to)));
  };
  const move = (index: number, place: number[]) => {
    const to = place.map((value) => Math.max(-EXTENT, Math.min(EXTENT, value)));
    const moved = points.map((old, i) => (i === index ? to : old));
    look(index, moved);
    ask(`${ROUTES}/scores.json`, { points: moved, classes });
  };
  const placeOf = (event: MouseEvent): [number, number] => {
    const [x, y] = pointerPlace(event, event.currentTarget as Element);
    return [(2 * x - 1) * EXTENT, (1 - 2 * y) * EXTENT];
  };
  const pointAt = (event: MouseEvent): number | null => {
    const [x, y] = placeOf(event);
    const far = points.map(([px, py]) => Math.hypot(px - x, py - y));
    const least = minOf(far);
    return least < 0.12 ? far.indexOf(least) : null;
  };
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    if (!event.shiftKey || query === null) return look(((query ?? -1) + by + points.length) % points.length);
    const [x, y] = points[query];
    move(query, event.key === "ArrowLeft" || event.key === "ArrowRight" ? [x + by * STEP, y] : [x, y + by * STEP]);
  };
  const lift = () => (dragged.current = null);
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <svg
        {...{ viewBox: `${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`, tabindex: 0, role: "img" }}
        aria-label={`${title}: ${points.length} images of 4 classes; arrow keys go from image to image, with Shift they move it`}
        onPointerMove={(event) =>
          dragged.current === null ? look(pointAt(event)) : move(dragged.current, placeOf(event))
        }
        onPointerDown={(event) => {
          dragged.current = event.button === 0 ? pointAt(event) : null;
          if (dragged.current !== null) event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerLeave={() => dragged.current === null && look(null)}
        {...{ onPointerUp: lift, onPointerCancel: lift, onBlur: () => look(null), onKeyDown: onKey }}
      >
        {points.map(([x, y], i) => (
          <circle cx={x} cy={-y} r={RADIUS} fill={colors[classes[i]]} />
        ))}
        <g class="marks">{query !== null && marks(points, query, scoreQuery({ points, classes }, query))}</g>
      </svg>
      <dl aria-live="polite">
        {Object.entries(TITLES).map(([name, title]) => (
          <div class={name}>
            <dt>{title}</dt>
            <dd>{scores[name]?.toFixed(2) ?? "–"}</dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}

type Look = Pick<SpaceScores, "scores"> & { points: number[][]; query: number | null };
type Scored = ReturnType<typeof scoreQuery>;

function marks(points: number[][], query: number, { found, hits }: Scored) {
  const around = (i: number, kind: string) => (
    <circle class={kind} cx={points[i][0]} cy={-points[i][1]} r={RADIUS * 1.7} />
  );
  const cross = (i: number) => {
    const [[x, y], r] = [points[i], RADIUS * 1.3];
    return <path class="cross" d={`M${x - r} ${-y - r}L${x + r} ${-y + r}M${x - r} ${-y + r}L${x + r} ${-y - r}`} />;
  };
  return [around(query, "query"), found.map((i, rank) => [around(i, "found"), !hits[rank] && cross(i)])];
}

function wordsOf({ hits, relevant, first, precision, average }: Scored): string {
  return (
    `This image: its nearest is ${first ? "right" : "wrong"}, so R@1 counts ${first ? 1 : 0}. ` +
    `${hits.filter(Boolean).length} of its R = ${relevant} nearest are right: R-precision ${precision.toFixed(2)}. ` +
    `With the order they come in: ${average.toFixed(2)} towards MAP@R.`
  );
}
