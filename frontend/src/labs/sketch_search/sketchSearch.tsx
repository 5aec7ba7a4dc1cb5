// Photographs that a drawing finds, and one map of both domains: circles are photographs, crosses are sketches.
import { useState } from "preact/hooks";
import { loadImage } from "../../lib/canvas.ts";
import { context2d } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { useAnswer } from "../../lib/hooks.ts";
import { panel, themeOf, type Hosted } from "../../lib/panel.tsx";
import { fetchJson } from "../../lib/server.ts";
import type { SketchSearchProps, TwoDomains } from "../../protocol.ts";
import { DomainMap } from "./domainMap.tsx";
import style from "./sketchSearch.css";

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
