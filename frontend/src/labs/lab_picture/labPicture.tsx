// A picture of a lab: click a place, and see which places are alike: in the same picture, or in a second view of it.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { decodeBase64 } from "../../lib/base64.ts";
import { circle, loadImage } from "../../lib/canvas.ts";
import { context2d, pointerPlace } from "../../lib/dom.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { useAnswer, useParts } from "../../lib/hooks.ts";
import { panel, themeOf, type Hosted } from "../../lib/panel.tsx";
import { fetchJson } from "../../lib/server.ts";
import { Architecture } from "../../widgets/architecture/architecture.tsx";
import type { EmbeddedTiles, LabPicture, LabPictureProps, PlaceScores } from "../../protocol.ts";
import { highest, middleOf, move, placeAt, similarities, readPicture } from "./alike.ts";
import { MiniMap } from "./miniMap.tsx";
import style from "./labPicture.css";

const STRIP = 56; // pixels of a tile in the strip
const LINE = 1 / 180; // width of an outline, as a share of the picture
const HEAT = 0.55; // opacity of the best place

/** A picture with its views, and the address of the one that it is, or stands in for. */
interface Seen {
  picture: LabPicture;
  images: HTMLImageElement[];
  of: string;
}

interface State {
  own: Seen | null; // of the visitor
  preview: { image: HTMLImageElement; side: number; columns: number } | null; // the net has not looked at it yet
  words: string;
  method: number;
  at: { place: number; in: LabPicture } | null;
}

