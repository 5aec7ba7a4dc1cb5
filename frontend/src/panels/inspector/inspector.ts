// @ts-nocheck
// Beside the map: the pinned image or the query with the images nearest to it in the embedding, or the selection.
import { bus, page } from "../../lib/bus.ts";
import { element } from "../../lib/element.ts";
import { mount } from "../../lib/mount.ts";
import { onSelection } from "../../lib/selection.ts";
import { paintBytes, tileStyle } from "../../lib/sprites.ts";
import { textButton } from "../../lib/buttons.ts";
import { sheetOf } from "./contactSheet.ts";
import { captionOf, placeOf, summaryOf, wayOf } from "./captions.ts";
import style from "./inspector.css";

const METRICS = { euclidean: "Euclidean", cosine: "Cosine" };

export default function ({ parentElement, data, setTriggerValue }) {
  return mount(parentElement, style, (parent) => new Inspector(parent), (inspector) => {
    inspector.tell = setTriggerValue;
    inspector.update(unpacked(data ?? {}));
  });
}

// Neighbours come as [item, label, distance], nearest first.
function unpacked({ near = [], ...data }) {
  return { ...data, neighbours: near.map(([item, label, distance]) => ({ item, label, distance })) };
}

const subjectOf = ({ subject }) => (subject ? String(subject.item ?? "query") : "");

class Inspector {
  constructor(parent) {
    this.root = element("div", "inspector");
    parent.append(this.root);
    this.data = {};
    this.selection = null;
    this.sheet = false; // whether the selection is shown, or what is pinned
    this.offs = [
      onSelection((selection) => this.select(selection)),
      bus.on("ranks", () => this.markPlaces()),
    ];
  }

  update(data) {
    // A new pin comes before the selection it was picked from, to which a link leads back.
    if (subjectOf(data) && subjectOf(data) !== subjectOf(this.data)) this.sheet = false;
    this.data = data;
    if (data.metric && data.metric !== page.metric) {
      page.metric = data.metric;
      bus.emit("metric", data.metric);
    }
    if (data.film?.steps) bus.emit("asked", { run: data.run, film: data.film });
    this.show();
  }

  select(selection) {
    this.selection = selection;
    this.sheet = selection !== null;
    this.show();
  }

  pin(item) {
    if (String(item) === subjectOf(this.data)) return this.turn(false); // pinned already: nothing new will come
    this.tell("pin", item);
  }

  turn(sheet) {
    this.sheet = sheet;
    this.show();
  }

  show() {
    const { root, data, selection } = this;
    const { subject, neighbours = [], steps = [], placeholder = "" } = data;
    const sheet = this.sheet && selection && data.sheet !== false;
    Object.assign(root.dataset, {
      below: data.below ?? "", subject: subjectOf(data), neighbours: neighbours.length, sheet: Boolean(sheet),
      selected: selection?.items.length ?? 0, metric: data.metric ?? "",
    });
    if (sheet) {
      const pinned = subject?.item;
      root.replaceChildren(sheetOf(selection, { pin: (item) => this.pin(item), pinned, at: root }));
    } else {
      const back = selection && data.sheet !== false
        ? [textButton(`‹ ${selection.items.length.toLocaleString("en")} selected`, () => this.turn(true), "Back to the selection")]
        : [];
      const far = data.far ? [element("p", "far", data.far)] : [];
      const strip = steps.length ? [stripOf(steps)] : [];
      root.replaceChildren(...back, ...(subject
        ? [headOf(data), ...strip, ...far, ...this.choices(), this.list(), this.key()]
        : [element("p", "quiet", placeholder)]));
      this.markPlaces();
    }
    root.dataset.ready = "true";
  }

