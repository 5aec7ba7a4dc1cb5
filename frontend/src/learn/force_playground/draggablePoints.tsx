// The points of an arrangement as a drawing: each can be dragged or moved with the arrow keys, and has an arrow.
import { useRef } from "preact/hooks";
import { pointerPlace } from "../../lib/dom.ts";
import { classColors } from "../../lib/palette.ts";
import { css } from "../../lib/theme.ts";
import { formatNumber } from "../../widgets/paramControls.tsx";
import { arrowTips, EXTENT, move, nameOf, places, type Arrangement, type Place, type Pulls } from "./arrangement.ts";

const DIRECTIONS: Partial<Record<string, Place>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};
const CLASSES = 3;

interface Props {
  now: Arrangement;
  /** The forces, where they are known. */
  pulls: Pulls | null;
  chosen: number;
  isDark: boolean;
  change(this: void, arrangement: Arrangement): void;
  choose(this: void, index: number): void;
}

export function DraggablePoints({ now, pulls, chosen, isDark, change, choose }: Props) {
  const dragged = useRef<number | null>(null);
  const colors = classColors(CLASSES, isDark).map((color) => css(color));
  const tips = pulls && arrowTips(now, pulls);
  const drop = () => {
    dragged.current = null;
  };
  const onKey = (event: KeyboardEvent, index: number) => {
    const along = DIRECTIONS[event.key];
    if (!along) return;
    event.preventDefault();
    const by = event.shiftKey ? 0.1 : 0.02;
    const [x, y] = places(now)[index];
    const turn = (along[0] + along[1]) * by;
    const to: Place = now.circle
      ? [x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)]
      : [x + along[0] * by, y + along[1] * by];
    change(move(now, index, to));
  };
  const dot = ([x, y]: Place, index: number) => {
    const isWeight = index >= now.points.length;
    const label = isWeight ? index - now.points.length : now.labels[index];
    const force = pulls ? Math.hypot(pulls.forces[index][0], pulls.forces[index][1]) : 0;
    return (
      <g
        class="dot"
        tabindex={0}
        role="button"
        transform={`translate(${x} ${-y})`}
        style={{ color: colors[label] }}
        data-chosen={index === chosen ? "true" : null}
        aria-label={`${nameOf(now, index)} at ${formatNumber(x)}, ${formatNumber(y)}, force ${formatNumber(force)}; arrow keys move it`}
        onFocus={() => choose(index)}
        onKeyDown={(event) => onKey(event, index)}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.preventDefault();
          dragged.current = index;
          event.currentTarget.focus();
          event.currentTarget.ownerSVGElement?.setPointerCapture(event.pointerId);
        }}
      >
        <circle class="reach" r={0.13} />
        {isWeight ? (
          <rect x={-0.045} y={-0.045} width={0.09} height={0.09} transform="rotate(45)" />
        ) : (
          <circle r={0.05} />
        )}
        <text x={0.075} y={-0.055} children={nameOf(now, index)} />
      </g>
    );
  };
  return (
    <svg
      viewBox={`${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`}
      role="group"
      aria-label="Points to drag"
      onPointerMove={(event) => {
        if (dragged.current === null) return;
        const [x, y] = pointerPlace(event, event.currentTarget);
        change(move(now, dragged.current, [(2 * x - 1) * EXTENT, (1 - 2 * y) * EXTENT]));
      }}
      onPointerUp={drop}
      onPointerCancel={drop}
    >
      <circle class={now.circle ? "unit held" : "unit"} r={1} />
      <g class="lines">{partnerLines(now, chosen)}</g>
      {places(now).map(([x, y], i) => (
        <path class="arrow" d={tips ? arrow([x, -y], [tips[i][0], -tips[i][1]]) : ""} />
      ))}
      {places(now).map(dot)}
    </svg>
  );
}

/** Lines to what the chosen point is compared with: its own class drawn through, others broken. */
function partnerLines({ preset, points, labels }: Arrangement, index: number) {
  const a = preset === "triplet" ? 0 : index;
  if (a >= points.length) return [];
  const [ax, ay] = points[a];
  return points.map(([x, y], i) => {
    if (i === a) return null;
    const [at, above] = [ax + 0.3 * (x - ax) + 0.03, -(ay + 0.3 * (y - ay))];
    return [
      <line x1={ax} y1={-ay} x2={x} y2={-y} class={labels[i] === labels[a] ? "near" : "far"} />,
      preset === "triplet" && <text x={at} y={above} children={formatNumber(Math.hypot(ax - x, ay - y))} />,
    ];
  });
}

/** The path of an arrow; none where there is next to no force. */
function arrow([x1, y1]: Place, [x2, y2]: Place): string {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 0.012) return "";
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const head = Math.min(0.06, length * 0.5);
  const [bx, by] = [x2 - dx * head, y2 - dy * head];
  const side = head * 0.55;
  return `M${x1} ${y1}L${bx} ${by}M${x2} ${y2}L${bx - dy * side} ${by + dx * side}L${bx + dy * side} ${by - dx * side}Z`;
}
