// Moves the points while a person drags a setting: a worker goes on from where they stand, until the server has drawn them.
import { packBits } from "../../lib/base64.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { fetchAnswer, ROUTES } from "../../lib/server.ts";
import type { LayoutSettings } from "../../projection/live.ts";
import type { LayoutOrder, MovedFrame } from "../../projection/worker.ts";
import type { LayoutSetting } from "../../protocol.ts";
import { boundsOf } from "../data/frames.ts";
import type { Entry } from "../data/timeline.ts";
import type { SettingValue } from "../ui/layoutSettings.ts";
import type { MapParts } from "./parts.ts";

// Which build.mjs knows: the name of the script, or the script itself, for a page that has no other files.
declare const LAYOUT_SCRIPT: string;
declare const LAYOUT_CODE: string;

const MOST_ALONE = 2000; // images that a page projects without a server
const FEWEST_ALONE = 5;
export const METHODS: Record<string, string> = { tsne: "t-SNE", umap: "UMAP", pca: "PCA" };

export class LayoutMover {
  private worker: Worker | null = null;
  private items = new Int32Array(0);
  private key = ""; // of the points that the worker has
  private taken: Promise<void> = Promise.resolve();
  private changed: Record<string, SettingValue> = {};
  private kept = 0;
  private present = new Uint8Array(0);

  constructor(private parts: Pick<MapParts, "state" | "scene" | "playback" | "send" | "refresh">) {}

  /** Hand the points of the shown step to a worker, before they are to move. */
  ready(): void {
    const { state, playback } = this.parts;
    const { run, view, begun, follows, settings } = state.data;
    const step = follows ? playback.shown?.step : undefined;
    const key = [run, view, begun, step].join();
    if (state.alone || playback.moved || key === this.key || !playback.shown || !settings?.length) return;
    if (!this.isMoved()) return;
    this.key = key;
    this.taken = this.take(this.address(step));
    this.taken.catch((error: unknown) => this.fail(messageOf(error)));
  }

  /** Project these images alone, from nothing, as long as they move. */
  async project(mask: ArrayLike<number>): Promise<void> {
    const { state, playback, scene } = this.parts;
    const items = Int32Array.from({ length: mask.length }, (_, i) => i).filter((i) => mask[i]);
    if (items.length < FEWEST_ALONE || items.length > MOST_ALONE)
      return this.fail(
        `This page projects ${FEWEST_ALONE} to ${grouped(MOST_ALONE)} points; ${grouped(items.length)} are selected.`,
      );
    this.key = "";
    try {
      const method = state.alone?.method ?? "tsne";
      await this.take(this.address(), items, method);
      const last = playback.entries.at(-1); // of which these embeddings are
      if (!last) return;
      playback.seek(playback.entries.length - 1);
      this.hold(last);
      state.alone = { bits: packBits(Uint8Array.from(mask)), method, settings: this.settingsAlone(method) };
      state.store.set({ isolated: null, selected: null, reason: null });
      scene.camera.goHome();
      this.tell({ do: "change", settings: {} });
    } catch (error) {
      this.fail(messageOf(error));
    }
  }

  private settingsAlone(method: LayoutSettings["method"]): LayoutSetting[] {
    const choices = Object.values(METHODS);
    const help = "method by which these points are drawn";
    const own = this.parts.state.data.layouts?.[method] ?? [];
    return [
      { name: "method", help, value: METHODS[method], choices, minimum: 0, maximum: 0, step: 0 },
      ...own.map((one) => ({ ...one, value: this.changed[one.name] ?? one.value })),
    ];
  }

  /** Move on with another setting; when a drag is over, the server draws the map with it. */
  set(name: string, value: SettingValue, done: boolean): void {
    const { state, playback } = this.parts;
    this.ready();
    this.changed[name] = value;
    if (state.alone) return this.setAlone(name, value);
    const asked = { values: this.changed, step: playback.shown?.step ?? null }; // where a map has several steps
    const ask = () => this.parts.send("settings", asked);
    if (done) this.changed = {};
    if (!this.isMoved()) return done ? ask() : undefined; // the server alone draws by this method
    this.taken.then(
      () => {
        if (!playback.moved) this.begin();
        this.tell({ do: "change", settings: { [name]: value } });
        if (done) ask();
      },
      () => {
        if (done) ask(); // it is drawn, though it could not be moved
      },
    );
  }

  private isMoved(): boolean {
    return (this.parts.state.data.picture?.method ?? "") in METHODS;
  }

