// The film-strip: for one image its nearest at every look, a column a step; a click goes to that step.
import type { Film } from "../../protocol.ts";
import { bus } from "../../lib/bus.ts";
import { h } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { tileStyle } from "../../lib/sprites.ts";
import type { DetailSource, DetailView } from "./detail.ts";

const SIDE_PX = 28; // about

/** The view of a picture's `film`, of the pinned image's where none is given. */
export async function neighborTimeline(source: DetailSource): Promise<DetailView> {
  const { run, events_url, item, metric = "euclidean", classes, sprites, begun } = source;
  if (!source.film && item === null) {
    return { node: h("p", "quiet", "Pin an image to see its neighbors over the training."), caption: "" };
  }
  const film =
    source.film ??
    (await fetchFilm((events_url ?? "").replace(/events.*$/, `film/${item}.json?metric=${metric}&v=${begun}`)));
  const columns = film.steps.map((step, i) => column(step, film.near[i]));
  const strip = h("ol", "strip", ...columns);
  const node = h("div", "film", strip);
  return { node, caption: captionOf(film, classes, metric), onStep };

  function onStep(step: number | undefined, first = false): void {
    const here = Math.max(
      0,
      film.steps.findLastIndex((known) => known <= (step ?? Infinity)),
    );
    columns.forEach((one, i) => one.toggleAttribute("data-here", i === here));
    const one = columns[here];
    if (!one) return;
    const [left, right] = [strip.scrollLeft, strip.scrollLeft + strip.clientWidth];
    if (first || one.offsetLeft < left || one.offsetLeft + one.offsetWidth > right) {
      strip.scrollLeft = one.offsetLeft - strip.clientWidth / 2;
    }
  }

  function column(step: number, near: [number, number][]): HTMLElement {
    const right = near.filter(([other]) => film.labels[other] === film.label).length;
    const said = film.item === null ? `say ${classes[film.label]}` : "right";
    const title = `Step ${grouped(step)}: ${right} of ${near.length} ${said}. Click to go there.`;
    const share = h("span", "share");
    share.style.setProperty("--share", String(right / Math.max(1, near.length)));
    return h(
      "li",
      null,
      h(
        "button",
        { type: "button", title, "aria-label": title, "data-step": step, click: () => bus.emit("seek", { run, step }) },
        h("span", "step", grouped(step)),
        share,
        ...near.map(([other, far]) => frame(other, far)),
      ),
    );
  }

  function frame(other: number, far: number): HTMLElement {
    const tile = h("span", "tile");
    if (sprites.urls.length) {
      Object.assign(
        tile.style,
        tileStyle(sprites, other, Math.max(1, Math.round(SIDE_PX / sprites.tile)) * sprites.tile),
      );
    }
    const hover = (hovered: number | null) => () => bus.emit("hover", { run, item: hovered, source: node });
    return h(
      "span",
      {
        class: film.labels[other] === film.label ? "frame right" : "frame wrong",
        "data-item": other,
        title: `Test image ${grouped(other)}, ${classes[film.labels[other]]}, ${far} away`,
        pointerenter: hover(other),
        pointerleave: hover(null),
      },
      tile,
      h("span", "far", Number(far).toPrecision(2)),
    );
  }
}

async function fetchFilm(url: string): Promise<Film> {
  const response = await fetch(url);
  const film = (await response.json()) as Film & { error?: string };
  if (!response.ok) throw new Error(film.error);
  return film;
}

/** Whose neighbors, among which, by which distance. */
export function captionOf({ item, label, among, nets }: Film, classes: string[], metric: string): string {
  if (item === null) {
    return `Your picture, which looks like ${classes[label]} to the last net, as the nets kept on the way saw it: nearest first, among the ${grouped(among)} tracked test images, by Euclidean distance.`;
  }
  const how = nets ? " It is not tracked itself: the nets kept on the way embedded it." : "";
  const by = metric === "cosine" ? "cosine" : "Euclidean";
  return `Test image ${grouped(item)}, class ${classes[label]}: nearest first, among the ${grouped(among)} tracked test images, by ${by} distance.${how}`;
}
