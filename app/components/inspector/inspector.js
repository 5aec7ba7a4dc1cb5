// Whose neighbours are whose: the pinned image or the query, and the images nearest to it in the embedding.

import { bus } from "../shared/bus.js";
import { paintBytes, tileStyle } from "../shared/sprites.js";
import { captionOf, summaryOf } from "./words.js";

const inspectors = new WeakMap();

export default function ({ parentElement, data, setTriggerValue }) {
  let inspector = inspectors.get(parentElement);
  if (!inspector) inspectors.set(parentElement, (inspector = mount(parentElement)));
  inspector.pin = (item) => setTriggerValue("pin", item);
  inspector.show(unpacked(data ?? {}));
  return () => {
    inspector.root.remove();
    inspectors.delete(parentElement);
  };
}

// Neighbours come as [item, label, distance], nearest first.
function unpacked({ near = [], ...data }) {
  return { ...data, neighbours: near.map(([item, label, distance]) => ({ item, label, distance })) };
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function mount(parent) {
  const root = element("div", "inspector");
  parent.appendChild(root);
  const inspector = { root, pin: () => {}, show };

  function show(data) {
    const { subject, neighbours = [], steps = [], placeholder = "" } = data;
    root.replaceChildren();
    root.dataset.below = data.below ?? "";
    root.dataset.subject = subject ? (subject.item ?? "query") : "";
    root.dataset.neighbours = neighbours.length;
    if (!subject) {
      root.append(element("p", "quiet", placeholder));
      root.dataset.ready = "true";
      return;
    }
    root.append(headOf(data));
    if (steps.length) root.append(stripOf(steps));
    if (data.far) root.append(element("p", "far", data.far));
    root.append(listOf(data));
    root.dataset.ready = "true";
  }

  function headOf(data) {
    const { subject, sprites, classes } = data;
    const head = element("div", "head");
    const picture = element("div", "picture");
    if (subject.item !== undefined) Object.assign(picture.style, tileStyle(sprites, subject.item, 64));
    else picture.append(canvasOf(subject));
    const words = element("div", "words");
    words.append(element("strong", "", data.title ?? classes[subject.label]));
    words.append(element("span", "", summaryOf(data)));
    words.append(element("span", "quiet", captionOf(data)));
    head.append(picture, words);
    return head;
  }

  function listOf({ run, subject, neighbours, classes, sprites, vote }) {
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
      button.append(tile, name, bar, element("span", "distance", distance.toFixed(3)));
      button.addEventListener("click", () => inspector.pin(item));
      for (const [event, value] of [["pointerenter", item], ["focus", item], ["pointerleave", null], ["blur", null]]) {
        button.addEventListener(event, () => bus.emit("hover", { run, item: value, source: inspector }));
      }
      row.append(button);
      list.append(row);
    }
    return list;
  }

  return inspector;
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