function LabPictureView({ host, ...props }: Hosted<LabPictureProps>) {
  const { url, version, ask } = props;
  const of = `${url}?${version}`;
  const loaded = useAnswer(of, async (): Promise<Seen> => {
    const picture = await fetchJson<LabPicture>(url, "The picture");
    const sources = picture.right ? [picture.left, picture.right] : [picture.left];
    return { picture, images: await Promise.all(sources.map(loadImage)), of };
  });
  const first: State = { own: null, preview: null, words: "", method: 0, at: null };
  const [{ own, preview, words, at, ...chosen }, set] = useParts(first);
  const [left, right] = [useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null)];
  const seen = own?.of === of ? own : loaded.last;
  const picture = seen?.picture;
  const method = Math.min(chosen.method, (picture?.methods.length ?? 1) - 1);
  const scores = picture?.methods[method];
  const middle = picture ? Math.floor(picture.columns / 2) * (picture.columns + 1) : 0;
  const place = at && at.in === picture ? at.place : middle;
  const rows = useMemo(() => scores && rowsOf(scores), [scores]);
  const values = useMemo(() => picture && scores && rows && valuesOf(scores, rows, picture, place), [rows, place]);
  const best = picture && values ? highest(values, picture.most, picture.right ? -1 : place) : [];
  const shown = !preview && picture && values ? picture : null;
  useLayoutEffect(() => {
    if (!left.current || !right.current) return;
    const context = context2d(left.current);
    if (preview) context.drawImage(preview.image, 0, 0);
    if (!shown || !seen || !values) return;
    context.drawImage(seen.images[0], 0, 0);
    if (shown.right) paintSecondView(right.current, seen.images[1], shown, values, best[0], place);
    else paintAlike(left.current, seen.images[0], shown, [place, ...best]);
    outline(left.current, shown, place, "#e4572e");
  }, [shown, preview, method, place]);
  const choose = (to: number | null) => picture && to !== null && set({ at: { place: to, in: picture }, words: "" });

  /** Show a picture of the visitor's own, whose tiles the server's net embeds. */
  const readOwn = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (!file || !ask) return;
    set({ words: "Looking at your picture…" });
    try {
      const { columns, side, pixels, url } = await readPicture(file, props);
      const image = await loadImage(url);
      const words = `The net looks at the ${grouped(columns ** 2)} tiles of your picture…`;
      set({ preview: { image, side, columns }, words });
      const tiles = await fetchJson<EmbeddedTiles>(ask, "Your picture", { columns, pixels });
      const methods = [{ title: "trained", scores: null, net: "", ...tiles }];
      const { cell } = props;
      const grid = { left: url, right: null, side, columns, first: cell / 2, step: cell, cell, most: 50 };
      const picture = { ...grid, methods, truth: null, kinds: null, names: [] };
      set({ own: { picture, images: [image], of }, preview: null, words: "" });
    } catch (error) {
      set({ preview: null, words: messageOf(error) }); // what was shown before
    }
    input.value = ""; // so that the same file can be chosen again
  };

  const away = shown?.truth && awayOf(shown, best[0], place);
  const same = shown?.kinds && best.filter((one) => shown.kinds?.[one] === shown.kinds?.[place]).length;
  const size = { width: preview?.side ?? picture?.side, height: preview?.side ?? picture?.side };
  return (
    <section
      class="lab-picture"
      data-ready={picture || preview ? shown !== null : undefined}
      {...(picture && { "data-place": place, "data-best": best[0], "data-method": scores?.title })}
      {...{
        "data-same": same,
        "data-away": away?.distance.toFixed(1),
        "data-own": own ? (seen === own ? picture?.columns : 0) : undefined,
      }}
    >
      <div class="head">
        <label>
          {"Compared by "}
          <select
            {...{ "aria-label": "Compared by", value: scores?.title }}
            onChange={(event) => set({ method: event.currentTarget.selectedIndex, words: "" })}
          >
            {picture?.methods.map(({ title }) => (
              <option>{title}</option>
            ))}
          </select>
        </label>
        <label class="own button" hidden={!picture || Boolean(picture.right) || !ask}>
          A picture of your own
          <input
            {...{ accept: "image/*", "aria-label": "A picture of your own" }}
            type="file"
            onChange={(event) => void readOwn(event.currentTarget)}
          />
        </label>
        <button class="own" hidden={seen !== own || !own} onClick={() => set({ own: null, words: "" })}>
          Back to the town
        </button>
        <p class="reading" aria-live="polite">
          {words || loaded.trouble || (shown ? (away ? away.words : alikeWords(shown, best, place, same)) : "Loading…")}
        </p>
      </div>
      <div class="pictures">
        <canvas
          {...{ role: "img", tabindex: 0, ref: left, ...size }}
          aria-label="The picture: click a place, or move with the arrow keys"
          onPointerDown={(event) => {
            const [x, y] = pointerPlace(event, event.currentTarget);
            if (picture) choose(placeAt(picture, x * picture.side, y * picture.side));
          }}
          onKeyDown={(event) => {
            const to = picture ? move(picture, place, event.key) : null;
            if (to !== null) event.preventDefault();
            choose(to);
          }}
        />
        <canvas {...{ role: "img", ref: right, ...size }} aria-label="The second view" hidden={!picture?.right} />
        <figure hidden={!picture || Boolean(picture.right)}>
          {rows && picture && scores && !picture.right && (
            <MiniMap
              {...{ rows, dimensions: scores.dimensions, kinds: picture.kinds, best, choose }}
              {...{ chosen: place, theme: themeOf(host) }}
            />
          )}
          <figcaption>
            Where they lie in the embedding, on its first two principal axes. A click chooses a tile.
          </figcaption>
        </figure>
      </div>
      <div class="strip">
        {seen && shown && !shown.right && [place, ...best].map((one, i) => tile(shown, seen.images[0], one, i === 0))}
      </div>
      <div class="towers" hidden={!scores?.net} data-net={scores?.net && scores.title}>
        {scores?.net && <Architecture url={scores.net} />}
      </div>
    </section>
  );
}

export default panel(style, LabPictureView);

const rowsOf = ({ embeddings, scores }: PlaceScores): Int8Array =>
  new Int8Array(decodeBase64(embeddings ?? scores ?? "").buffer);

