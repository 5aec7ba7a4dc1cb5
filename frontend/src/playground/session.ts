// A training from its first frame to its end, as the events and frames that a server would send. Pure: no DOM.
import type { ReplayFrame, RunEvent } from "../protocol.ts";
import type { Bytes } from "../lib/base64.ts";
import { grouped } from "../lib/format.ts";
import { watch } from "./alarms.ts";
import { TRACKED, type DatasetContents, type Objective, type Settings } from "./contents.ts";
import { SteadyBox, basisOf, boxAround, project, quantized, type Basis } from "./projection.ts";
import { gridPictures } from "../standalone/drawnImage.ts";
import { nearestRows } from "../standalone/nearest.ts";
import { scoresOf } from "./scores.ts";
import { Training, type BatchStats } from "./training.ts";

const FRAME_MS = 75; // from a frame to the next, or twice as long as a frame takes: half of the time it trains
const MAX_SNAPSHOTS = 60; // that the replay keeps
const USUAL = 0.99; // the share of test images whose nearest neighbor is nearer than `usual_distance`

/** What a session sends: events, the frames that they name, and the embeddings of the test images as they are now. */
export interface News {
  events: RunEvent[];
  frames: Record<string, Bytes>;
  embeddings?: Float32Array<ArrayBuffer>;
  d?: number;
}

interface Snapshot {
  step: number;
  /** Of a grid of the plane, where the images are its points. */
  grid: Float32Array<ArrayBuffer> | null;
  embeddings: Float32Array<ArrayBuffer>;
}

export class Session {
  readonly training: Training;
  snapshots: Snapshot[] = [];
  basis: Basis | null = null;
  ended = false;
  private box = new SteadyBox();
  private every = 1; // of the snapshots, which is kept for the replay
  private taken = 0;
  private nextFrame = 0;
  private started: number;
  private stepStart: number;
  private alarms = watch();

  constructor(
    private data: DatasetContents,
    private settings: Settings,
    objective: Objective,
    private now: () => number = () => performance.now(),
  ) {
    this.started = this.stepStart = this.now();
    this.training = new Training(data, settings, objective);
  }

  /** The first event, and the map of the untrained net; the time of the training runs from its first step. */
  begin(): News {
    const { data, settings } = this;
    const { train, validation, test } = data.labels;
    const news = this.snapshot();
    const started: RunEvent = {
      event: "started",
      steps: settings.steps,
      train_images: train.length,
      validation_images: data.validation_images,
      test_images: test.length,
      scored_images: validation.length,
      device: "browser",
      precision: "float32",
      view: this.basis?.view ?? "fan",
      dims: this.basis?.components.length ?? 2,
      tracked: Math.min(TRACKED, test.length),
    };
    return { ...news, events: [this.timed(started), ...news.events] };
  }

  /** Train on one batch; a snapshot comes when it is due. */
  step(): News {
    if (!this.training.steps) this.started = this.stepStart = this.now();
    const stats = this.training.step();
    const { steps: step } = this.training;
    if (!Number.isFinite(stats.loss)) return this.failed(`a loss of ${stats.loss}`);
    const now = this.now();
    const event: RunEvent = {
      event: "step",
      step,
      ...rounded(stats),
      images_per_second: Math.round((1000 * this.batchSize) / Math.max(now - this.stepStart, 0.1)),
      cpu_seconds: this.seconds(),
    };
    const alarms = this.alarms.step(step, stats);
    this.stepStart = now;
    const news: News = { events: [event, ...alarms].map((one) => this.timed(one)), frames: {} };
    const { steps } = this.settings;
    if (step < steps && now < this.nextFrame) return news;
    const more = step < steps ? this.snapshot() : this.end("");
    this.stepStart = this.now();
    return { ...more, events: [...news.events, ...more.events] };
  }

  /** End now: all test images are embedded and scored, and all snapshots put on one map. */
  end(reason: string): News {
    const { training, data } = this;
    const { steps: step } = training;
    const { labels } = data;
    const embeddings = training.embedSplit("test");
    if (!embeddings.every(Number.isFinite)) return this.failed("NaN or infinite embeddings");
    this.ended = true;
    const basis = this.basisOf(embeddings);
    const last = { step, embeddings, grid: this.grid() };
    this.snapshots = [...this.snapshots.filter((one) => one.step < step), last];
    const positions = this.snapshots.map((one) => project(one.embeddings, basis));
    const box = boxAround(positions, 1.02, basis.components.length);
    const frames: News["frames"] = {};
    const replay = this.snapshots.map((one, i): ReplayFrame => {
      const { meta, data } = quantized(positions[i], box, one === last ? "all" : "tracked");
      frames[meta.id] = new Uint8Array(data.buffer);
      return { ...meta, step: one.step, ...bent(one.grid, basis) };
    });
    this.basis = basis;
    const { d } = training;
    const validation = training.embedSplit("validation");
    const distances = Array.from(
      { length: labels.test.length },
      (_, i) => nearestRows(embeddings, embeddings.subarray(i * d, (i + 1) * d), 1, i, training.curvature)[0][1],
    );
    const events: RunEvent[] = [
      ...(reason ? [{ event: "stopping", step } as const] : []),
      { event: "replay", view: basis.view, basis: "last", explained: basis.explained, frames: replay },
      {
        event: reason ? "stopped" : "finished",
        step,
        metrics: scoresOf(embeddings, labels.test, d, training.curvature),
        validation_metrics: scoresOf(validation, labels.validation, d, training.curvature),
        train_metrics: {},
        test_images: labels.test.length,
        usual_distance: distances.sort((a, b) => a - b)[Math.floor(USUAL * (distances.length - 1))],
        seconds: this.seconds(),
        cpu_seconds: this.seconds(),
        reason,
      },
    ];
    return { events: events.map((one) => this.timed(one)), frames, embeddings, d };
  }

