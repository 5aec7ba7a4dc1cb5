// A t-SNE or UMAP of a training in this tab: a second worker lays out each snapshot from where the one before stands.
import type { RunEvent } from "../protocol.ts";
import { stream } from "../lib/eventStream.ts";
import type { LayoutSettings } from "../projection/live.ts";
import type { LaidOut, Order, Word } from "./worker.ts";
import { SteadyBox, quantized } from "./projection.ts";

export const METHODS = { pca: "PCA", tsne: "t-SNE", umap: "UMAP" };
export type Method = keyof typeof METHODS;

export const USUAL: Omit<LayoutSettings, "method"> = {
  metric: "euclidean",
  perplexity: 30,
  attraction: 1,
  neighbors: 15,
  min_dist: 0.1,
  curvature: 0,
};
const PAST = 20; // snapshots drawn of those that were there before the map
let made = 0;

/** What is drawn: the snapshots so far (n × d each), of `steps` in all. */
export interface Snapshots {
  run: string;
  steps: number;
  kept: { step: number; rows: Float32Array; d: number }[];
  ended: boolean;
}

export class TabLayout {
  /** Name of the map, as of a server's projection. */
  readonly pid: string;
  private worker: Worker;
  positions = new Float32Array(0);
  private box = new SteadyBox();
  private lines = 0;
  private at = -1; // of the snapshots, the last one drawn
  private isBusy = false;
  private readonly past: number;
  private readonly stride: number;

  constructor(
    script: string,
    private of: Snapshots,
    private settings: LayoutSettings & { method: Method },
    private tell: { trouble(sentence: string): void; drawn(): void },
    /** Where the points stand, for a map that goes on with the newest snapshot; otherwise it begins with the first. */
    private from: Float32Array | null = null,
  ) {
    const { method } = settings;
    this.pid = `${method}-${++made}`;
    this.past = from ? -1 : of.kept.length - 1;
    this.stride = Math.ceil(of.kept.length / PAST);
    this.worker = new Worker(script, { type: "module" });
    this.worker.onmessage = ({ data }: MessageEvent<Word>) => {
      if (data.says === "laid out") this.take(data);
      else if (data.says === "trouble") tell.trouble(data.sentence);
    };
    this.worker.onerror = () =>
      tell.trouble("The part of this page that draws maps could not be loaded; reload the page.");
    this.feed([{ event: "started", method, training_steps: of.steps }]);
    this.turn();
  }

  /** Draw the next snapshot, once the one before is drawn: after those of the past the newest, whatever came between. */
  turn(): void {
    const { kept } = this.of;
    if (this.isBusy || this.at === kept.length - 1) return;
    this.at = this.at < this.past ? Math.min(this.past, this.at + this.stride) : kept.length - 1;
    const { rows, d } = kept[this.at];
    this.isBusy = true;
    const { settings, from, isEnd: isLast } = this;
    this.worker.postMessage({ do: "lay out", rows, d, settings, isLast, from } satisfies Order);
    this.from = null;
  }

  get method(): Method {
    return this.settings.method;
  }

  private get isEnd(): boolean {
    return this.of.ended && this.at === this.of.kept.length - 1;
  }

  stop(): void {
    this.worker.terminate();
  }

  private take({ positions, kept }: LaidOut): void {
    this.isBusy = false;
    this.positions = positions;
    const { of } = this;
    const { step } = of.kept[this.at];
    const ended = this.isEnd;
    const n = positions.length / 2;
    if (!positions.every(Number.isFinite))
      return this.tell.trouble("This layout has no numbers any more; choose it again.");
    const { meta: frame, data } = quantized(positions, this.box.around(positions), ended ? "all" : "tracked");
    const faithfulness = { neighbors_kept: kept / 10, k: 10, measured: n, n };
    const events: RunEvent[] = [{ event: "frame", iteration: step, of: of.steps, step, frame, faithfulness }];
    if (ended) events.push({ event: "finished", frame, iteration: step, faithfulness });
    this.feed(events, { [frame.id]: new Uint8Array(data.buffer) });
    if (!ended) return this.turn();
    this.feed([{ event: "end" }]);
    this.tell.drawn();
  }

  private feed(events: RunEvent[], frames: Record<string, Uint8Array<ArrayBuffer>> = {}): void {
    stream.feed({ run: this.of.run, pid: this.pid, events, frames, from: this.lines });
    this.lines += events.length;
  }
}
