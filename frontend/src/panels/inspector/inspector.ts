// Beside the map: the pinned image or the query with the images nearest to it in the embedding, or the selection.
import type { NeighborHistory, Ink, InspectorProps } from "../../protocol.ts";
import { bus, shared } from "../../lib/bus.ts";
import { h, setData, textButton } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { onSelection, type Selection } from "../../lib/selection.ts";
import { paintBytes, tileStyle } from "../../lib/sprites.ts";
import {
  captionOf,
  classOf,
  mapRankCaption,
  summaryOf,
  trajectoryCaption,
  type Inspected,
  type InspectedNeighbor,
  type WithSubject,
} from "./captions.ts";
import { contactSheet } from "./contactSheet.ts";
import style from "./inspector.css";

const METRICS = { euclidean: "Euclidean", cosine: "Cosine" };

export default function ({ parentElement, data, setTriggerValue }: ComponentArguments<InspectorProps | null>) {
  return mount(
    parentElement,
    style,
    (parent) => new Inspector(parent),
    (inspector) => {
      inspector.tell = setTriggerValue;
      inspector.update(decodeProps(data ?? {}));
    },
  );
}

// Neighbors come as [item, label, distance], nearest first.
function decodeProps({ near = [], ...data }: InspectorProps): Inspected {
  return { ...data, neighbors: near.map(([item, label, distance]) => ({ item, label, distance })) };
}

const subjectName = ({ subject }: Pick<Inspected, "subject">) => (subject ? String(subject.item ?? "query") : "");
const hasSubject = (data: Inspected): data is WithSubject => data.subject !== undefined;

class Inspector {
  tell: (name: string, value: unknown) => void = () => {};
  private root = h("div", "inspector");
  private data: Inspected = { neighbors: [] };
  private selection: Selection | null = null;
  private sheet = false; // whether the selection is shown, or what is pinned
  private offs: (() => void)[];

  constructor(parent: ParentNode) {
    parent.append(this.root);
    this.offs = [onSelection((selection) => this.select(selection)), bus.on("ranks", () => this.updateMapRanks())];
  }

  update(data: Inspected): void {
    // A new pin comes before the selection it was picked from, to which a link leads back.
    if (subjectName(data) && subjectName(data) !== subjectName(this.data)) this.sheet = false;
    this.data = data;
    if (data.metric && data.metric !== shared.metric) {
      shared.metric = data.metric;
      bus.emit("metric", data.metric);
    }
    if (data.run && typeof data.history === "object" && data.history?.steps)
      bus.emit("query-history", { run: data.run, history: data.history });
    this.show();
  }

  private select(selection: Selection | null): void {
    this.selection = selection;
    this.setTab(selection !== null);
  }

  private pin(item: number): void {
    if (String(item) === subjectName(this.data))
      this.setTab(false); // pinned already: nothing new will come
    else this.tell("pin", item);
  }

  private setTab(sheet: boolean): void {
    this.sheet = sheet;
    this.show();
  }

  private show(): void {
    const { root, data } = this;
    const selection = data.sheet === false ? null : this.selection;
    const sheet = this.sheet && selection !== null;
    setData(root, {
      below: data.below ?? "",
      subject: subjectName(data),
      neighbors: data.neighbors.length,
      sheet,
      selected: this.selection?.items.length ?? 0,
      metric: data.metric ?? "",
    });
    if (sheet)
      root.replaceChildren(
        contactSheet(selection, { pin: (item) => this.pin(item), pinned: data.subject?.item, at: root }),
      );
    else {
      const back = selection
        ? [
            textButton(
              `‹ ${grouped(selection.items.length)} selected`,
              () => this.setTab(true),
              "Back to the selection",
            ),
          ]
        : [];
      root.replaceChildren(
        ...back,
        ...(hasSubject(data) ? this.subjectView(data) : [h("p", "quiet", data.placeholder)]),
      );
      this.updateMapRanks();
    }
    root.dataset.ready = "true";
  }

  private subjectView(data: WithSubject): HTMLElement[] {
    return [
      headOf(data),
      ...(data.steps?.length ? [stripOf(data.steps)] : []),
      ...(data.far ? [h("p", "far", data.far)] : []),
      ...this.renderMetricTabs(data),
      this.list(data),
      this.key(data),
    ];
  }

