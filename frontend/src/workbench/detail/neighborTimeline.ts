// Neighbors over time: the nearest neighbors of one image at every snapshot, one column per step; a click goes to that step.
import type { NeighborHistory } from "../../protocol.ts";
import { bus } from "../../lib/bus.ts";
import { h } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { tileStyle } from "../../lib/sprites.ts";
import type { DetailSource, DetailView } from "./detailView.ts";
import { ROUTES, fetchServer } from "../../lib/server.ts";

const SIDE_PX = 28; // about

/** The view of a query image's `history`; of the pinned image's where none is given. */
export async function neighborTimeline(source: DetailSource): Promise<DetailView> {
  const { run, item, metric = "euclidean", classes, sprites, begun } = source;
  if (!source.history && item === null) {
    return { node: h("p", "quiet", "Pin an image to see its neighbors over time."), caption: "" };
  }
  const history =
    source.history ??
    (await fetchHistory(`${ROUTES}/runs/${run}/neighbor-history/${item}.json?metric=${metric}&v=${begun}`));
  const columns = history.steps.map((step, i) => column(step, history.near[i]));
  const strip = h("ol", "strip", ...columns);
  const node = h("div", "history", strip);
  return { node, caption: captionOf(history, classes, metric), onStep };

  function onStep(step: number | undefined, first = false): void {
    const current = Math.max(
      0,
      history.steps.findLastIndex((each) => each <= (step ?? Infinity)),
    );
    columns.forEach((one, i) => one.toggleAttribute("data-here", i === current));
    const one = columns[current];
    if (!one) return;
    const [left, right] = [strip.scrollLeft, strip.scrollLeft + strip.clientWidth];
    if (first || one.offsetLeft < left || one.offsetLeft + one.offsetWidth > right) {
      strip.scrollLeft = one.offsetLeft - strip.clientWidth / 2;
    }
  }

  function column(step: number, near: [number, number][]): HTMLElement {
    const right = near.filter(([other]) => history.labels[other] === history.label).length;
    const what = history.item === null ? `of class ${classes[history.label]}` : "right";
    const title = `Step ${grouped(step)}: ${right} of ${near.length} ${what}. Click to go there.`;
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
    const hover = (target: number | null) => () => bus.emit("hover", { run, item: target, source: node });
    return h(
      "span",
      {
        class: history.labels[other] === history.label ? "frame right" : "frame wrong",
        "data-item": other,
        title: `Test image ${grouped(other)}, ${classes[history.labels[other]]}, ${far} away`,
        pointerenter: hover(other),
        pointerleave: hover(null),
      },
      tile,
      h("span", "far", Number(far).toPrecision(2)),
    );
  }
}

async function fetchHistory(url: string): Promise<NeighborHistory> {
  const response = await fetchServer(url);
  const history = (await response.json()) as NeighborHistory & { error?: string };
  if (!response.ok) throw new Error(history.error);
  return history;
}

/** Caption: the image, its candidates and the distance. */
export function captionOf({ item, label, among, nets }: NeighborHistory, classes: string[], metric: string): string {
  if (item === null) {
    return `Your image (predicted ${classes[label]}): nearest neighbors at each checkpoint, among the ${grouped(among)} tracked test images, by Euclidean distance.`;
  }
  const how = nets ? " Not in the tracked subset; embedded from checkpoints." : "";
  const by = metric === "cosine" ? "cosine" : "Euclidean";
  return `Test image ${grouped(item)}, class ${classes[label]}: nearest neighbors at each snapshot, among the ${grouped(among)} tracked test images, by ${by} distance.${how}`;
}
