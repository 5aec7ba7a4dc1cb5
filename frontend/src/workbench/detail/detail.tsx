// A closer look, below the scores: class by class, or one image's neighbors over the training. Closed until asked for.
import { bus } from "../../lib/bus.ts";
import { grouped, ITEM, sentence } from "../../lib/format.ts";
import { useAnswer } from "../../lib/hooks.ts";
import { dataOf, panel } from "../../lib/panel.tsx";
import { fetchPerImage, type PerImage } from "../../lib/perImage.ts";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { readTheme } from "../../lib/theme.ts";
import type { DetailProps, NeighborHistory } from "../../protocol.ts";
import { useBus, useFrame, useView } from "../hooks.ts";
import { pageStore, type ViewStore } from "../store.ts";
import { ClassScores, whereOf } from "./classScores.tsx";
import style from "./detail.css";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

const SIDE_PX = 28; // about

/** The history of an image; the column of the step that the map shows is marked, and scrolled to. */
export function Timeline({
  history,
  step,
  ...source
}: DetailProps & { history: NeighborHistory; step: number | null }) {
  const strip = useRef<HTMLOListElement>(null);
  const shown = useRef<NeighborHistory | null>(null);
  const columns = useMemo(() => columnsOf(history, source), [history]); // a frame changes none
  useLayoutEffect(() => {
    const node = strip.current!;
    const current = Math.max(
      0,
      history.steps.findLastIndex((each) => each <= (step ?? Infinity)),
    );
    [...node.children].forEach((one, i) => one.toggleAttribute("data-here", i === current));
    const one = node.children[current] as HTMLElement | undefined;
    const isNew = shown.current !== history;
    shown.current = history;
    if (!one) return;
    const [left, right] = [node.scrollLeft, node.scrollLeft + node.clientWidth];
    if (isNew || one.offsetLeft < left || one.offsetLeft + one.offsetWidth > right)
      node.scrollLeft = one.offsetLeft - node.clientWidth / 2;
  }, [history, step]);
  return (
    <div class="history">
      <ol class="strip" ref={strip} children={columns} />
    </div>
  );
}

function columnsOf(
  { steps, near, labels, label, item }: NeighborHistory,
  { run, classes, sprites, noun = ITEM }: DetailProps,
) {
  const source = {};
  const tile = (other: number) =>
    sprites.urls.length
      ? tileStyle(sprites, other, Math.max(1, Math.round(SIDE_PX / sprites.tile)) * sprites.tile)
      : undefined;
  const hover = (target: number | null) => () => bus.emit("hover", { run, item: target, source });
  return steps.map((step, i) => {
    const right = near[i].filter(([other]) => labels[other] === label).length;
    const what = item === null ? `of class ${classes[label]}` : "right";
    const title = `Step ${grouped(step)}: ${right} of ${near[i].length} ${what}. Click to go there.`;
    return (
      <li>
        <button title={title} aria-label={title} data-step={step} onClick={() => bus.emit("seek", { run, step })}>
          <span class="step">{grouped(step)}</span>
          <span class="share" style={{ "--share": String(right / Math.max(1, near[i].length)) }} />
          {near[i].map(([other, far]) => (
            <span
              class={labels[other] === label ? "frame right" : "frame wrong"}
              data-item={other}
              title={`${sentence(noun)} ${grouped(other)}, ${classes[labels[other]]}, ${far} away`}
              onPointerEnter={hover(other)}
              onPointerLeave={hover(null)}
            >
              <span class="tile" style={tile(other)} />
              <span class="far">{Number(far).toPrecision(2)}</span>
            </span>
          ))}
        </button>
      </li>
    );
  });
}

/** Caption: the item, its candidates and the distance. */
export function captionOf(
  { item, label, among, nets, curved }: NeighborHistory,
  classes: string[],
  metric: string,
  noun = ITEM,
): string {
  if (item === null) {
    return `Yours (predicted ${classes[label]}): nearest neighbors at each checkpoint, among the ${grouped(among)} tracked ${noun}s, by ${curved ? "hyperbolic" : "Euclidean"} distance.`;
  }
  const how = nets ? " Not in the tracked subset; embedded from checkpoints." : "";
  const by = metric === "cosine" ? "cosine" : curved ? "hyperbolic" : "Euclidean";
  return `${sentence(noun)} ${grouped(item)}, class ${classes[label]}: nearest neighbors at each snapshot, among the ${grouped(among)} tracked ${noun}s, by ${by} distance.${how}`;
}

