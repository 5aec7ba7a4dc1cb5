// The image in question: what it is, how it was prepared, and how its neighbors agree.
import { bus, type MapRanks } from "../../lib/bus.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { grouped, ITEM } from "../../lib/format.ts";
import { TextButton } from "../../lib/panel.tsx";
import { paintBytes, tileStyle } from "../../lib/sprites.ts";
import type { Ink, NeighborHistory } from "../../protocol.ts";
import { pictureUrl } from "../query/gallery.tsx";
import {
  captionOf,
  classOf,
  differs,
  type Inspected,
  mapRankCaption,
  summaryOf,
  trajectoryCaption,
  type WithSubject,
} from "./captions.ts";
import { useLayoutEffect, useRef } from "preact/hooks";

const TILE_PX = 32;
const BEFORE = 0.2; // of the range of the distances: the bar of the nearest

interface Props {
  data: WithSubject;
  /** Those of its neighbors on the map. */
  ranks?: MapRanks["of"];
  pin(this: void, item: number): void;
  /** Sends the hovered one to the map. */
  source: object;
}

export function NeighborList({ data, ranks, pin, source }: Props) {
  const { subject, neighbors, kept = [], vote, run = "", sprites, classes, noun = ITEM, values } = data;
  const own = subject.label ?? vote?.label;
  const distances = neighbors.map((neighbor) => neighbor.distance);
  const [nearest, farthest] = [minOf(distances), maxOf(distances)];
  const begin = Math.max(0, nearest - BEFORE * (farthest - nearest)); // bars begin where the distances differ
  const wrong = subject.label === undefined ? " other" : " wrong";
  const hover = (target: number | null) => () => bus.emit("hover", { run, item: target, source });
  const keptRow = ([id, name, distance]: (typeof kept)[number]) => (
    <li key={id}>
      <span class="row kept" title={`You kept this as ${name}; ${distance.toFixed(3)} away`}>
        <img src={pictureUrl(run, id)} alt="" />
        <span class="name">
          <span class="yours" role="img" aria-label="yours:">
            ◇
          </span>{" "}
          {name}
        </span>
      </span>
    </li>
  );
  const neighborRow = ({ item, label, distance }: (typeof neighbors)[number]) => {
    const mark = differs(data, label, own) ? wrong : "";
    const text = values?.[String(item)];
    const place = mapRankCaption(ranks?.get(item), neighbors.length);
    const tile = sprites?.urls.length ? tileStyle(sprites, item, TILE_PX) : null;
    return (
      <li key={item}>
        <button
          class={`row ${mark ? "wrong" : "right"}${tile ? "" : " plain"}`}
          data-item={item}
          title={`Pin ${noun} ${grouped(item)}`}
          onClick={() => pin(item)}
          onPointerEnter={hover(item)}
          onFocus={hover(item)}
          onPointerLeave={hover(null)}
          onBlur={hover(null)}
        >
          {tile && <span class="tile" style={tile} />}
          <span class="name" title={text ?? ""}>
            {classOf({ classes }, label)}
            {mark && <span class="mark">{mark}</span>}
            {text && <span class="values">{text}</span>}
          </span>
          <span
            class="bar"
            title={`The bars begin at ${begin.toFixed(3)}`}
            style={{ "--share": String(farthest > begin ? (distance - begin) / (farthest - begin) : 1) }}
          />
          <span
            class={place ? `where ${place.near ? "near" : "off"}` : "where"}
            title={ranks && (place?.words ?? "Not in this frame")}
          />
          <span class="distance">{distance.toFixed(3)}</span>
        </button>
      </li>
    );
  };
  const rows = [
    ...kept.map((one) => ({ distance: one[2], row: keptRow(one) })),
    ...neighbors
      .slice(0, neighbors.length - kept.length)
      .map((one) => ({ distance: one.distance, row: neighborRow(one) })),
  ];
  return <ol class="list">{rows.sort((a, b) => a.distance - b.distance).map(({ row }) => row)}</ol>;
}

const PICTURE_PX = 64;

/** Picture, title, and two sentences. A query has no picture of its own here: the last of `Steps` is it. */
export function SubjectHead(data: WithSubject) {
  const { subject, sprites, history, run } = data;
  const { item } = subject;
  return (
    <div class="head">
      {item !== undefined && sprites && sprites.urls.length > 0 && (
        <div class="picture" style={tileStyle(sprites, item, PICTURE_PX)} />
      )}
      <div class="words">
        <span class="title">
          {/* on which images that is calibrated */}
          <strong title={data.basis ?? ""}>{data.title ?? classOf(data, subject.label)}</strong>
          {item !== undefined && <span class="quiet">{`${data.noun ?? ITEM} ${grouped(item)}`}</span>}
          {typeof history === "object" && history?.steps && <HistoryButton run={run} history={history} />}
        </span>
        <span>{summaryOf(data)}</span>
        <span class="quiet">{captionOf(data)}</span>
      </div>
    </div>
  );
}

/** What is known of the image. */
export const KnownValues = ({ known }: { known: NonNullable<Inspected["known"]> }) => (
  <p class="quiet known">{known.map(([name, word], i) => [`${i ? " · " : ""}${name} `, <strong>{word}</strong>])}</p>
);

/** Opens the neighbors of the image at every snapshot. */
export const HistoryButton = ({ run = "", history = null }: { run?: string; history?: NeighborHistory | null }) => (
  <TextButton
    title="Its nearest neighbors at every snapshot"
    onClick={() => bus.emit("open-detail", { run, what: "history", history })}
    children="Neighbors over time"
  />
);

/** The steps from the picture to the input of the net. */
export const Steps = ({ steps }: { steps: NonNullable<Inspected["steps"]> }) => (
  <ol class="strip">
    {steps.map((step) => (
      <li>
        <Picture {...step} />
        <span class="quiet">{step.caption.replaceAll(" × ", "\u00a0×\u00a0")}</span>
      </li>
    ))}
  </ol>
);

/** A small picture in pixels of its own. */
export function Picture(picture: Ink) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => paintBytes(canvas.current!, picture), [picture.ink]);
  return <canvas ref={canvas} />;
}

/** Key to the marks of the neighbors, which are `ranked`, and the path on the map. */
export const Key = ({ data, ranked }: { data: WithSubject; ranked: boolean }) => (
  <div>
    <p class="quiet key places" hidden={!ranked}>
      <span class="where near" /> also near on the map <span class="where off" /> far on the map
    </p>
    <p class="quiet key">{trajectoryCaption(data)}</p>
  </div>
);
