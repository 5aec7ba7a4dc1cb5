// The scores that a loss with class weights gives the pinned image, before and after its margin, as bars.
import { maxOf, minOf } from "../../lib/extent.ts";
import type { Logits } from "../../protocol.ts";
import { h } from "../../lib/dom.ts";
import { explain } from "../../lib/glossary.ts";
import { messageOf } from "../../lib/format.ts";
import { ROUTES, fetchServer } from "../../lib/server.ts";
import type { Inspected } from "./captions.ts";

const MOST = 10; // classes shown
const SAME = 1e-4; // relative: two scores are equal

/** The share of the softmax that a class has. */
export function probability(scores: number[], row: number): number {
  const most = maxOf(scores);
  const shares = scores.map((score) => Math.exp(score - most));
  return shares[row] / shares.reduce((sum, share) => sum + share, 0);
}

/** The rows shown, highest score first: the best ten, and the image's own class. */
export function shownRows({ before, own }: Pick<Logits, "before" | "own">): number[] {
  const order = before.map((_, row) => row).sort((a, b) => before[b] - before[a]);
  const rows = order.slice(0, MOST);
  return own === null || rows.includes(own) ? rows : [...rows.slice(0, -1), own];
}

/** The effect of the margin, in a sentence. */
export function marginSentence({ before, after, own }: Logits): string {
  if (own === null) return "The training did not see this image's class, so none of the scores is its own.";
  const difference = before[own] - after[own];
  const [without, with_] = [before, after].map((scores) => probability(scores, own).toFixed(3));
  if (Math.abs(difference) <= SAME * Math.max(1, Math.abs(before[own])))
    return `No margin. Probability of the own class: ${without}.`;
  return `The margin takes ${difference.toPrecision(3)} from the own class's score: its probability falls from ${without} to ${with_}, and the loss goes on pulling.`;
}

export class LogitsView {
  private body = h("div", "body");
  readonly node = h(
    "details",
    { class: "logits", toggle: () => this.load() },
    h("summary", null, explain(h("span", null, "Logits"), "logit")),
    this.body,
  );
  private request = "";
  private data: Inspected | null = null;

  /** Show the scores of the image in question; hidden where the run has none. */
  update(data: Inspected): void {
    this.data = data;
    this.node.hidden = !data.logits || data.subject?.item === undefined;
    this.load();
  }

  private load(): void {
    const { data } = this;
    if (!data?.logits || this.node.hidden || !this.node.open) return;
    const url = `${ROUTES}/runs/${data.run}/logits/${data.subject?.item}.json`;
    if (url === this.request) return;
    this.request = url;
    fetchServer(url)
      .then(async (response) => {
        const answer = (await response.json()) as Logits & { error?: string };
        if (!response.ok) throw new Error(answer.error ?? response.statusText);
        if (this.request === url) this.draw(answer, data.logits ?? []);
      })
      .catch((error: unknown) => {
        if (this.request === url) this.body.replaceChildren(h("p", "quiet", messageOf(error)));
      });
  }

  private draw(logits: Logits, names: string[]): void {
    const rows = shownRows(logits);
    const values = rows.flatMap((row) => [logits.before[row], logits.after[row]]);
    const [low, high] = [minOf(values, 0), maxOf(values, 0)];
    const share = (value: number) => (100 * (value - low)) / (high - low || 1);
    const bar = (value: number, kind: string) => {
      const node = h("span", `bar ${kind}`);
      const [from, to] = [share(Math.min(0, value)), share(Math.max(0, value))];
      Object.assign(node.style, { left: `${from}%`, width: `${to - from}%` });
      return node;
    };
    const lines = rows.flatMap((row) => {
      const own = row === logits.own;
      const after = own ? [bar(logits.after[row], "after")] : [];
      return [
        h("span", own ? "name own" : "name", names[logits.classes[row]]),
        h("span", own ? "track own" : "track", bar(logits.before[row], "before"), ...after),
        h("span", "value", logits.before[row].toFixed(2) + (own ? ` → ${logits.after[row].toFixed(2)}` : "")),
      ];
    });
    this.body.replaceChildren(
      h("p", "quiet", marginSentence(logits)),
      h("div", "bars", ...lines),
      h(
        "p",
        "quiet",
        `Before the margin, and for the own class after it. The embedding's length is ‖f‖ = ${logits.norm.toPrecision(3)}, at the end of the run.`,
      ),
    );
    this.body.dataset.item = String(this.data?.subject?.item ?? "");
  }
}
