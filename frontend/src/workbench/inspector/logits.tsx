// The scores that a loss with class weights gives the pinned image, before and after its margin, as bars.
import { maxOf, minOf } from "../../lib/extent.ts";
import { Term } from "../../lib/panel.tsx";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import type { Logits } from "../../protocol.ts";
import { Details } from "../details.tsx";
import { useAnswer } from "../../lib/hooks.ts";
import { useView } from "../hooks.ts";
import type { ViewStore } from "../store.ts";

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
  if (own === null) return "The training did not see this class, so none of the scores is its own.";
  const difference = before[own] - after[own];
  const [without, with_] = [before, after].map((scores) => probability(scores, own).toFixed(3));
  if (Math.abs(difference) <= SAME * Math.max(1, Math.abs(before[own])))
    return `No margin. Probability of the own class: ${without}.`;
  return `The margin takes ${difference.toPrecision(3)} from the own class's score: its probability falls from ${without} to ${with_}, and the loss goes on pulling.`;
}

interface Props {
  run?: string;
  item: number;
  names: string[];
  store: ViewStore;
}

/** Closed, they are not asked for. */
export function LogitsView({ run, item, names, store }: Props) {
  const isOpen = useView(store, "open").has("logits");
  const url = isOpen ? `${ROUTES}/runs/${run}/logits/${item}.json` : null;
  const { found, trouble } = useAnswer(url, (url) => fetchJson<Logits>(url, "The logits"));
  return (
    <Details class="logits" store={store} name="logits">
      <summary>
        <Term term="logit">Logits</Term>
      </summary>
      <div class="body" data-item={found && item}>
        {found && <Bars {...found} names={names} />}
        {trouble && <p class="quiet">{trouble}</p>}
      </div>
    </Details>
  );
}

function Bars({ names, ...logits }: Logits & { names: string[] }) {
  const { before, after, classes, own, norm } = logits;
  const rows = shownRows(logits);
  const values = rows.flatMap((row) => [before[row], after[row]]);
  const [low, high] = [minOf(values, 0), maxOf(values, 0)];
  const share = (value: number) => (100 * (value - low)) / (high - low || 1);
  const bar = (value: number, kind: string) => {
    const [from, to] = [share(Math.min(0, value)), share(Math.max(0, value))];
    return <span class={`bar ${kind}`} style={{ left: `${from}%`, width: `${to - from}%` }} />;
  };
  return (
    <>
      <p class="quiet">{marginSentence(logits)}</p>
      <div class="bars">
        {rows.map((row) => [
          <span class={row === own ? "name own" : "name"}>{names[classes[row]]}</span>,
          <span class={row === own ? "track own" : "track"}>
            {bar(before[row], "before")}
            {row === own && bar(after[row], "after")}
          </span>,
          <span class="value">{before[row].toFixed(2) + (row === own ? ` → ${after[row].toFixed(2)}` : "")}</span>,
        ])}
      </div>
      <p class="quiet">
        {`Before the margin, and for the own class after it. The embedding's length is ‖f‖ = ${norm.toPrecision(3)}, at the end of the run.`}
      </p>
    </>
  );
}
