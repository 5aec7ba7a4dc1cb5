// Under the points: what the picture keeps of the embedding, measured, and what may not be read from it.
import type { Faithfulness, MethodInfo } from "../../protocol.ts";
import { h } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { explain } from "../../lib/glossary.ts";
import type { MapData } from "../data/expandProps.ts";
import type { Entry, Timeline } from "../data/timeline.ts";
import { loadMethods } from "../data/fetchItems.ts";
import { percentRight } from "./cards.ts";

const MEASURES: Record<string, [string, string]> = {
  trustworthiness: [
    "trustworthiness",
    "Trustworthiness: are neighbors on the map also neighbors in the embedding? 1 = perfect (Venna, Kaski 2001)",
  ],
  continuity: [
    "continuity",
    "Continuity: are neighbors in the embedding also neighbors on the map? 1 = perfect (Venna, Kaski 2001)",
  ],
  neighbors_kept: ["", "k-NN recall: nearest neighbors in the embedding that are also nearest neighbors on the map"],
  distance_correlation: [
    "distance correlation",
    "Pearson correlation between distances in the embedding and on the map",
  ],
};

/** The measured figures as [words, explanation] each; `kept` is what an event says. */
export function qualityFigures(faithfulness: Faithfulness | null): [string, string][] {
  const figures = Object.entries(MEASURES).flatMap(([name, [words, help]]): [string, string][] => {
    const value = faithfulness?.[name];
    if (typeof value !== "number" || !Number.isFinite(value)) return [];
    if (name === "neighbors_kept")
      return [[`${(value * (faithfulness?.k ?? 0)).toFixed(1)} of ${faithfulness?.k} neighbors preserved`, help]];
    return [[`${words} ${value.toFixed(name === "distance_correlation" ? 2 : 3)}`, help]];
  });
  const { index_recall: recall, index_measured: measured } = faithfulness ?? {};
  if (recall && measured)
    figures.push([
      `drawn from neighbors of which ${percentRight({ recall, measured })} are right, checked on ${grouped(measured)}`,
      "The layout's nearest neighbors were found by an index; of so many they were compared with an exact search",
    ]);
  return figures;
}

/** On how many images, and when, the figures were measured. */
export function measuredOn({ measured, n }: Faithfulness, when: string, noun = "test image"): string {
  const all = measured === n || !n;
  return `${all ? `on ${grouped(measured ?? 0)}` : `on ${grouped(measured ?? 0)} of ${grouped(n)}`} ${noun}s${when ? `, ${when}` : ""}`;
}

/** Share of the variance on the axes, in words; empty if the map is not linear. */
export function varianceOf(explained: number[] | null | undefined, axes?: number[]): string {
  if (!explained?.length) return "";
  const shares = explained.map(
    (share, i) => (axes ? `component ${axes[i]}: ` : "") + `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`,
  );
  return `${shares.join(axes ? ", " : " + ")} of the variance`;
}

const FEW = 0.3; // shares of neighbors that survive, and a correlation of distances: below FEW a map shows others than the embedding
const MOST = 0.7;
const FAITHFUL = 0.9;

/** What a map is good for, before any figure: how many neighbors survive, and what may be read: of a map that is no
 * projection onto axes no distances, though they agree. "" if unknown. */
export function meaningOf(faithfulness: Faithfulness | null, isLinear: boolean): string {
  const { neighbors_kept: share, k, distance_correlation: correlation } = faithfulness ?? {};
  if (typeof share !== "number" || !Number.isFinite(share) || !k) return "";
  const advice =
    share < FEW
      ? "do not read distances here"
      : share < MOST
        ? "read groups here, not distances"
        : !isLinear || (correlation ?? 0) < FAITHFUL
          ? "read who is near, not how far"
          : "near and far can be read here";
  return `${(share * k).toFixed(1)} of ${k} neighbors survive: ${advice}.`;
}

/** The first sentence of a text, and the others. */
export function splitSentence(text: string): [string, string] {
  const end = /[.?!](?= )/.exec(text)?.index ?? text.length;
  return [text.slice(0, end + 1), text.slice(end + 2)];
}

export class QualityFooter {
  private meaning = h("summary");
  private figures = h("div", "figures");
  private caution = h("div", "caution");
  /** One line, and behind it the figures. */
  readonly node = h("details", { class: "foot", hidden: true }, this.meaning, this.figures, this.caution);
  private methods: Record<string, MethodInfo> | null = null;
  private request: Promise<void> | null = null;
  private key = "";

  /** `onChange` is called when there is more to show, or it takes another height. */
  constructor(private onChange: () => void) {}

  update(data: MapData, timeline: Timeline, shown: Entry | null, open: boolean): void {
    const { picture } = data;
    this.node.hidden = !picture;
    if (!picture) return;
    const about = picture.title ? (picture as MethodInfo) : this.methods?.[picture.method];
    if (!about) this.fetchInfo();
    const faithfulness = shown?.faithfulness ?? timeline.kept;
    const when = shown?.faithfulness
      ? `at step ${grouped(shown.step)}`
      : timeline.noun === "step" && !data.given
        ? "at the end of the run"
        : "";
    const itself = picture.method === "plane"; // the embedding, of which a picture of it keeps everything
    const parts: [string, string][] = itself ? [] : qualityFigures(faithfulness);
    if (parts.length) parts.push([measuredOn(faithfulness ?? {}, when, data.noun), ""]);
    const variance = itself ? "" : varianceOf(shown?.explained ?? timeline.explained, picture.axes);
    if (variance) parts.push([variance, "share of the embedding's variance along each axis"]);
    const what = data.view === "live" ? "training" : "layout";
    const waiting = open && !itself && !faithfulness ? `Quality is measured when the ${what} has finished.` : "";
    const [first, rest] = splitSentence([picture.note, about?.caution].filter(Boolean).join(" "));
    const meaning = picture.note || itself ? "" : meaningOf(faithfulness, variance !== "") || waiting;
    const caution = meaning ? `${first} ${rest}` : rest;
    const key = JSON.stringify([parts, about, meaning, first, rest]);
    if (key === this.key) return;
    this.key = key;
    this.figures.replaceChildren(...parts.map(([words, help]) => h("span", { title: help || false }, words)));
    this.meaning.replaceChildren(
      ...(about ? [explain(h("b", null, about.title), picture.method), ` ${meaning || first}`] : []),
    );
    this.caution.textContent = caution;
  }

  private fetchInfo(): void {
    this.request ??= loadMethods().then(
      (methods) => {
        this.methods = methods;
        this.onChange();
      },
      () => {},
    );
  }
}
