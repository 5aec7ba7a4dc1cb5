// Two pinned images: how far apart their pixels and their embeddings are, and what a threshold says of them.
import type { ImagePair, PairSpace, Partner } from "../../protocol.ts";
import { h, textButton } from "../../lib/dom.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { fetchServer } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { classOf, type WithSubject } from "./captions.ts";

const PICTURE_PX = 48;

/** What a threshold says, and whether that is right. */
export function verdict({ says_same }: Pick<PairSpace, "says_same">, same: boolean): string {
  return `${says_same ? "the same" : "different"}: ${says_same === same ? "right" : "wrong"}`;
}

/** Where the thresholds come from. */
export const thresholdSentence = (pairs: number): string =>
  `Each threshold is the one that gets most of ${grouped(pairs)} pairs of test images right, half of them of one class. ` +
  "Euclidean distances, pixels from 0 to 1, at the end of the run.";

export class PairView {
  private table = h("div", "table");
  private asked = "";

  /** `compare` begins (true) or ends the comparison with the image that is pinned now. */
  constructor(private compare: (begin: boolean) => void) {}

  /** What stands below the pinned image: a button, or the two images and their distances. */
  view(data: WithSubject): HTMLElement[] {
    const { partner } = data;
    if (!data.comparable || data.subject.item === undefined) return [];
    if (!partner) {
      const help = "Keep this image, then click another one: same class or not?";
      return [textButton("Compare with another image", () => this.compare(true), help)];
    }
    const end = textButton("End", () => this.compare(false), "End the comparison");
    const box = h("section", { class: "pair", "aria-label": "Two images compared" });
    if (partner.url) {
      const pictures = h("span", "pictures", picture(data, partner.item), picture(data, data.subject.item));
      box.append(h("div", "pairHead", pictures, h("span", "words", pairName(data, partner)), end), this.table);
      this.load(partner.url);
    } else {
      box.append(h("div", "pairHead", h("span", "words", "Now click another image, on the map or in the list."), end));
    }
    return [box];
  }

  private load(url: string): void {
    if (url === this.asked) return;
    this.asked = url;
    this.table.replaceChildren(h("p", "quiet", "Measuring …"));
    fetchServer(url)
      .then(async (response) => {
        const answer = (await response.json()) as ImagePair & { error?: string };
        if (!response.ok) throw new Error(answer.error ?? response.statusText);
        if (this.asked === url) this.table.replaceChildren(...tableOf(answer));
      })
      .catch((error: unknown) => {
        if (this.asked !== url) return;
        this.asked = "";
        this.table.replaceChildren(h("p", "quiet", messageOf(error)));
      });
  }
}

function picture(data: WithSubject, item: number): HTMLElement {
  const node = h("span", { class: "picture", title: `test image ${grouped(item)}` });
  if (data.sprites) Object.assign(node.style, tileStyle(data.sprites, item, PICTURE_PX));
  return node;
}

function pairName(data: WithSubject, partner: Partner): string {
  const [first, second] = [partner.label, data.subject.label].map((label) => classOf(data, label));
  return first === second ? `Both of class ${first}` : `${first} and ${second}`;
}

function tableOf({ spaces, same, pairs }: ImagePair): HTMLElement[] {
  const head = h("tr", null, ...["", "distance", "threshold", "verdict"].map((title) => h("th", null, title)));
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
  return [h("table", null, head, ...rows), h("p", "quiet", thresholdSentence(pairs))];
}
