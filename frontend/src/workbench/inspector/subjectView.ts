// The image in question: what it is, how it was prepared, and how its neighbors agree.
import type { Ink, NeighborHistory } from "../../protocol.ts";
import { bus } from "../../lib/bus.ts";
import { h, textButton } from "../../lib/dom.ts";
import { grouped, ITEM } from "../../lib/format.ts";
import { paintBytes, tileStyle } from "../../lib/sprites.ts";
import { captionOf, classOf, summaryOf, trajectoryCaption, type Inspected, type WithSubject } from "./captions.ts";

const PICTURE_PX = 64;

/** Picture, title, and two sentences. A query has no picture of its own here: the last step of `stepStrip` is it. */
export function subjectHead(data: WithSubject): HTMLElement {
  const { subject, sprites, history } = data;
  const name = h("strong", null, data.title ?? classOf(data, subject.label));
  name.title = data.basis ?? ""; // on which images that is calibrated
  const title = h("span", "title", name);
  if (subject.item !== undefined) title.append(h("span", "quiet", `${data.noun ?? ITEM} ${grouped(subject.item)}`));
  if (typeof history === "object" && history?.steps) title.append(historyButton(data, history));
  const words = h("div", "words", title, h("span", null, summaryOf(data)), h("span", "quiet", captionOf(data)));
  if (subject.item === undefined || !sprites?.urls.length) return h("div", "head", words);
  const picture = h("div", "picture");
  Object.assign(picture.style, tileStyle(sprites, subject.item, PICTURE_PX));
  return h("div", "head", picture, words);
}

/** Table of what is known of the image. */
export const knownValues = (values: NonNullable<Inspected["known"]>): HTMLElement =>
  h("p", "quiet known", ...values.flatMap(([name, word], i) => [i ? " · " : "", `${name} `, h("strong", null, word)]));

/** Opens the neighbors of the image at every snapshot. */
export function historyButton({ run = "" }: Inspected, history: NeighborHistory | null = null): HTMLElement {
  return textButton(
    "Neighbors over time",
    () => bus.emit("open-detail", { run, what: "history", history }),
    "Its nearest neighbors at every snapshot",
  );
}

/** The steps from the picture to the input of the net. */
export const stepStrip = (steps: NonNullable<Inspected["steps"]>): HTMLElement =>
  h("ol", "strip", ...steps.map((step) => h("li", null, canvasOf(step), h("span", "quiet", unbroken(step.caption)))));

/** "20 × 20" stays on one line. */
const unbroken = (text: string): string => text.replaceAll(" × ", "\u00a0×\u00a0");

/** Key to the marks of the neighbors and the path on the map. */
export function keyOf(data: WithSubject): HTMLElement {
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

function canvasOf(picture: Ink): HTMLElement {
  const canvas = h("canvas");
  paintBytes(canvas, picture);
  return canvas;
}
