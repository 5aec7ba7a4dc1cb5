// The architecture of a net: boxes for its layers, arrows between them, dashed lines where weights are shared.
import { useAnswer } from "../../lib/hooks.ts";
import { panel } from "../../lib/panel.tsx";
import { fetchJson } from "../../lib/server.ts";
import type { ArchitectureProps, Picture } from "../../protocol.ts";
import style from "./architecture.css";

const LINE = 15; // as dmlviz/nets/architecture.py has it
const PAD = 6;
const LETTERS = 11.5; // high, in the picture's measure, which grows with the browser's text
const SMALLEST = 0.8; // of the pictures' own size; a wider one is scrolled

/** A width that follows the browser's size of text. */
const sized = (width: number) => `calc(${width} * var(--px))`;

export function Architecture({ url }: ArchitectureProps) {
  const { last, found, trouble } = useAnswer(url, () => fetchJson<Picture>(url, "The picture of the net"));
  if (trouble) return <p role="alert">{trouble}</p>;
  if (!last) return <p class="waiting">Drawing the net …</p>;
  const { title, width, height, box: wide, boxes, arrows, ties, summary, text } = last;
  return (
    <figure class="architecture" data-ready={found ? true : undefined} data-boxes={boxes.length}>
      <div class="frame" tabIndex={0} role="group" aria-label={`${title}, drawn`}>
        <svg
          {...{ viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${summary}` }}
          font-size={LETTERS}
          style={{ width: sized(width), maxWidth: `max(100%, ${sized(SMALLEST * width)})` }}
        >
          {arrows.map((path) => (
            <path d={path} />
          ))}
          {ties.map(({ path, group }) => (
            <path d={path} class={`tie shared-${group % 3}`} />
          ))}
          {boxes.map(({ x, y, height, lines, group, kind }) => (
            <g class={group ? `${kind} shared shared-${group % 3}` : kind}>
              <rect {...{ x, y, width: wide, height, rx: 6 }} />
              {lines.map((words, i) => (
                <text x={x + wide / 2} y={y + PAD + LINE * (i + 0.75)}>
                  {words}
                </text>
              ))}
            </g>
          ))}
        </svg>
      </div>
      <figcaption>
        {summary}
        <details>
          <summary>In words</summary>
          <ol>
            {text.map((line) => (
              <li>{line.replace(/^\d+\. /, "")}</li>
            ))}
          </ol>
        </details>
      </figcaption>
    </figure>
  );
}

export default panel<ArchitectureProps>(style, Architecture);
