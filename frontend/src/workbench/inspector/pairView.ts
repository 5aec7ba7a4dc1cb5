// Two pinned images: how far apart their pixels and their embeddings are, and what a threshold says of them.
import type { ImagePair, PairSpace } from "../../protocol.ts";
import { h, textButton } from "../../lib/dom.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { ROUTES, fetchServer } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import type { WithSubject } from "./captions.ts";

const PICTURE_PX = 48;

/** The verdict of a threshold, and if it is right. */
export function verdict({ says_same }: Pick<PairSpace, "says_same">, same: boolean): string {
  return `${says_same ? "the same" : "different"}: ${says_same === same ? "right" : "wrong"}`;
}

/** Source of the thresholds. */
export const thresholdSentence = (pairs: number, given = false): string =>
  `Each threshold is the one that gets most of ${grouped(pairs)} pairs of test images right, half of them of one class. ` +
  `Euclidean distances, pixels from 0 to 1${given ? "" : ", at the end of the run"}.`;

export class PairView {
  private table = h("div", "table");
  private name = h("span", "words");
  private request = "";

  /** `compare` begins the comparison with an image, or ends it (null). */
  constructor(private compare: (partner: number | null) => void) {}

  /** The part below the pinned image: a button, or two images and their distances. */
  view(data: WithSubject): HTMLElement[] {
    const { partner, run } = data;
    const { item } = data.subject;
    if (!data.comparable || item === undefined) return [];
    if (partner === null || partner === undefined) {
      const help = "Keep this image, then click another one: same class or not?";
      return [textButton("Compare with another image", () => this.compare(item), help)];
    }
    const end = textButton("End", () => this.compare(null), "End the comparison");
    const box = h("section", { class: "pair", "aria-label": "Two images compared" });
    if (partner !== item) {
      const pictures = h("span", "pictures", picture(data, partner), picture(data, item));
      box.append(h("div", "pairHead", pictures, this.name, end), this.table);
      this.load(`${ROUTES}/runs/${run}/pair/${partner}/${item}.json`, data.given);
    } else {
      box.append(h("div", "pairHead", h("span", "words", "Now click another image, on the map or in the list."), end));
    }
    return [box];
  }

  private load(url: string, given?: boolean): void {
    if (url === this.request) return;
    this.request = url;
    this.name.textContent = "";
    this.table.replaceChildren(h("p", "quiet", "Measuring …"));
    fetchServer(url)
      .then(async (response) => {
        const answer = (await response.json()) as ImagePair & { error?: string };
        if (!response.ok) throw new Error(answer.error ?? response.statusText);
        if (this.request !== url) return;
        this.name.textContent = pairName(answer.classes);
        this.table.replaceChildren(...tableOf(answer, given));
      })
      .catch((error: unknown) => {
        if (this.request !== url) return;
        this.request = "";
        this.table.replaceChildren(h("p", "quiet", messageOf(error)));
      });
  }
}

function picture(data: WithSubject, item: number): HTMLElement {
  const node = h("span", { class: "picture", title: `test image ${grouped(item)}` });
  if (data.sprites) Object.assign(node.style, tileStyle(data.sprites, item, PICTURE_PX));
  return node;
}

const pairName = ([first, second]: ImagePair["classes"]): string =>
  first === second ? `Both of class ${first}` : `${first} and ${second}`;

function tableOf({ spaces, same, pairs }: ImagePair, given: boolean | undefined): HTMLElement[] {
  const head = h("tr", null, ...["space", "distance", "threshold", "verdict"].map((title) => h("th", null, title)));
  const rows = spaces.map((space) => {
    const right = space.says_same === same;
    const accuracy = `This threshold gets ${(100 * space.accuracy).toFixed(1)} % of the pairs right`;
    return h(
      "tr",
      { "data-space": space.name },
      h("th", null, space.name),
      h("td", null, space.distance.toPrecision(3)),
      h("td", { title: accuracy }, space.threshold.toPrecision(3)),
      h("td", right ? "right" : "wrong", verdict(space, same)),
    );
  });
  return [h("table", null, head, ...rows), h("p", "quiet", thresholdSentence(pairs, given))];
}