  // Which distance is meant, and the way to the same question over the whole training.
  private renderMetricTabs(data: WithSubject): HTMLElement[] {
    if (!data.metric) return [];
    const group = h("span", { class: "metrics", role: "group", "aria-label": "Distance" });
    for (const [name, title] of Object.entries(METRICS)) {
      const button = textButton(title, () => this.tell("metric", name), `Nearest by ${title} distance`);
      button.setAttribute("aria-pressed", String(name === data.metric));
      group.append(button);
    }
    return [h("div", "choices", group, data.history ? historyButton(data) : null)];
  }

  private list(data: WithSubject): HTMLElement {
    const { subject, neighbors, vote } = data;
    const truth = subject.label ?? vote?.label;
    const farthest = Math.max(...neighbors.map((neighbor) => neighbor.distance), 1e-9);
    const wrong = subject.label === undefined ? " other" : " wrong";
    return h(
      "ol",
      "list",
      ...neighbors.map((neighbor) =>
        h("li", null, this.row(data, neighbor, neighbor.label === truth ? "" : wrong, farthest)),
      ),
    );
  }

  private row(
    { run = "", sprites, classes }: WithSubject,
    { item, label, distance }: InspectedNeighbor,
    wrong: string,
    farthest: number,
  ) {
    const tile = h("span", "tile");
    if (sprites) Object.assign(tile.style, tileStyle(sprites, item, 32));
    const bar = h("span", "bar");
    bar.style.setProperty("--share", String(distance / farthest));
    const name = h("span", "name", classOf({ classes }, label), wrong ? h("span", "mark", wrong) : null);
    const hover = (hovered: number | null) => () => bus.emit("hover", { run, item: hovered, source: this });
    return h(
      "button",
      {
        type: "button",
        class: wrong ? "row wrong" : "row right",
        "data-item": item,
        title: `Pin test image ${item}`,
        click: () => this.pin(item),
        pointerenter: hover(item),
        focus: hover(item),
        pointerleave: hover(null),
        blur: hover(null),
      },
      tile,
      name,
      bar,
      h("span", "where"),
      h("span", "distance", distance.toFixed(3)),
    );
  }

  private key(data: WithSubject): HTMLElement {
    const places = h(
      "p",
      { class: "quiet key places", hidden: true },
      h("span", "where near"),
      " also near on the map ",
      h("span", "where off"),
      " far on the map",
    );
    return h("div", null, places, h("p", "quiet key", trajectoryCaption(data)));
  }

  // The map tells how near each of them is drawn.
  private updateMapRanks(): void {
    const { data, root } = this;
    const { ranks } = shared;
    if (!ranks || ranks.run !== data.run || String(ranks.item) !== subjectName(data)) return;
    let some = false;
    for (const row of root.querySelectorAll<HTMLElement>(".row")) {
      const place = mapRankCaption(ranks.of.get(Number(row.dataset.item)), data.neighbors.length);
      const where = row.querySelector<HTMLElement>(".where");
      if (!where) continue;
      where.className = place ? `where ${place.near ? "near" : "off"}` : "where";
      where.title = place?.words ?? "Not in this frame";
      some ||= place !== null;
    }
    const key = root.querySelector<HTMLElement>(".key");
    if (key) key.hidden = !some;
  }

  destroy(): void {
    this.offs.forEach((off) => off());
    this.root.remove();
  }
}

function headOf(data: WithSubject): HTMLElement {
  const { subject, sprites } = data;
  const picture = h("div", "picture");
  if (subject.item === undefined) picture.append(canvasOf(subject as Ink));
  else if (sprites) Object.assign(picture.style, tileStyle(sprites, subject.item, 64));
  const title = h("span", "title", h("strong", null, data.title ?? classOf(data, subject.label)));
  if (typeof data.history === "object" && data.history?.steps) title.append(historyButton(data, data.history));
  return h(
    "div",
    "head",
    picture,
    h("div", "words", title, h("span", null, summaryOf(data)), h("span", "quiet", captionOf(data))),
  );
}

function historyButton({ run = "" }: Inspected, history: NeighborHistory | null = null): HTMLElement {
  return textButton(
    "Neighbors over time",
    () => bus.emit("open-detail", { run, what: "history", history }),
    "Its nearest neighbors at every snapshot",
  );
}

function canvasOf(picture: Ink): HTMLElement {
  const canvas = h("canvas");
  paintBytes(canvas, picture);
  return canvas;
}

const stripOf = (steps: NonNullable<Inspected["steps"]>) =>
  h("ol", "strip", ...steps.map((step) => h("li", null, canvasOf(step), h("span", "quiet", step.caption))));
