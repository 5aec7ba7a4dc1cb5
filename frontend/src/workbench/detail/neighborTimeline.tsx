// Neighbors over time: the nearest neighbors of one image at every snapshot, one column per step; a click goes to that step.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { bus } from "../../lib/bus.ts";
import { grouped } from "../../lib/format.ts";
import { tileStyle } from "../../lib/sprites.ts";
import type { DetailProps, NeighborHistory } from "../../protocol.ts";

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

function columnsOf({ steps, near, labels, label, item }: NeighborHistory, { run, classes, sprites }: DetailProps) {
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
              title={`Test image ${grouped(other)}, ${classes[labels[other]]}, ${far} away`}
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

/** Caption: the image, its candidates and the distance. */
export function captionOf({ item, label, among, nets }: NeighborHistory, classes: string[], metric: string): string {
  if (item === null) {
    return `Your image (predicted ${classes[label]}): nearest neighbors at each checkpoint, among the ${grouped(among)} tracked test images, by Euclidean distance.`;
  }
  const how = nets ? " Not in the tracked subset; embedded from checkpoints." : "";
  const by = metric === "cosine" ? "cosine" : "Euclidean";
  return `Test image ${grouped(item)}, class ${classes[label]}: nearest neighbors at each snapshot, among the ${grouped(among)} tracked test images, by ${by} distance.${how}`;
}
