// Moves the points while a person drags a setting: a worker goes on from where they stand, until the server has drawn them.
import { messageOf } from "../../lib/format.ts";
import { fetchServer, refusal, ROUTES } from "../../lib/server.ts";
import type { LayoutSettings } from "../../projection/live.ts";
import type { LayoutOrder, MovedFrame } from "../../projection/worker.ts";
import { boundsOf } from "../data/frames.ts";
import type { MapState } from "../data/state.ts";
import type { Playback } from "../playback/playback.ts";
import type { Scene } from "../render/scene.ts";
import type { SettingValue } from "../ui/layoutSettings.ts";

declare const LAYOUT_SCRIPT: string; // the file's name, which build.mjs knows

interface Parts {
  state: MapState;
  scene: Scene;
  playback: Playback;
  /** Ask the server for the map with these settings, of this step where it has several. */
  ask: (asked: { values: Record<string, SettingValue>; step: number | null }) => void;
  refresh: () => void;
}

export class LayoutMover {
  private worker: Worker | null = null;
  private items = new Int32Array(0);
  private key = ""; // of the points that the worker has
  private taken: Promise<void> = Promise.resolve();
  private changed: Record<string, SettingValue> = {};
  private kept = 0;
  private present = new Uint8Array(0);

  constructor(private parts: Parts) {}

  /** Hand the points of the shown step to a worker, before they are to move. */
  ready(): void {
    const { state, playback } = this.parts;
    const { run, view, begun, follows, settings } = state.data;
    const step = follows ? playback.shown?.step : undefined;
    const key = [run, view, begun, step].join();
    if (playback.moved || key === this.key || !playback.shown || !settings?.length) return;
    this.key = key;
    this.taken = this.take(
      `${ROUTES}/runs/${run}/moved/${view}.bin?${begun}${step === undefined ? "" : `&step=${step}`}`,
    );
    this.taken.catch((error: unknown) => this.fail(messageOf(error)));
  }

  /** Move on with another setting; when a drag is over, the server draws the map with it. */
  set(name: string, value: SettingValue, done: boolean): void {
    const { playback, ask } = this.parts;
    this.ready();
    this.changed[name] = value;
    const asked = { values: this.changed, step: playback.shown?.step ?? null };
    if (done) this.changed = {};
    this.taken.then(
      () => {
        if (!playback.moved) this.begin();
        this.tell({ do: "change", settings: { [name]: value } });
        if (done) ask(asked);
      },
      () => {
        if (done) ask(asked); // it is drawn, though it could not be moved
      },
    );
  }

  /** The server shows the same map as before: no other one comes. */
  release(): void {
    if (this.parts.playback.moved) this.parts.playback.hold(null);
  }

  destroy(): void {
    this.worker?.terminate();
  }

  private async take(url: string): Promise<void> {
    const response = await fetchServer(url);
    if (!response.ok) throw await refusal(response, "The points of this map");
    const buffer = await response.arrayBuffer();
    const [n] = new Int32Array(buffer, 0, 1);
    this.items = new Int32Array(buffer, 4, n);
    const rows = new Float32Array(buffer, 4 + 4 * n);
    const { picture, settings = [] } = this.parts.state.data;
    const values = Object.fromEntries(settings.map(({ name, value }) => [name, value]));
    if (!this.worker) {
      this.worker = new Worker(new URL(LAYOUT_SCRIPT, import.meta.url), { type: "module" });
      this.worker.onmessage = ({ data }: MessageEvent<MovedFrame>) => this.show(data);
      this.worker.onerror = () =>
        this.fail("The part of this page that moves points could not be loaded; reload the page.");
    }
    const all = { metric: "euclidean", perplexity: 30, neighbors: 15, min_dist: 0.1, attraction: 1, ...values };
    this.tell({
      do: "take",
      rows,
      d: rows.length / n,
      settings: { ...all, method: picture?.method } as LayoutSettings,
    });
  }

  private begin(): void {
    const { scene, playback } = this.parts;
    if (!scene.frame || !playback.shown) return;
    const { xy } = scene.frame;
    this.tell({ do: "place", positions: this.placesIn(xy) });
    this.kept = 0;
    this.present = new Uint8Array(this.parts.state.model.n);
    for (const item of this.items) this.present[item] = 1;
    playback.hold(playback.shown);
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
    playback.hold({ ...moved, faithfulness, note: `you move these${others}` });
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
