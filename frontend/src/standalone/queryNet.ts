// The net of an exported run: embeds a drawing, finds its neighbors, and its place on the map.
import type { Bytes } from "../lib/base64.ts";
import type { PackedProgram } from "../program/format.ts";
import type { OcclusionMaps } from "../protocol.ts";
import { check, Machine, Memory } from "../program/program.ts";
import { drawnImage, type Framing } from "./drawnImage.ts";
import { nearestRows } from "./nearest.ts";
import { packedOcclusion } from "./occlusion.ts";
import { unpack } from "./unpack.ts";

/** `Calibration.packed` in Python, with its sentences. */
export interface PackedCalibration {
  distances: number[];
  limit: number;
  unlike: number;
  needed: number;
  promise: string;
  disagreement: string[];
  short: string;
  basis: string;
}

export interface Confidence {
  level: "sure" | "unsure" | "unlike";
  title: string;
  sentence: string;
  basis: string;
}

/** Confidence that an image is of the class `name`, of which `agreeing` of its neighbors are. */
export function confidenceOf(
  { distances, limit, unlike, needed, promise, disagreement, short, basis }: PackedCalibration,
  { distance, agreeing, name }: { distance: number; agreeing: number; name: string },
): Confidence {
  const strange = distances.filter((each) => each < distance).length / distances.length;
  const share = strange >= 1 ? "all" : `${Math.floor(100 * strange + 1e-9)}% of the`;
  const farther = `Farther from its neighbors than ${share} ${short}`;
  if (strange > unlike)
    return {
      level: "unlike",
      title: "Unlike anything here",
      sentence: `${farther}: these neighbors mean little.`,
      basis,
    };
  const reasons = [
    ...(strange > limit ? [`${farther}.`] : []),
    ...(agreeing < needed ? [disagreement[agreeing - 1]] : []),
  ];
  if (reasons.length) return { level: "unsure", title: `Perhaps ${name}`, sentence: reasons.join(" "), basis };
  return { level: "sure", title: `Surely ${name}`, sentence: promise, basis };
}

/** Description of the net (dmlviz/export/query_net.py), and the address of its numbers. */
export interface QueryNetData {
  url: string;
  dims: number;
  unit: number;
  /** Of the Poincaré ball that the embeddings lie in; 0 for none. */
  curvature: number;
  calibration: PackedCalibration;
  mean: number;
  std: number;
  framing: Framing;
  basis: { mean: number[]; components: number[][] } | null;
}

/** The file: a program, its weights, and the embeddings of the test images. */
interface PackedNet {
  embed: PackedProgram;
  weights: { name: string; values: Bytes }[];
  embeddings: Bytes;
}

/** A drawing, as the net sees it. */
export interface Answer {
  image: Uint8Array;
  side: number;
  embedding: Float32Array;
  near: [number, number][];
  xy: number[] | null;
}

export class QueryNet {
  private constructor(
    private data: QueryNetData,
    private machine: Machine,
    private rows: Float32Array,
  ) {}

  /** Fetch the weights and the embeddings of the test images; they lie beside the page. */
  static async load(data: QueryNetData): Promise<QueryNet> {
    const { embed, weights, embeddings } = await unpack<PackedNet>(data.url);
    check(embed);
    const machine = new Machine(embed, new Memory([embed]));
    for (const { name, values } of weights) machine.input(name).set(new Float32Array(values.buffer));
    const rows = data.curvature
      ? new Float32Array(embeddings.buffer) // near the rim steps would be too coarse
      : Float32Array.from(new Int16Array(embeddings.buffer), (step) => step * data.unit);
    return new QueryNet(data, machine, rows);
  }

  /** The answer to a drawing of side × side bytes of ink; null for an empty one. */
  answer(ink: Uint8Array, side: number): Answer | null {
    const image = drawnImage(ink, side, this.data.framing);
    if (!image) return null;
    const embedding = this.embed(image);
    const k = this.data.calibration.disagreement.length; // neighbors that it was calibrated on
    const near = nearestRows(this.rows, embedding, k, -1, this.data.curvature);
    return { image, side: this.data.framing.size, embedding, near, xy: this.project(embedding) };
  }

  /** The embedding of an image of bytes, prepared as the data set's. */
  embed(image: Uint8Array): Float32Array {
    const { mean, std } = this.data;
    this.machine.input("images").set(Float32Array.from(image, (byte) => (byte / 255 - mean) / std));
    this.machine.run();
    return this.machine.output("embeddings").slice() as Float32Array;
  }

  /** Which parts of two images hold them together. */
  parts(pair: Uint8Array[]): OcclusionMaps {
    const { dims, framing, curvature } = this.data;
    const area = framing.size ** 2;
    const embed = (images: Uint8Array) => {
      const rows = new Float32Array((images.length / area) * dims);
      for (let i = 0; i * area < images.length; i++)
        rows.set(this.embed(images.subarray(i * area, (i + 1) * area)), i * dims);
      return rows;
    };
    return packedOcclusion(embed, pair, framing.size, curvature);
  }

  private project(embedding: Float32Array): number[] | null {
    const { basis } = this.data;
    if (!basis) return null;
    return basis.components.map((axis) =>
      axis.reduce((sum, weight, i) => sum + weight * (embedding[i] - basis.mean[i]), 0),
    );
  }
}
