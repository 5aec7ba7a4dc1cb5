// A training in the page: the programs that Python wrote, run on batches that are drawn here. Pure: no DOM.
import { OPTIMIZERS, type Update } from "../program/optimizers.ts";
import { augment } from "../program/augment.ts";
import type { Numbers } from "../program/pointwise.ts";
import { Machine, Memory, check } from "../program/program.ts";
import { randomNumbers } from "../lib/random.ts";
import type { DatasetContents, Objective, PackedNet, PackedWeights, Settings, SplitName } from "./contents.ts";
import { maxOf } from "../lib/extent.ts";

function shuffled(items: number[], random: () => number): number[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

/**
 * Endless batches with `images` of each class, ordered by class: indices into `labels`. An epoch visits every image,
 * smaller classes again.
 */
export function* balanced(
  labels: ArrayLike<number>,
  classes: number,
  images: number,
  random: () => number,
): Generator<number[]> {
  const members = Array.from({ length: classes }, (): number[] => []);
  for (let i = 0; i < labels.length; i++) members[labels[i]].push(i);
  const batches = maxOf(members.map((own) => Math.ceil(own.length / images)));
  for (;;) {
    const orders = members.map((own) => shuffled(own, random));
    for (let batch = 0; batch < batches; batch++)
      yield orders.flatMap((order) =>
        Array.from({ length: images }, (_, i) => order[(batch * images + i) % order.length]),
      );
  }
}

/** Statistics of a batch, by the names of a `StepEvent`. */
export interface BatchStats {
  loss: number;
  active: number;
  positive_distance: number;
  negative_distance: number;
  terms_per_image: number;
}

interface Learned {
  weights: Numbers;
  gradient: Numbers;
  update: Update;
}

/** A net with one of its two ends, on its own memory; `weights` of another end are shared. */
class Net {
  readonly step: Machine;
  readonly embed: Machine;
  readonly weights: Record<string, Numbers> = {};

  constructor(packed: PackedNet, normalize: boolean, weights?: Record<string, Numbers>) {
    const programs = packed[normalize ? "sphere" : "free"]!;
    check(programs.net);
    check(programs.embed);
    const memory = new Memory([programs.net, programs.embed]);
    this.step = new Machine(programs.net, memory, weights);
    for (const { name, values } of packed.weights) {
      this.weights[name] = this.step.input(name);
      if (!weights) this.weights[name].set(floats(values));
    }
    this.embed = new Machine(programs.embed, memory, this.weights);
  }
}

export const floats = (values: Uint8Array): Float32Array => new Float32Array(values.slice().buffer);

export class Training {
  steps = 0;
  readonly weights: Record<string, Numbers>;
  private nets = new Map<boolean, Net>();
  private learned = new Map<boolean, Learned[]>();
  private objective!: Objective;
  private machine!: Machine;
  private lossLearned: Learned[] = [];
  private rate: number;
  private random: () => number;
  private batches: Generator<number[]>;
  /** What a pixel's byte becomes. */
  private scaled: Float32Array;
  /** An image of which something was changed. */
  private changed: Uint8Array;

  constructor(
    private data: DatasetContents,
    private settings: Settings,
    objective: Objective,
  ) {
    this.random = randomNumbers(settings.seed);
    this.rate = settings.learning_rate;
    this.scaled = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255 - data.mean) / data.std);
    this.changed = new Uint8Array(data.size ** 2);
    const { classes, images } = objective.update.batch;
    this.batches = balanced(data.labels.train, classes, images, this.random);
    this.weights = this.net(objective.normalize).weights;
    this.use(objective);
  }

  get d(): number {
    return this.machine.input("embeddings").length / this.batchSize;
  }

  /** The weights of the net, and its buffers. */
  get netWeights(): { name: string; shape: number[]; values: Numbers }[] {
    return this.packed.weights.map(({ name, shape }) => ({ name, shape, values: this.weights[name].slice() }));
  }

  get lossWeights(): { name: string; shape: number[]; values: Numbers }[] {
    return this.objective.weights.map(({ name, shape }) => ({ name, shape, values: this.machine.input(name).slice() }));
  }

  /** Of the ball that the embeddings lie in; 0 for none. */
  get curvature(): number {
    return this.objective.curvature;
  }

  get batchSize(): number {
    const { classes, images } = this.objective.update.batch;
    return classes * images;
  }

  /** Other settings, from the next step on. */
  change(settings: Settings): void {
    this.settings = settings;
    this.rate = settings.learning_rate;
  }

  /** Another loss or miner, from the next step on; the net goes on as it is, with an optimizer that begins anew. */
  use(objective: Objective): void {
    check(objective.program);
    const { update, weights, program } = objective;
    const machine = new Machine(program, new Memory([program]), {}, this.random);
    for (const { name, values } of weights) machine.input(name).set(floats(values));
    [this.objective, this.machine] = [objective, machine];
    const net = this.net(objective.normalize);
    this.learned.set(objective.normalize, learnedOf(net.step, this.packed.weights, update.optimizer, update.net));
    this.lossLearned = learnedOf(machine, weights, update.optimizer, update.loss);
  }

  /** Train on one batch; nothing changes where the loss is not finite. */
  step(): BatchStats {
    const { update, normalize } = this.objective;
    const { size } = this.data;
    const net = this.net(normalize).step;
    const rows = this.batches.next().value as number[];
    const images = net.input("images");
    const [area, { train }, { augmentation }] = [size * size, this.data.pixels, this.settings];
    rows.forEach((row, i) => {
      if (!Object.keys(augmentation).length) return this.put(train, row * area, images, i * area, area);
      const ground = this.data.framing.dark_on_light ? 255 : 0;
      augment(train, row * area, this.changed, augmentation, ground, this.random);
      this.put(this.changed, 0, images, i * area, area);
    });
    net.runFirst();
    this.machine.input("embeddings").set(net.output("embeddings"));
    this.machine.run();
    const value = (name: string) => this.machine.output(name)[0];
    this.steps++;
    const stats = {
      loss: value("loss"),
      active: value("active"),
      positive_distance: value("positive_distance"),
      negative_distance: value("negative_distance"),
      terms_per_image: value("terms") / rows.length,
    };
    if (!Number.isFinite(stats.loss)) return stats;
    net.input("gradient").set(this.machine.output("gradient"));
    net.runRest();
    const share = this.share(update);
    for (const one of this.learned.get(normalize) ?? []) one.update(one.gradient, this.rate * share);
    const own = update.loss_learning_rate ?? this.rate;
    for (const one of this.lossLearned) one.update(one.gradient, own * share);
    for (const { name } of this.packed.weights) {
      if (net.has(`new.${name}`)) this.weights[name].set(net.output(`new.${name}`)); // of batch normalization
    }
    return stats;
  }

  /** The learning rate of this step, as a share of the first. */
  private share({ rates, decay_factor }: Objective["update"]): number {
    const { decay_epochs: epochs } = this.settings;
    const epoch = Math.max(1, Math.floor(this.data.labels.train.length / this.batchSize));
    if (epochs) return decay_factor ** Math.floor((this.steps - 1) / (epochs * epoch));
    return rates[Math.min(this.steps, rates.length) - 1];
  }

  /** Embeddings (n × d) of the images of a split, or of its first. */
  embedSplit = (split: SplitName, most = Infinity): Float32Array<ArrayBuffer> =>
    this.embed(
      this.data.pixels[split].subarray(0, Math.min(most, this.data.labels[split].length) * this.data.size ** 2),
    );

  /** Embeddings of images of bytes, prepared as those of the data set. */
  embed(pixels: Uint8Array): Float32Array<ArrayBuffer> {
    const { embed } = this.net(this.objective.normalize);
    const [images, found] = [embed.input("images"), embed.output("embeddings")];
    const { d } = this;
    const area = this.data.size ** 2;
    const many = images.length / area;
    const n = pixels.length / area;
    const embeddings = new Float32Array(n * d);
    for (let start = 0; start < n; start += many) {
      const count = Math.min(many, n - start);
      this.put(pixels, start * area, images, 0, count * area);
      embed.run();
      embeddings.set(found.subarray(0, count * d), start * d);
    }
    return embeddings;
  }

  private get packed(): PackedNet {
    return this.data.nets[this.settings.net];
  }

  private net(normalize: boolean): Net {
    const known = this.nets.get(normalize);
    if (known) return known;
    const net = new Net(this.packed, normalize, this.nets.size ? this.weights : undefined);
    this.nets.set(normalize, net);
    return net;
  }

  /** Write pixels from a place on as the net takes them. */
  private put(pixels: Uint8Array, from: number, to: Numbers, at: number, count: number): void {
    for (let i = 0; i < count; i++) to[at + i] = this.scaled[pixels[from + i]];
  }
}

function learnedOf(
  machine: Machine,
  weights: PackedWeights[],
  optimizer: string,
  settings: Parameters<(typeof OPTIMIZERS)[string]>[1],
): Learned[] {
  return weights.flatMap(({ name }) => {
    if (!machine.has(`gradient.${name}`)) return [];
    const own = machine.input(name);
    return [
      { weights: own, gradient: machine.output(`gradient.${name}`), update: OPTIMIZERS[optimizer](own, settings) },
    ];
  });
}
