// Beside the map while a net trains: a pair or a triplet of the batch, its distances, and what the loss does with it.
import type { Source } from "../protocol.ts";
import { onAnimationFrame, RunSubscription } from "../charts/runSubscription.ts";
import { bus } from "../lib/bus.ts";
import { h, setData } from "../lib/dom.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { maxOf } from "../lib/extent.ts";
import { grouped } from "../lib/format.ts";
import { component } from "../lib/mount.ts";
import { momentOf } from "../lib/neighbors.ts";
import { readTheme } from "../lib/theme.ts";
import type { LoadedBatch } from "./batch.ts";
import { NEGATIVE_COLOR, POSITIVE_COLOR } from "./batchDrawing.ts";
import { BatchLoader } from "./batchLoader.ts";
import style from "./batchStrip.css";
import { termDetail } from "./termDetail.ts";

class BatchStrip {
  private draw = onAnimationFrame(() => this.render());
  private loader = new BatchLoader(() => this.draw());
  private body = h("section", { class: "batch-strip", "aria-label": "The batch that the loss sees" });
  private source: Source | null = null;
  private trains = false;
  private subscription = new RunSubscription(
    () => {
      this.trains = false;
      this.loader.reset();
      this.draw();
    },
    (event) => this.onEvent(event),
  );
  private leave = bus.on("frame", ({ run }) => run === this.source?.run && this.draw());

  constructor(private parent: ParentNode) {
    parent.append(this.body);
  }

  update(source: Source): void {
    this.source = source;
    const { run, begun, events_url } = source;
    this.subscription.subscribe({ run, begun, events_url });
    this.draw();
  }

  private onEvent(event: StreamEvent): void {
    if (event.event === "batch") this.loader.add(event.step);
    if (event.event === "step") this.trains = true;
    if (["finished", "stopped", "failed", "end"].includes(event.event)) this.trains = false;
    this.draw();
  }

  private render(): void {
    const { loader, source, trains, parent } = this;
    if (source && trains) {
      loader.follow(momentOf(source.run));
      loader.loadBatch(source.run, source.begun);
    }
    const { batch } = loader;
    const isShown = trains && batch !== null && batch.tuples.kind !== "classes" && batch.rows.length > 0;
    if (parent instanceof ShadowRoot) (parent.host as HTMLElement).hidden = !isShown;
    if (isShown) this.show(batch);
  }

  private show(batch: LoadedBatch): void {
    const shade = readTheme(this.body).dark ? "dark" : "light";
    const index = Math.max(0, batch.hardness.indexOf(maxOf(batch.hardness)));
    const active = Number.isFinite(batch.active) ? ` · active terms ${Math.round(100 * batch.active)} %` : "";
    this.body.replaceChildren(
      h("p", null, "Batch of step ", h("strong", null, grouped(batch.step)), active),
      ...termDetail(batch, index, POSITIVE_COLOR[shade], NEGATIVE_COLOR[shade]),
      h("p", "pull", pullOf(batch, index)),
    );
    setData(this.body, { step: batch.step });
  }

  destroy(): void {
    this.leave();
    this.subscription.unsubscribe();
    this.draw.cancel();
    this.body.remove();
  }
}

/** What the loss does with a comparison, in a sentence. */
function pullOf({ rows, hardness, groups, tuples }: LoadedBatch, index: number): string {
  if (!hardness[index]) return "All are far enough apart: the loss leaves them alone.";
  if (tuples.kind === "triplets") return "The loss pulls the positive to the anchor, and pushes the negative away.";
  const [first, second] = rows[index].map((image) => groups[image]);
  return first === second ? "The loss pulls these two together." : "The loss pushes these two apart.";
}

export default component(style, BatchStrip);
