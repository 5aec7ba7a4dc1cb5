// Where a page without a server asks about a run: what was packed into the page, under the addresses of the server.
import { unzlibSync } from "fflate";
import type { ItemNeighbors } from "../protocol.ts";
import { bytesOf, type Bytes } from "../lib/base64.ts";
import { answerInPlace, type RunSource } from "../lib/server.ts";

const KINDS = { "<u2": Uint16Array, "<i4": Int32Array };
const UNFINISHED = "Neighbors are shown when the run is over.";
const ELSEWHERE = "This page has no server: it knows this of the end of the run only.";

export type NumberKind = keyof typeof KINDS;

/** The nearest of all n items, then the second nearest of all …; distances are kept in steps of `unit`. */
export interface NeighborTable {
  k: number;
  items: ArrayLike<number>;
  distances: ArrayLike<number>;
  unit: number;
}

/** Packed data of a run, beside its events. */
export interface PackedRun {
  run: string;
  classes: string[];
  labels: ArrayLike<number>;
  /** Null while the run is on. */
  near: NeighborTable | null;
  /** Deflated files of the server, by their addresses below that of the run. */
  files?: Record<string, string | Bytes>;
}

/** Little-endian numbers of `kind`, as every machine that has a browser keeps them; text is base64. */
export const unpackNumbers = (content: string | Bytes, kind: NumberKind): Uint16Array | Int32Array =>
  new KINDS[kind](bytesOf(content).buffer);

/** [item, distance] of the k nearest of `item`, nearest first. */
export function neighborsOf({ k, items, distances, unit }: NeighborTable, item: number): [number, number][] {
  const n = items.length / k;
  return Array.from({ length: k }, (_, rank) => [items[rank * n + item], distances[rank * n + item] * unit]);
}

/** A run that is packed into the page. */
export class PackedSource implements RunSource {
  /** Stops answering. */
  readonly stop: () => void;

  constructor(private contents: PackedRun) {
    this.stop = answerInPlace(contents.run, this);
  }

  fetch(path: string): Promise<Response> {
    const [file, query] = path.split("?");
    const item = /^neighbors\/(\d+)\.json$/.exec(file);
    return Promise.resolve(item ? this.neighbors(Number(item[1])) : this.file(file, (query ?? "").includes("step=")));
  }

  private neighbors(item: number): Response {
    const { near, labels, classes } = this.contents;
    if (!near) return refusal(UNFINISHED);
    const answer: ItemNeighbors = {
      item,
      label: labels[item],
      near: neighborsOf(near, item).map(([other, distance]) => [other, labels[other], distance]),
      classes: Object.fromEntries(classes.entries()),
    };
    return Response.json(answer);
  }

  private file(name: string, atStep: boolean): Response {
    const { files = {} } = this.contents;
    if (name === "nearest.bin") return new Response(this.nearest());
    if (!(name in files) || atStep) return refusal(ELSEWHERE);
    return new Response(unzlibSync(bytesOf(files[name])));
  }

  /** The nearest of each: int32 items, then float32 distances. */
  private nearest(): Blob {
    const { near, labels } = this.contents;
    const [items, distances] = [new Int32Array(labels.length), new Float32Array(labels.length)];
    for (let i = 0; i < labels.length; i++) [items[i], distances[i]] = (near && neighborsOf(near, i)[0]) ?? [i, 0];
    return new Blob([items, distances]);
  }
}

const refusal = (error: string): Response => Response.json({ error }, { status: 404 });
