// The results of one query as tiles: a click turns one over, dragging (or Shift and an arrow key) moves it.
import { useRef, useState } from "preact/hooks";
import { minOf } from "../../lib/extent.ts";
import { limit, MOST_RELEVANT, reorder, TILES, toggle } from "./presets.ts";
import { countRight, type Ranking } from "./scores.ts";

const DRAG_START = 6; // pixels

interface Changed {
  ranking: Ranking;
  title: string;
  change(this: void, ranking: Ranking): void;
}

export function RankingRow({ ranking, title, change }: Changed) {
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
