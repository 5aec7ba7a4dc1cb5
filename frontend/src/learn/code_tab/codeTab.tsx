// Code of an entry to read, copy, and step through: what each line makes of eight images.
import { useEffect, useRef, useState } from "preact/hooks";
import { copied } from "../../lib/dom.ts";
import { maxOf } from "../../lib/extent.ts";
import { messageOf } from "../../lib/format.ts";
import { panel } from "../../lib/panel.tsx";
import { fetchJson } from "../../lib/server.ts";
import type { CodeSteps, CodeTabProps, CodeValue } from "../../protocol.ts";
import style from "./codeTab.css";

const NUMBERS_UP_TO = 10; // columns; wider matrices are colors alone

function CodeTab({ code, start, about, use, loop, source, source_url, steps_url, run }: CodeTabProps) {
  const [made, setMade] = useState<CodeSteps | null>(null);
  const [at, go] = useState(0);
  const [trouble, setTrouble] = useState("");
  const [isAsked, ask] = useState(false);
  const lines = code.trimEnd().split("\n");
  const step = made?.steps[at];

  useEffect(() => {
    setMade(null);
    setTrouble("");
    ask(false);
    go(0);
  }, [code, steps_url]);

  async function begin() {
    ask(true);
    setTrouble("");
    try {
      setMade(await fetchJson<CodeSteps>(steps_url, "Step through it"));
      go(0);
    } catch (error) {
      setTrouble(messageOf(error));
      ask(false);
    }
  }

  function onKey(event: KeyboardEvent) {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!made || !by) return;
    event.preventDefault();
    event.stopPropagation();
    go(Math.min(Math.max(at + by, 0), made.steps.length - 1));
  }

  return (
    <section class={made ? "code-tab stepping" : "code-tab"} data-ready data-steps={made?.steps.length}>
      <div class="side">
        <div class="bar">
          {about && <span class="about">{about}</span>}
          <Copy text={code} />
        </div>
        <ol class="code" tabIndex={0} aria-label="Code" onKeyDown={onKey}>
          {lines.map((line, i) => {
            const place = made?.steps.findIndex((each) => each.line === i + 1) ?? -1;
            const kind = [i + 1 < start && "before", place >= 0 && "made", step?.line === i + 1 && "now"];
            return (
              <li
                class={kind.filter(Boolean).join(" ") || undefined}
                aria-current={step?.line === i + 1 ? "step" : undefined}
                onClick={() => place >= 0 && go(place)}
              >
                {wordsOf(line)}
              </li>
            );
          })}
        </ol>
      </div>
      {steps_url && !made && (
        <p class="begin">
          <button class="first" disabled={isAsked} onClick={() => void begin()}>
            {isAsked ? "Running it …" : "Step through it"}
          </button>
          <span>{`The result of each line for eight images of ${run || "the digits"}.`}</span>
        </p>
      )}
      {trouble && <p role="alert">{trouble}</p>}
      {made && step && (
        <div class="side made" onKeyDown={onKey}>
          <p class="title">{made.title}</p>
          <div class="images">
            {made.labels.map((label, i) => (
              <figure>
                {made.images[i] && <img src={made.images[i]} alt="" />}
                <figcaption>{label}</figcaption>
              </figure>
            ))}
          </div>
          <div class="walk">
            <button aria-label="The line before" disabled={!at} onClick={() => go(at - 1)}>
              ‹
            </button>
            <button
              class="first"
              aria-label="The next line"
              disabled={at === made.steps.length - 1}
              onClick={() => go(at + 1)}
            >
              ›
            </button>
            <span aria-live="polite">
              {`Line ${step.line}`}
              {step.times > 1 && `, run ${step.times.toLocaleString("en")} times; here is the first`}
            </span>
          </div>
          <code class="line">{lines[step.line - 1]?.trim()}</code>
          {step.values.length ? (
            step.values.map((value) => <Value {...{ value, made }} key={value.name} />)
          ) : (
            <p>No variable changes here.</p>
          )}
        </div>
      )}
      {use && (
        <div class="side">
          <div class="bar">
            <span class="about">
              {"The same with dmlviz, fast and for every case: "}
              <a href={source_url} target="_blank" rel="noopener">
                {source}
              </a>
            </span>
            <Copy text={use} />
          </div>
          <Lines of={use} />
        </div>
      )}
      {loop && (
        <div class="side">
          <div class="bar">
            <span class="about">A whole training on digits, in less than a minute:</span>
            <Copy text={loop} />
          </div>
          <Lines of={loop.trimEnd()} />
        </div>
      )}
    </section>
  );
}

