// @ts-nocheck
// Under the points: what the picture keeps of the embedding, measured, and what may not be read from it.
import { element, grouped } from "../../lib/dom.ts";
import { loadMethods } from "../data/fetchItems.ts";

const MEASURES = {
  trustworthiness: ["trustworthiness", "1 where the neighbours on the map are neighbours in the embedding, too (Venna, Kaski 2001)"],
  continuity: ["continuity", "1 where the neighbours in the embedding are neighbours on the map, too (Venna, Kaski 2001)"],
  neighbours_kept: ["", "of an image's nearest in the embedding so many are among its nearest on the map"],
  distance_correlation: ["distance correlation", "Pearson's, between distances in the embedding and on the map"],
};

/** The measured figures as [words, explanation] each; `kept` is what an event says. */
export function figuresOf(kept) {
  return Object.entries(MEASURES)
    .filter(([name]) => Number.isFinite(kept?.[name]))
    .map(([name, [words, help]]) => {
      if (name === "neighbours_kept") return [`${(kept[name] * kept.k).toFixed(1)} of ${kept.k} nearest kept`, help];
      return [`${words} ${kept[name].toFixed(name === "distance_correlation" ? 2 : 3)}`, help];
    });
}

/** On how many images, and when, the figures were measured. */
export function measuredOn({ measured, n }, when) {
  const all = measured === n || !n;
  return `${all ? `on ${grouped(measured)}` : `on ${grouped(measured)} of ${grouped(n)}`} test images${when ? `, ${when}` : ""}`;
}

/** How much of the variance the axes show, in words; empty where the map is not linear. */
export function varianceOf(explained, axes) {
  if (!explained?.length) return "";
  const shares = explained.map((share, i) => (axes ? `component ${axes[i]}: ` : "") + `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);
  return `${shares.join(axes ? ", " : " + ")} of the variance`;
}

export class Foot {
  /** `changed` is called when there is more to show, or it takes another height. */
  constructor(changed) {
    this.changed = changed;
    this.figures = element("div", { class: "figures" });
    this.caution = element("div", { class: "caution" });
    this.node = element("div", { class: "foot", hidden: true }, this.figures, this.caution);
  }

  update({ data, playback }) {
    const { picture } = data;
    this.node.hidden = !picture;
    if (!picture) return;
    const about = picture.title ? picture : this.methods?.[picture.method];
    if (!about) this.ask(data.api ?? "/api");
    const { timeline, shown, open } = playback;
    const kept = shown?.faithfulness ?? timeline.kept;
    const when = shown?.faithfulness ? `at step ${grouped(shown.step)}` : timeline.noun === "step" ? "at the end of the run" : "";
    const itself = picture.method === "plane"; // the embedding, of which a picture of it keeps everything
    const parts = itself ? [] : figuresOf(kept);
    if (parts.length) parts.push([measuredOn(kept, when), ""]);
    else parts.push([open && !itself ? "What this picture keeps is measured when it is finished." : "", ""]);
    const variance = itself ? "" : varianceOf(shown?.explained ?? timeline.explained, picture.axes);
    if (variance) parts.push([variance, "how much of the embedding's spread is seen along each axis"]);
    const key = JSON.stringify([parts, about]);
    if (key === this.shown) return;
    this.shown = key;
    this.figures.replaceChildren(...parts.filter(([words]) => words).map(([words, help]) => element("span", { title: help || false }, words)));
    this.caution.replaceChildren(...(about ? [element("b", {}, about.title), ` ${about.caution}`] : []));
  }

  ask(api) {
    this.asked ??= loadMethods(api).then((methods) => {
      this.methods = methods;
      this.changed();
    }, () => {});
  }
}
