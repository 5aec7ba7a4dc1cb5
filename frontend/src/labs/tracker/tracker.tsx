// A video that is followed: the true box and those that are found, the score map beside it, and what one may change.
import { useLayoutEffect } from "preact/hooks";
import { pointerPlace } from "../../lib/dom.ts";
import { useAnswer, useParts } from "../../lib/hooks.ts";
import { Icon, panel } from "../../lib/panel.tsx";
import { fetchJson } from "../../lib/server.ts";
import type { FollowedVideo, TrackerProps } from "../../protocol.ts";
import { COLORS, paintFrame, paintMap } from "./paint.ts";
import { decodeVideo, keyedBox, squareOf, summary, type Box, type Video } from "./videoState.ts";
import style from "./tracker.css";

const PLAY = "M4.5 2.6v10.8L13.2 8Z";
const PAUSE = "M4 2.8h2.8v10.4H4ZM9.2 2.8H12v10.4H9.2Z";
const BACK = "M11.5 3 5.5 8l6 5ZM4 3v10";
const FORWARD = "M4.5 3l6 5-6 5ZM12 3v10";
const FRAME_MS = 90;
const WAIT_MS = 120; // after the last move of a slider
const PIXELS = 448; // a side of a canvas
const USUAL_SIDE = 20; // pixels of the box around a mere click
const [WIDTH, HEIGHT] = [400, 64]; // of the chart
const PICTURE =
  "The video: draw a box in its first frame. Arrow keys go from frame to frame; Shift with arrows moves a box, plus " +
  "and minus resize it, Enter follows it, Escape drops it";
const CANVAS = { role: "img", width: PIXELS, height: PIXELS } as const;

type Place = [number, number];

interface Look {
  frame: number;
  method: number;
  playing: boolean;
  drag: { from: Place; to: Place } | null;
  keyBox: Box | null; // set by keys, not yet followed
}

