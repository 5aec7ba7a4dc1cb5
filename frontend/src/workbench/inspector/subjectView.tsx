// The image in question: what it is, how it was prepared, and how its neighbors agree.
import { useLayoutEffect, useRef } from "preact/hooks";
import { bus } from "../../lib/bus.ts";
import { grouped, ITEM } from "../../lib/format.ts";
import { TextButton } from "../../lib/panel.tsx";
import { paintBytes, tileStyle } from "../../lib/sprites.ts";
import type { Ink, NeighborHistory } from "../../protocol.ts";
import { captionOf, classOf, summaryOf, trajectoryCaption, type Inspected, type WithSubject } from "./captions.ts";

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

function Picture(picture: Ink) {
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