  // Which distance is meant, and the way to the same question over the whole training.
  choices() {
    const { data } = this;
    if (!data.metric) return [];
    const row = element("div", "choices");
    const group = element("span", "metrics");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Distance");
    for (const [name, title] of Object.entries(METRICS)) {
      const button = textButton(title, () => this.tell("metric", name), `Nearest by ${title} distance`);
      button.setAttribute("aria-pressed", name === data.metric);
      group.append(button);
    }
    row.append(group);
    if (data.film) row.append(overTheTraining(data));
    return [row];
  }

  list() {
    const { run, subject, neighbours, classes, sprites, vote } = this.data;
    const list = element("ol", "list");
    const truth = subject.label ?? vote?.label;
    const farthest = Math.max(...neighbours.map((neighbour) => neighbour.distance), 1e-9);
    for (const { item, label, distance } of neighbours) {
      const right = label === truth;
      const row = element("li");
      const button = element("button", right ? "row right" : "row wrong");
      button.type = "button";
      button.dataset.item = item;
      button.title = `Test image ${item}: pin it`;
      const tile = element("span", "tile");
      Object.assign(tile.style, tileStyle(sprites, item, 32));
      const bar = element("span", "bar");
      bar.style.setProperty("--share", distance / farthest);
      const name = element("span", "name", classes[label]);
      if (!right) name.append(element("span", "mark", subject.label === undefined ? " other" : " wrong"));
      button.append(tile, name, bar, element("span", "where"), element("span", "distance", distance.toFixed(3)));
      button.addEventListener("click", () => this.pin(item));
      for (const [event, value] of [["pointerenter", item], ["focus", item], ["pointerleave", null], ["blur", null]]) {
        button.addEventListener(event, () => bus.emit("hover", { run, item: value, source: this }));
      }
      row.append(button);
      list.append(row);
    }
    return list;
  }

  key() {
    const key = element("p", "quiet key places");
    key.append(element("span", "where near"), " near on the map too ", element("span", "where off"), " far on the map");
    key.hidden = true;
    const foot = element("div");
    foot.append(key, element("p", "quiet key", wayOf(this.data)));
    return foot;
  }

  // The map tells how near each of them is drawn.
  markPlaces() {
    const { data, root } = this;
    const { ranks } = page;
    if (!ranks || ranks.run !== data.run || String(ranks.item) !== subjectOf(data)) return;
    let some = false;
    for (const row of root.querySelectorAll(".row")) {
      const place = placeOf(ranks.of.get(Number(row.dataset.item)), data.neighbours.length);
      const where = row.querySelector(".where");
      where.className = place ? `where ${place.near ? "near" : "off"}` : "where";
      where.title = place?.words ?? "Not in this frame";
      some ||= place !== null;
    }
    const key = root.querySelector(".key");
    if (key) key.hidden = !some;
  }

  stop() {
    this.offs.forEach((off) => off());
    this.root.remove();
  }
}

function headOf(data) {
  const { subject, sprites, classes } = data;
  const head = element("div", "head");
  const picture = element("div", "picture");
  if (subject.item !== undefined) Object.assign(picture.style, tileStyle(sprites, subject.item, 64));
  else picture.append(canvasOf(subject));
  const words = element("div", "words");
  const title = element("span", "title");
  title.append(element("strong", null, data.title ?? classes[subject.label]));
  if (data.film?.steps) title.append(overTheTraining(data, data.film));
  words.append(title);
  words.append(element("span", null, summaryOf(data)));
  words.append(element("span", "quiet", captionOf(data)));
  head.append(picture, words);
  return head;
}

function overTheTraining({ run }, film = null) {
  const open = () => bus.emit("study", { run, what: "film", film });
  return textButton("Over the training", open, "Its nearest images at every frame");
}

function canvasOf(picture) {
  const canvas = element("canvas");
  paintBytes(canvas, picture);
  return canvas;
}

function stripOf(steps) {
  const strip = element("ol", "strip");
  for (const step of steps) {
    const figure = element("li");
    figure.append(canvasOf(step), element("span", "quiet", step.caption));
    strip.append(figure);
  }
  return strip;
}
