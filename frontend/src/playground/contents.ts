// What a playground packs (dmlviz/export/playground.py): images and nets of a data set, losses with miners.
import type { Bytes } from "../lib/base64.ts";
import type { OptimizerSettings } from "../program/optimizers.ts";
import type { Strengths } from "../program/augment.ts";
import type { PackedProgram } from "../program/format.ts";
import type { PictureInfo } from "../protocol.ts";
import type { Framing } from "../standalone/drawnImage.ts";

/** Test images that every snapshot embeds, the first ones; all are embedded at the end. */
export const TRACKED = 600;

export type Json = Record<string, unknown>;

export interface PackedWeights {
  name: string;
  shape: number[];
  values: Bytes;
}

interface NetPrograms {
  net: PackedProgram;
  embed: PackedProgram;
}

export interface PackedNet {
  title: string;
  weights: PackedWeights[];
  /** With embeddings of length 1, which a ball has not, and of any length. */
  sphere?: NetPrograms;
  free: NetPrograms;
}

export const SPLITS = ["train", "validation", "test"] as const;
export type SplitName = (typeof SPLITS)[number];

export interface DatasetContents {
  dataset: string;
  title: string;
  classes: string[];
  max_train_images: number | null;
  /** Number of the test images that the data set has; some may be left out. */
  all_test_images: number;
  size: number;
  mean: number;
  std: number;
  framing: Framing;
  labels: Record<SplitName, Bytes>;
  pixels: Record<SplitName, Bytes>;
  /** The scored validation images, as indices into the training images of the data set. */
  scored: Bytes;
  validation_images: number;
  sprites: { pngs: Bytes[]; tile: number };
  /** What suits these images. */
  usual_augmentation: Strengths;
  nets: Record<string, PackedNet>;
}

/** A loss, alone or with a miner. */
export interface Objective {
  loss: string;
  loss_title: string;
  miner: string | null;
  miner_title: string;
  recommended: boolean;
  /** Settings that differ from those of the playground. */
  settings: Json;
  normalize: boolean;
  /** Of the Poincaré ball that the embeddings lie in; 0 for none. */
  curvature: number;
  /** What the map is, for embeddings of two dimensions: the learned space itself. */
  picture: PictureInfo | null;
  program: PackedProgram;
  weights: PackedWeights[];
  update: {
    batch: { classes: number; images: number };
    optimizer: string;
    net: OptimizerSettings;
    loss: OptimizerSettings;
    learning_rate: number;
    loss_learning_rate: number | null;
    /** The learning rate of each step, as a share of the first; one where all are equal. */
    rates: number[];
    /** What it is multiplied with every `decay_epochs` of the settings. */
    decay_factor: number;
  };
}

export interface LossContents {
  config: Json;
  objectives: Objective[];
  /** Nets that belong to them; none where those of the data set do. */
  nets: Record<string, PackedNet>;
}

/** What a visitor has chosen. */
export interface Settings {
  net: string;
  loss: string;
  miner: string | null;
  learning_rate: number;
  steps: number;
  seed: number;
  augmentation: Strengths;
  /** Epochs after which the learning rate falls; 0 for the schedule of the objective. */
  decay_epochs: number;
}