export default panel(style, CodeTab);

const Lines = ({ of: code }: { of: string }) => (
  <ol class="code">
    {code.split("\n").map((line) => (
      <li>{wordsOf(line)}</li>
    ))}
  </ol>
);

const wordsOf = (line: string) => [
  ...colored(line).map(([text, color]) => (color ? <span class={color}>{text}</span> : text)),
  "\n", // for who copies a selection, and for an empty line
];

function Copy({ text }: { text: string }) {
  const [said, say] = useState("Copy");
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <button
      class="copy"
      onClick={async () => {
        say((await copied(text)) ? "Copied" : "Select it and press Ctrl+C");
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => say("Copy"), 2000);
      }}
    >
      {said}
    </button>
  );
}

/** A number, or a matrix as colors, with its numbers where there is room; sides as long as the batch show its images. */
function Value({ value: { name, shape, kind, rows }, made }: { value: CodeValue; made: CodeSteps }) {
  const columns = rows[0]?.length ?? 0;
  const most = maxOf([1e-12, ...rows.flat().map((cell) => (typeof cell === "number" ? Math.abs(cell) : 0))]);
  const [high, wide] = shape.length > 1 ? shape.slice(-2) : [0, shape[0] ?? 0];
  const images = made.images.length === made.labels.length ? made.images : [];
  const isBatch = (length: number) => images.length > 0 && length === images.length;
  const isCut = rows.length < high || columns < wide;
  const size = shape.length ? shape.join(" × ") : "a number";
  return (
    <div class="value" data-name={name}>
      <p>
        <b>{name}</b>
        {`: ${size}${kind === "mask" && shape.length ? ", true or false" : ""}${isCut ? "; its first part" : ""}`}
      </p>
      {shape.length === 0 ? (
        <output>{kind === "mask" ? (rows[0][0] ? "true" : "false") : rows[0][0]}</output>
      ) : (
        <div class="scroll">
          <table class={columns > NUMBERS_UP_TO || kind === "mask" ? "tight" : undefined}>
            {columns > 0 && isBatch(wide) && (
              <tr>
                {isBatch(high) && <th />}
                {images.map((image) => (
                  <th>
                    <img src={image} alt="" />
                  </th>
                ))}
              </tr>
            )}
            {rows.map((row, i) => (
              <tr>
                {isBatch(high) && (
                  <th>
                    <img src={images[i]} alt="" />
                  </th>
                )}
                {row.map((cell) => (
                  <td
                    title={String(cell)}
                    class={typeof cell === "number" && cell < 0 ? "negative" : undefined}
                    style={{ "--strength": typeof cell === "number" ? Math.abs(cell) / most : 0 }}
                  >
                    {columns <= NUMBERS_UP_TO && kind !== "mask" ? shortened(cell, kind) : ""}
                  </td>
                ))}
              </tr>
            ))}
          </table>
        </div>
      )}
    </div>
  );
}

function shortened(cell: number | string, kind: string): string {
  if (typeof cell === "string" || kind === "whole") return String(cell);
  const size = Math.abs(cell);
  if (size && (size < 0.005 || size >= 1e4)) return cell.toExponential(0).replace("e+", "e").replace("-", "−");
  return cell.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0).replace("-", "−");
}

const TOKEN =
  /(#.*$)|("[^"]*"|'[^']*')|\b(and|as|class|def|else|False|for|from|if|import|in|is|lambda|None|not|or|return|True|while|yield)\b|\b(\d[\d_.]*(?:e-?\d+)?)\b/g;
const COLORS = ["comment", "text", "word", "number"];

/** Parts of a line, each with the class of its color or "". */
export function colored(line: string): [string, string][] {
  const parts: [string, string][] = [];
  let end = 0;
  for (const found of line.matchAll(TOKEN)) {
    if (found.index > end) parts.push([line.slice(end, found.index), ""]);
    parts.push([found[0], COLORS[found.slice(1).findIndex((group) => group !== undefined)]]);
    end = found.index + found[0].length;
  }
  return end < line.length ? [...parts, [line.slice(end), ""]] : parts;
}
