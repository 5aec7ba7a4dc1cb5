// A net that compares two patches as a drawing: what both towers share is one wide box, what each has alone are two.
import type { VNode } from "preact";
import { grouped } from "../../lib/format.ts";
import type { NetDrawing } from "../../protocol.ts";

const WIDTH = 440;
const BOX = 30;
const GAP = 14;
const BETWEEN = 12; // two towers

export function Net({ inputs, layers, shared, end, weights }: NetDrawing) {
  const towers = inputs.length;
  const width = (WIDTH - (towers - 1) * BETWEEN) / towers;
  const left = (tower: number) => tower * (width + BETWEEN);
  const parts: VNode[] = [];
  let y = 0;
  const box = (x: number, wide: number, words: string, kind: string) =>
    parts.push(
      <rect x={x + 1} y={y + 1} width={wide - 2} height={BOX - 2} rx={7} class={kind} />,
      <text x={x + wide / 2} y={y + BOX / 2} class={kind}>
        {words}
      </text>,
    );
  const arrows = () => {
    for (let tower = 0; tower < towers; tower++) {
      const x = left(tower) + width / 2;
      parts.push(<path d={`M${x} ${y}v${GAP - 3}m-4 -4l4 4l4 -4`} />);
    }
    y += GAP;
  };
  inputs.forEach((input, tower) => box(left(tower), width, input, "input"));
  y += BOX;
  for (const layer of layers) {
    arrows();
    if (shared) box(0, WIDTH, `${layer}, the same weights for both`, "shared");
    else for (let tower = 0; tower < towers; tower++) box(left(tower), width, layer, `own own-${tower}`);
    y += BOX;
  }
  arrows();
  box(0, WIDTH, end, "end");
  y += BOX;
  const label = `${inputs.join(" and ")}; ${layers.join("; ")}; ${shared ? "shared weights" : "own weights"}; ${end}`;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${y}`} role="img" aria-label={label} class="net">
      <title>{`${grouped(weights)} weights`}</title>
      {parts}
    </svg>
  );
}