const TITLES = { classes: "By class", history: "Neighbors over time" };

/** What is shown: the judged images at a step, or the neighbors of an image. */
type Shown = { scores: PerImage; step: number | null } | { history: NeighborHistory | null; metric: string };

export default panel<DetailProps, { store?: ViewStore }>(style, ({ host, ...data }) => {
  const { store = pageStore, parentElement } = host;
  const { run, begun, classes } = data;
  const [what, setWhat] = useState<keyof typeof TITLES | null>(null);
  const [own, setOwn] = useState<NeighborHistory | null>(null); // of a picture of one's own; null: of what is pinned
  const [item, metric] = [useView(store, "pinned"), useView(store, "metric")];
  const { step } = useFrame(run);
  const [settled, settle] = useState(step);
  const root = useRef<HTMLElement>(null);
  const [scrolled, setScrolled] = useState(true); // to what was opened
  useBus("open-detail", ({ run: of, what: asked, history = null }) => {
    if (of !== run) return;
    const closes = asked === what && history === own;
    setWhat(closes ? null : asked);
    setOwn(history);
    setScrolled(false);
    last.current = { last: null };
  });
  useBus("pinned", () => setOwn(null));
  useBus("query-history", ({ run: of, history }) => of === run && setOwn((before) => before && history));
  useLayoutEffect(() => setOwn(null), [run, begun]);

  const [question, ask] = useMemo((): [string | null, () => Promise<Shown>] => {
    const of = `${ROUTES}/runs/${run}`;
    if (what === "classes")
      return [
        `${of} ${begun} ${settled}`,
        async () => ({ scores: await fetchPerImage(run, begun, settled), step: settled }),
      ];
    if (own || item === null)
      return [
        what && `${of} ${own ? JSON.stringify(own.near) : null}`,
        () => Promise.resolve({ history: own, metric }),
      ];
    const url = `${of}/neighbor-history/${item}.json?metric=${metric}&v=${begun}`;
    return [what && url, async () => ({ history: await fetchJson<NeighborHistory>(url, "The neighbors"), metric })];
  }, [run, begun, what, settled, own, item, metric]);
  const newest = useAnswer(question, ask);
  const isAnswered = Boolean(newest.found ?? newest.trouble);
  useLayoutEffect(() => {
    if (isAnswered || what !== "classes") settle(step); // one question at a time: steps are left out, never queued
  }, [run, step, isAnswered, what]);
  const last = useRef<typeof newest>({ last: null });
  if (newest.found || newest.trouble) last.current = newest; // what is there stays until there is something else
  const { found, trouble } = last.current;

  useLayoutEffect(() => {
    const place = parentElement instanceof ShadowRoot ? parentElement.host : parentElement;
    (place as HTMLElement).hidden = !what; // of no height, it has a gap around it
    if (scrolled || !(found ?? trouble)) return;
    setScrolled(true);
    if (what)
      root.current?.scrollIntoView?.({ block: "end", behavior: readTheme(root.current).still ? "auto" : "smooth" });
  });
  const isSeen = Boolean(found ?? trouble);
  const classesView = useMemo(
    () => found && "scores" in found && <ClassScores {...data} {...found} />,
    [found, data.labels_url, run],
  );
  const caption =
    found &&
    ("scores" in found
      ? `On ${whereOf({ ...data, ...found })}`
      : found.history && captionOf(found.history, classes, found.metric, data.noun));
  return (
    <section
      ref={root}
      class="detail"
      hidden={!what}
      {...dataOf({
        what: what ?? "",
        ready: isSeen || null,
        step: (found && "scores" in found ? found.step : step) ?? "",
      })}
    >
      <header>
        <h3>{what && TITLES[what]}</h3>
        <span class="quiet">{caption}</span>
        <button class="close" onClick={() => setWhat(null)} children="Close" />
      </header>
      <div class="body">
        {what && trouble && <p class="quiet">{trouble}</p>}
        {what === "classes" && classesView}
        {what === "history" &&
          found &&
          "history" in found &&
          (found.history ? (
            <Timeline {...data} history={found.history} step={step} />
          ) : (
            <p class="quiet">Pin a point to see its neighbors over time.</p>
          ))}
      </div>
    </section>
  );
});