function Tracker(props: TrackerProps) {
  const { url, version, videos } = props;
  const { video: number, distractors, noise } = props;
  const [asked, ask] = useParts({ video: number, distractors, noise, box: null as Box | null, play: true, wait: 0 });
  const first: Look = { frame: 0, method: 0, playing: false, drag: null, keyBox: null };
  const [{ method, playing, drag, keyBox, ...look }, set] = useParts(first);
  const load = async () => {
    const { play: _play, wait: _wait, ...question } = asked;
    return { ...decodeVideo(await fetchJson<FollowedVideo>(url, "The video", question)), asked };
  };
  const key = JSON.stringify([url, version, asked]);
  const { last: video, found, trouble } = useAnswer(key, load, asked.wait);
  const last = (video?.count ?? 40) - 1;
  const frame = Math.min(look.frame, last);

  useLayoutEffect(() => {
    if (video?.asked.play && !matchMedia("(prefers-reduced-motion: reduce)").matches)
      set({ playing: true, ...(frame === last && { frame: 0 }) });
  }, [video]);
  useLayoutEffect(() => {
    if (!playing) return;
    if (frame >= last) return set({ playing: false });
    const timer = setTimeout(() => set({ frame: frame + 1 }), FRAME_MS);
    return () => clearTimeout(timer);
  }, [playing, frame]);

  /** Start from another first box; null for the true one. */
  const follow = (box: Box | null, video = asked.video) => {
    set({ frame: 0, drag: null, keyBox: null });
    ask({ box: box && (box.map((value) => Math.round(10 * value) / 10) as Box), video, play: box !== null, wait: 0 });
  };
  const toggle = () => video && set({ playing: !playing, ...(!playing && frame >= last && { frame: 0 }) });
  // A box begins in the first frame.
  const seek = (to: number, box = to === 0 ? keyBox : null) =>
    video && set({ playing: false, keyBox: box, frame: Math.max(0, Math.min(last, to)) });

  const placeOf = (event: PointerEvent): Place => {
    const [x, y] = pointerPlace(event, event.currentTarget as Element);
    return [x * (video?.side ?? 1), y * (video?.side ?? 1)];
  };
  const press = (event: PointerEvent) => {
    if (event.button !== 0 || !video) return;
    event.preventDefault();
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    seek(0);
    set({ drag: { from: placeOf(event), to: placeOf(event) } });
  };
  const onKey = (event: KeyboardEvent) => {
    const start = keyBox ?? asked.box ?? video?.first;
    const next = video && start && keyedBox(start, event.key, event.shiftKey, video.side);
    if (next) seek(0, next);
    else if (keyBox && event.key === "Enter") follow(keyBox);
    else if (keyBox && event.key === "Escape") seek(0, null);
    else if (event.key === "ArrowRight") seek(frame + 1);
    else if (event.key === "ArrowLeft") seek(frame - 1);
    else if (event.key === " ") toggle();
    else return;
    event.preventDefault();
  };

  const button = (title: string, d: string, click: () => void, name = title) => (
    <button title={title} aria-label={name} onClick={click}>
      <Icon path={d} filled={title === "Play"} />
    </button>
  );
  const slider = (label: string, name: "distractors" | "noise", max: number, step: number) => {
    const change = (value: string) => ask({ [name]: Number(value), play: false, wait: WAIT_MS });
    const range = { min: 0, max, step, value: asked[name], "aria-label": label };
    return (
      <label>
        {`${label} `}
        <output>{asked[name]}</output>
        <input type="range" {...range} onInput={(event) => change(event.currentTarget.value)} />
      </label>
    );
  };
  const follower = video?.followers[method];
  const drawn = video && drag ? squareOf(drag.from, drag.to, video.side, USUAL_SIDE) : keyBox;
  const data = video && {
    "data-video": video.asked.video,
    "data-own": video.asked.box !== null,
    "data-frame": frame,
    "data-method": follower?.title,
    "data-means": video.followers.map(({ mean }) => mean.toFixed(3)).join(" "),
  };
  return (
    <section class="tracker" data-ready={found !== undefined} {...data}>
      <div class="stage">
        <figure>
          <canvas
            {...CANVAS}
            aria-label={PICTURE}
            tabindex={0}
            ref={(view) => void (view && video && paintFrame(view, video, frame, method, drawn))}
            onPointerDown={press}
            onPointerMove={(event) => drag && set({ drag: { ...drag, to: placeOf(event) } })}
            onPointerUp={() => drag && video && follow(squareOf(drag.from, drag.to, video.side, USUAL_SIDE))}
            onPointerCancel={() => set({ drag: null })}
            onKeyDown={onKey}
          />
          <figcaption>White: the true box. Draw one of your own, or Shift + arrows, + and −, Enter.</figcaption>
        </figure>
        <figure>
          <canvas
            {...CANVAS}
            aria-label="The score map of this frame"
            ref={(view) => void (view && video && paintMap(view, video, frame, method))}
          />
          <figcaption>
            {follower &&
              `Score map, ${follower.title}: where it sees the target. IoU here ${follower.overlaps[frame].toFixed(2)}.`}
          </figcaption>
        </figure>
      </div>
      <div class="bar">
        {button("Play", playing ? PAUSE : PLAY, toggle, playing ? "Pause" : "Play")}
        {button("Previous frame", BACK, () => seek(frame - 1))}
        {button("Next frame", FORWARD, () => seek(frame + 1))}
        <input
          {...{ type: "range", min: 0, max: last, step: 1, value: frame, "aria-label": "Frame" }}
          onInput={(event) => seek(Number(event.currentTarget.value))}
        />
        <span class="count">{video && `${frame} / ${last}`}</span>
      </div>
      <div class="overlaps">
        <span>IoU</span>
        {overlaps(video, frame, method, seek)}
      </div>
      <div class="methods" role="radiogroup" aria-label="Whose box and score map">
        {video?.followers.map((one, i) => (
          <button
            {...{ role: "radio", "aria-checked": i === method, style: `--color: ${COLORS[i]}` }}
            onClick={() => set({ method: i })}
          >
            <b>{one.title}</b>
            <span>{summary(one, video.count)}</span>
          </button>
        ))}
      </div>
      <div class="controls">
        {slider("Distractors", "distractors", props.most_distractors, 1)}
        {slider("Noise, gray levels", "noise", props.most_noise, 2)}
        <button onClick={() => follow(null, (asked.video + 1) % videos)}>Another video</button>
        <button hidden={asked.box === null} onClick={() => follow(null)}>
          Back to the true first box
        </button>
      </div>
      <p class="reading" aria-live="polite">
        {(keyBox && boxWords(keyBox)) || trouble || (video ? videoWords(video, video.asked, props) : "Loading…")}
      </p>
    </section>
  );
}

function boxWords(box: Box): string {
  const [row, column, side] = box.map((value) => value.toFixed(0));
  return `Box at row ${row}, column ${column}, side ${side}: Enter follows it.`;
}

const videoWords = (
  { followers }: Video,
  asked: { video: number; box: Box | null },
  { videos, things }: TrackerProps,
) =>
  `Video ${asked.video + 1} of ${videos}, made of ${things}: things of classes that the net has never seen. ` +
  `One frame takes the worker ${followers[0].milliseconds.toFixed(1)} ms. ` +
  (asked.box
    ? "The white box is the thing that your box holds best."
    : "A tracker may also start from your box: drag on the video.");

/** The overlap of each method's box with the true one, over the frames. */
function overlaps(video: Video | null, frame: number, method: number, seek: (frame: number) => void) {
  const last = (video?.count ?? 2) - 1;
  const x = (i: number) => (i / last) * WIDTH;
  const y = (value: number) => (1 - value) * (HEIGHT - 4) + 2;
  const pointsOf = (values: number[]) =>
    values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return (
    <svg
      {...{ viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }}
      onPointerDown={(event) => seek(Math.round(pointerPlace(event, event.currentTarget)[0] * last))}
    >
      {video && <line x1={0} x2={WIDTH} y1={y(0)} y2={y(0)} class="ground" />}
      {video?.followers.map((one, i) => (
        <polyline points={pointsOf(one.overlaps)} stroke={COLORS[i]} class={i === method ? "chosen" : ""} />
      ))}
      {video && <line x1={x(frame)} x2={x(frame)} y1={0} y2={HEIGHT} class="cursor" />}
    </svg>
  );
}

export default panel(style, Tracker);