  /** Go on with other settings: the learning rate at once, the loss and the miner from the next step on. */
  change(settings: Settings, objective: Objective): void {
    const { loss, miner } = this.settings;
    this.settings = { ...settings, net: this.settings.net, seed: this.settings.seed };
    this.training.change(this.settings);
    if (settings.loss !== loss || settings.miner !== miner) this.training.use(objective);
  }

  /** The neighbors and the place of an image of bytes: [item, distance], and [x, y]. */
  ask(
    image: Uint8Array,
    k: number,
  ): { embedding: Float32Array<ArrayBuffer>; near: [number, number][]; xy: number[] | null } {
    const embedding = this.training.embed(image);
    const rows = this.snapshots[this.snapshots.length - 1].embeddings;
    return {
      embedding,
      near: nearestRows(rows, embedding, k, -1, this.training.curvature),
      xy: this.basis && [...project(embedding, this.basis)],
    };
  }

  private snapshot(): News {
    const { training, data } = this;
    const { steps: step, d } = training;
    const begun = this.now();
    const embeddings = training.embedSplit("test", TRACKED);
    if (!embeddings.every(Number.isFinite)) return this.failed("NaN or infinite embeddings");
    this.basis = this.basisOf(embeddings);
    const positions = project(embeddings, this.basis);
    const { meta, data: frame } = quantized(
      positions,
      this.box.around(positions, this.basis.components.length),
      "tracked",
    );
    const metrics = scoresOf(training.embedSplit("validation"), data.labels.validation, d, training.curvature);
    const grid = this.grid();
    const events: RunEvent[] = [
      { event: "snapshot", step, frame: meta, metrics, scored_on: "validation", ...bent(grid, this.basis) },
      ...this.alarms.snapshot(step, metrics),
    ];
    this.keep({ step, embeddings, grid });
    this.nextFrame = begun + Math.max(FRAME_MS, 2 * (this.now() - begun));
    const frames = { [meta.id]: new Uint8Array(frame.buffer) };
    return { events: events.map((one) => this.timed(one)), frames, embeddings, d };
  }

  private grid = () => (this.data.framing.point ? this.training.embed(gridPictures()) : null);

  /** Keep a snapshot for the replay; of many only every second, fourth … */
  private keep(snapshot: Snapshot): void {
    if (this.taken++ % this.every === 0) this.snapshots.push(snapshot);
    else this.snapshots[this.snapshots.length - 1] = { ...snapshot };
    if (this.snapshots.length < 2 * MAX_SNAPSHOTS) return;
    this.snapshots = this.snapshots.filter((_, i) => i % 2 === 0);
    this.every *= 2;
  }

  private failed(symptom: string): News {
    this.ended = true;
    const { steps: step } = this.training;
    const rate = this.settings.learning_rate;
    const reason = `The training diverged: step ${grouped(step)} gave ${symptom}. Try a smaller learning rate than ${rate}.`;
    return { events: [this.timed({ event: "failed", step, reason })], frames: {} };
  }

  private basisOf = (embeddings: Float32Array): Basis =>
    basisOf(embeddings, this.data.labels.test, this.training.d, this.data.classes.length);

  private get batchSize(): number {
    return this.training.batchSize;
  }

  private seconds = (): number => Math.round(this.now() - this.started) / 1000;

  private timed = <Event extends RunEvent>(event: Event): Event => ({ ...event, time: Math.round(Date.now()) / 1000 });
}

/** Where the map of a basis has the corners of a grid, which is drawn in two dimensions only. */
function bent(grid: Float32Array<ArrayBuffer> | null, basis: Basis): { grid?: number[][] } {
  if (!grid || basis.components.length > 2) return {};
  const places = project(grid, basis);
  return { grid: Array.from({ length: places.length / 2 }, (_, i) => [places[2 * i], places[2 * i + 1]]) };
}

/** Six digits suffice for a curve. */
const rounded = (stats: BatchStats): BatchStats =>
  Object.fromEntries(
    Object.entries(stats).map(([name, value]) => [name, Number((value as number).toPrecision(6))]),
  ) as unknown as BatchStats;