/** Similarity of every place to the chosen one. */
function valuesOf(scores: PlaceScores, rows: Int8Array, { columns }: LabPicture, place: number): ArrayLike<number> {
  if (scores.embeddings !== null) return similarities(rows, scores.dimensions, place);
  return new Uint8Array(rows.buffer).subarray(place * columns ** 2, (place + 1) * columns ** 2);
}

function alikeWords(picture: LabPicture, best: number[], place: number, same: number | null | undefined): string {
  const kind = picture.kinds?.[place];
  return kind === undefined
    ? `The ${best.length} tiles that are most like this one, of ${grouped(picture.columns ** 2)}.`
    : `${picture.names[kind]}: ${same} of the ${best.length} most alike are of its kind.`;
}

/** How far the best match in the second view lies from the true place of the chosen one. */
function awayOf(picture: LabPicture, best: number, place: number): { distance: number; words: string } | null {
  const truth = picture.truth?.[place];
  if (!truth) return null;
  const [x, y] = truth;
  const [bx, by] = middleOf(picture, best);
  const distance = Math.hypot(bx - x, by - y);
  const inside = x > 0 && y > 0 && x < picture.side && y < picture.side;
  const words = inside
    ? `The best match (red square) lies ${distance.toFixed(0)} pixels from the true place (blue circle).`
    : "The true place lies outside the second view.";
  return { distance, words };
}

const corner = (picture: LabPicture, place: number): [number, number] => {
  const [x, y] = middleOf(picture, place);
  return [x - picture.cell / 2, y - picture.cell / 2];
};

function tile(picture: LabPicture, image: HTMLImageElement, place: number, first: boolean) {
  const [x, y] = corner(picture, place);
  const { cell } = picture;
  const paint = (view: HTMLCanvasElement) => context2d(view).drawImage(image, x, y, cell, cell, 0, 0, cell, cell);
  const size = { width: cell, height: cell, style: `width: ${STRIP}px` };
  return <canvas {...size} class={first ? "clicked" : ""} ref={(view) => void (view && paint(view))} />;
}

/** Light up the chosen tile and those that are most like it. */
function paintAlike(view: HTMLCanvasElement, image: HTMLImageElement, picture: LabPicture, places: number[]): void {
  const context = context2d(view);
  const { side, cell } = picture;
  context.fillStyle = "rgba(0, 0, 0, 0.55)";
  context.fillRect(0, 0, side, side);
  for (const place of places) {
    const [x, y] = corner(picture, place);
    context.drawImage(image, x, y, cell, cell, x, y, cell, cell);
  }
  for (const place of places.slice(1)) outline(view, picture, place, "#2f9ee4");
}

/** A heat map over the second view, with the best place and the true one. */
function paintSecondView(
  view: HTMLCanvasElement,
  image: HTMLImageElement,
  picture: LabPicture,
  values: ArrayLike<number>,
  best: number,
  chosen: number,
): void {
  const context = context2d(view);
  context.drawImage(image, 0, 0);
  const [high, low] = [maxOf(Array.from(values)), minOf(Array.from(values))];
  for (let place = 0; place < values.length; place++) {
    const share = (values[place] - low) / Math.max(1e-9, high - low);
    const [x, y] = middleOf(picture, place);
    context.fillStyle = `rgba(228, 87, 46, ${HEAT * share ** 3})`;
    context.fillRect(x - picture.step / 2, y - picture.step / 2, picture.step, picture.step);
  }
  outline(view, picture, best, "#e4572e");
  const truth = picture.truth?.[chosen];
  if (!truth) return;
  context.strokeStyle = "#2f9ee4";
  context.lineWidth = picture.side * LINE;
  circle(context, truth[0], truth[1], picture.cell / 3);
  context.stroke();
}

function outline(view: HTMLCanvasElement, picture: LabPicture, place: number, color: string): void {
  const context = context2d(view);
  context.strokeStyle = color;
  context.lineWidth = picture.side * LINE;
  context.strokeRect(...corner(picture, place), picture.cell, picture.cell);
}