  private setAlone(name: string, value: SettingValue): void {
    const { alone } = this.parts.state;
    const method = Object.keys(METHODS).find((one) => METHODS[one] === value) as LayoutSettings["method"] | undefined;
    if (name === "method" && method && alone) {
      this.parts.state.alone = { ...alone, method, settings: this.settingsAlone(method) };
      this.parts.refresh();
    }
    this.tell({ do: "change", settings: { [name]: name === "method" ? method : value } });
  }

  /** The server shows the same map as before: no other one comes. */
  release(): void {
    this.parts.state.alone = null;
    if (this.parts.playback.moved) this.parts.playback.hold(null);
  }

  destroy(): void {
    this.worker?.terminate();
  }

  private address(step?: number): string {
    const { run, view, begun } = this.parts.state.data;
    return `${ROUTES}/runs/${run}/moved/${view}.bin?${begun}${step === undefined ? "" : `&step=${step}`}`;
  }

  /** Hand the worker the points at an address, or `some` of them. */
  private async take(
    url: string,
    some?: Int32Array<ArrayBuffer>,
    method = this.parts.state.data.picture?.method,
  ): Promise<void> {
    const buffer = await (await fetchAnswer(url, "The points of this map")).arrayBuffer();
    const [n] = new Int32Array(buffer, 0, 1);
    const [curvature] = new Float32Array(buffer, 4, 1);
    const all = new Float32Array(buffer, 8 + 4 * n);
    const d = all.length / n;
    this.items = some ?? new Int32Array(buffer, 8, n);
    const rows = some ? rowsOf(all, d, some) : all;
    const { settings = [] } = this.parts.state.data;
    const values = Object.fromEntries(some ? [] : settings.map(({ name, value }) => [name, value]));
    if (some) this.changed = {};
    if (!this.worker) {
      const script = LAYOUT_CODE
        ? URL.createObjectURL(new Blob([LAYOUT_CODE], { type: "text/javascript" }))
        : new URL(LAYOUT_SCRIPT, import.meta.url);
      this.worker = new Worker(script, { type: LAYOUT_CODE ? "classic" : "module" }); // a file's page has no modules
      this.worker.onmessage = ({ data }: MessageEvent<MovedFrame>) => this.show(data);
      this.worker.onerror = () =>
        this.fail("The part of this page that moves points could not be loaded; reload the page.");
    }
    const usual = { metric: "euclidean", perplexity: 30, neighbors: 15, min_dist: 0.1, attraction: 1 };
    this.tell({ do: "take", rows, d, settings: { ...usual, ...values, method, curvature } as LayoutSettings });
  }

  private begin(): void {
    const { scene, playback } = this.parts;
    if (!scene.frame || !playback.shown) return;
    const { xy } = scene.frame;
    this.tell({ do: "place", positions: this.placesIn(xy) });
    this.hold(playback.shown);
  }

  private hold(shown: Entry): void {
    this.kept = 0;
    this.present = new Uint8Array(this.parts.state.model.n);
    for (const item of this.items) this.present[item] = 1;
    this.parts.playback.hold(shown);
  }

  private placesIn(xy: Float32Array): Float32Array {
    const places = new Float32Array(2 * this.items.length);
    this.items.forEach((item, row) => places.set(xy.subarray(2 * item, 2 * item + 2), 2 * row));
    return places;
  }

  private show({ positions, kept }: MovedFrame): void {
    const { scene, state, playback, refresh } = this.parts;
    const { moved } = playback;
    if (!moved) return; // another map has come, or the player was used
    const { n } = state.model;
    const { items, present } = this;
    const xy = new Float32Array(2 * n);
    for (let row = 0; row < items.length; row++) {
      xy[2 * items[row]] = positions[2 * row];
      xy[2 * items[row] + 1] = positions[2 * row + 1];
    }
    scene.show({ xy, present, count: items.length, bounds: boundsOf(positions) }, 0);
    if (kept !== undefined) this.kept = kept;
    const faithfulness = { neighbors_kept: this.kept / 10, k: 10, measured: items.length, n };
    const others = items.length < n ? ": the others follow when it is drawn" : "";
    playback.hold({ ...moved, faithfulness, note: state.alone ? "" : `you move these${others}` });
    if (kept !== undefined) refresh();
    requestAnimationFrame(() => this.tell({ do: "next" }));
  }

  private tell(order: LayoutOrder): void {
    this.worker?.postMessage(order);
  }

  private fail(sentence: string): void {
    this.key = "";
    this.release();
    this.parts.state.trouble = sentence;
    this.parts.refresh();
  }
}

/** The rows of these items, of all (n × d). */
function rowsOf(all: Float32Array, d: number, items: Int32Array): Float32Array {
  const rows = new Float32Array(items.length * d);
  items.forEach((item, i) => rows.set(all.subarray(item * d, (item + 1) * d), i * d));
  return rows;
}
