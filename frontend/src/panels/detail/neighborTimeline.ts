// @ts-nocheck
// The film-strip: for one image its nearest at every look, a column a step; a click goes to that step.
import { bus } from "../../lib/bus.ts";
import { tileStyle } from "../../lib/sprites.ts";

const SIDE = 28; // pixels, about
const make = (tag, className = "", text = "") => Object.assign(document.createElement(tag), { className, textContent: text });
const grouped = (n) => n.toLocaleString("en");

/** The view of a picture's `film`, of the pinned image's where none is given: {node, caption, at(step)}. */
export async function filmView({ run, events_url, film, item, metric = "euclidean", classes, sprites, begun }) {
  if (!film && item === null) return { node: make("p", "quiet", "Pin an image to see its neighbours over the training."), caption: "" };
  film ??= await filmOf(events_url.replace(/events.*$/, `film/${item}.json?metric=${metric}&v=${begun}`));
  const node = make("div", "film");
  const strip = make("ol", "strip");
  node.append(strip);
  const columns = film.steps.map((step, i) => column(step, film.near[i], i === film.steps.length - 1));
  strip.append(...columns);
  return { node, caption: captionOf(film, classes, metric), at };

  function at(step, first = false) {
    let here = film.steps.findLastIndex((known) => known <= (step ?? Infinity));
    if (here < 0) here = 0;
    columns.forEach((one, i) => one.toggleAttribute("data-here", i === here));
    const one = columns[here];
    const [left, right] = [strip.scrollLeft, strip.scrollLeft + strip.clientWidth];
    if (first || one.offsetLeft < left || one.offsetLeft + one.offsetWidth > right) {
      strip.scrollLeft = one.offsetLeft - strip.clientWidth / 2;
    }
  }

  function column(step, near) {
    const right = near.filter(([other]) => film.labels[other] === film.label).length;
    const place = make("li");
    const button = make("button");
    button.type = "button";
    const said = film.item === null ? `say ${classes[film.label]}` : "right";
    button.title = `Step ${grouped(step)}: ${right} of ${near.length} ${said}. Click to go there.`;
    button.setAttribute("aria-label", button.title);
    button.dataset.step = step;
    const share = make("span", "share");
    share.style.setProperty("--share", right / Math.max(1, near.length));
    button.append(make("span", "step", grouped(step)), share, ...near.map(([other, far]) => frame(other, far)));
    button.addEventListener("click", () => bus.emit("seek", { run, step }));
    place.append(button);
    return place;
  }

  function frame(other, far) {
    const one = make("span", film.labels[other] === film.label ? "frame right" : "frame wrong");
    const tile = make("span", "tile");
    if (sprites.urls.length) Object.assign(tile.style, tileStyle(sprites, other, Math.max(1, Math.round(SIDE / sprites.tile)) * sprites.tile));
    one.append(tile, make("span", "far", Number(far).toPrecision(2)));
    one.title = `Test image ${grouped(other)}, ${classes[film.labels[other]]}, ${far} away`;
    one.dataset.item = other;
    one.addEventListener("pointerenter", () => bus.emit("hover", { run, item: other, source: node }));
    one.addEventListener("pointerleave", () => bus.emit("hover", { run, item: null, source: node }));
    return one;
  }
}

async function filmOf(url) {
  const response = await fetch(url);
  const film = await response.json();
  if (!response.ok) throw new Error(film.error);
  return film;
}

/** Whose neighbours, among which, by which distance. */
export function captionOf({ item, label, among, nets }, classes, metric) {
  if (item === null) {
    return `Your picture, which looks like ${classes[label]} to the last net, as the nets kept on the way saw it: nearest first, among the ${grouped(among)} watched test images, by Euclidean distance.`;
  }
  const how = nets ? " It is not watched itself: the nets kept on the way embedded it." : "";
  const by = metric === "cosine" ? "cosine" : "Euclidean";
  return `Test image ${grouped(item)}, class ${classes[label]}: nearest first, among the ${grouped(among)} watched test images, by ${by} distance.${how}`;
}
