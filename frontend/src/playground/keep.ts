// A training of this page as a file that `dmlviz runs import` takes: a zip archive of the files of a run. Pure: no DOM.
import { strToU8, zipSync, type Zippable } from "fflate";
import type { RunEvent } from "../protocol.ts";
import { TRACKED, type DatasetContents, type Json } from "./contents.ts";
import type { Basis } from "./projection.ts";

interface NamedArray {
  name: string;
  shape: number[];
  values: ArrayLike<number>;
}

export interface WeightArrays {
  net: NamedArray[];
  loss: NamedArray[];
}

/** What the page knows of a run that is over. */
export interface KeptRun {
  id: string;
  title: string;
  tags: string[];
  config: Json;
  created: string;
  events: RunEvent[];
  frames: Map<string, Uint8Array>;
  snapshots: { step: number; embeddings: Float32Array }[];
  basis: Basis;
  weights: WeightArrays;
}

export const NOT_SAFE =
  "A browser makes this file only for a page that came by https or from this computer: open the page so.";

/** The archive. */
export async function keptRun(
  run: KeptRun,
  data: Pick<DatasetContents, "labels" | "scored">,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!globalThis.crypto?.subtle) throw new Error(NOT_SAFE);
  const { events, snapshots, basis, weights, config } = run;
  const last = snapshots[snapshots.length - 1];
  const n = data.labels.test.length;
  const d = last.embeddings.length / n;
  const axes = basis.components.length;
  const tracked = Int32Array.from({ length: Math.min(TRACKED, n) }, (_, i) => i);
  const steps = new Set(snapshots.slice(0, -1).map(({ step }) => step));
  const files: Zippable = {};
  const ids = new Map<string, string>();
  // Frames are named after their content; those of steps that the replay has no room for are left out.
  const kept = events.filter((event) => event.event !== "snapshot" || steps.has(event.step));
  const lines = [];
  for (const event of kept) {
    const named = event.event === "replay" ? event.frames : event.event === "snapshot" ? [event.frame] : [];
    for (const { id } of named) {
      const bytes = run.frames.get(id);
      if (!bytes || ids.has(id)) continue;
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.slice()));
      const hash = Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
      ids.set(id, hash);
      files[`frames/${hash}.i16`] = bytes;
    }
    lines.push(
      JSON.stringify(event, (key, value: unknown) =>
        key === "id" ? (ids.get(value as string) ?? value) : finite(value),
      ),
    );
  }
  const end = kept.find((event) => event.event === "finished" || event.event === "stopped");
  const metrics = end && "metrics" in end ? { ...end.metrics } : {};
  if (end && "validation_metrics" in end)
    for (const [name, value] of Object.entries(end.validation_metrics ?? {})) metrics[`validation/${name}`] = value;
  const created = run.created.replace(/\.\d+Z$/, "+00:00");
  const { id, title, tags } = run;
  // As the recording of another program: equal settings are one run, but these batches were drawn by this page.
  const info = { version: 1, id, recording: id, title, config, created, device: "browser", precision: "float32", tags };
  files["run.json"] = strToU8(JSON.stringify(info));
  files["events.jsonl"] = strToU8(lines.map((line) => `${line}\n`).join(""));
  files["metrics.json"] = strToU8(JSON.stringify(metrics, (_, value: unknown) => finite(value)));
  files["labels.npy"] = npy("<i4", [n], Int32Array.from(data.labels.test));
  files["tracked.npy"] = npy("<i4", [tracked.length], tracked);
  files["scored.npy"] = npy("<i4", [data.scored.length / 4], new Int32Array(data.scored.slice().buffer));
  files["embeddings.npy"] = npy("<f4", [n, d], last.embeddings);
  for (const { step, embeddings } of snapshots.slice(0, -1))
    files[`snapshots/${step}.npy`] = npy("<f4", [tracked.length, d], embeddings);
  files["basis.npz"] = zipSync({
    "mean.npy": npy("<f8", [d], basis.mean),
    "components.npy": npy("<f8", [axes, d], Float64Array.from(basis.components.flatMap((axis) => [...axis]))),
    "explained.npy": npy("<f8", [axes], Float64Array.from(basis.explained)),
    "view.npy": npy(
      `<U${basis.view.length}`,
      [],
      Uint32Array.from(basis.view, (letter) => letter.charCodeAt(0)),
    ),
  });
  files["weights.safetensors"] = safetensors(weights.net);
  if (weights.loss.length) files["loss.safetensors"] = safetensors(weights.loss);
  return zipSync(files, { level: 6 });
}

/** JSON has no infinity. */
const finite = (value: unknown): unknown => (typeof value === "number" && !Number.isFinite(value) ? null : value);

const bytes = (values: ArrayBufferView): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** An array as NumPy's format has it. */
function npy(kind: string, shape: number[], values: ArrayBufferView): Uint8Array {
  const sides = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const header = `{'descr': '${kind}', 'fortran_order': False, 'shape': (${sides}), }`;
  const padded = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + "\n";
  return joined(
    Uint8Array.from([0x93, ...strToU8("NUMPY"), 1, 0, padded.length & 255, padded.length >> 8]),
    strToU8(padded),
    bytes(values),
  );
}

/** Arrays as a safetensors file: the length of a JSON header, the header, and the numbers. */
function safetensors(arrays: NamedArray[]): Uint8Array {
  const values = arrays.map((array) => Float32Array.from(array.values));
  const header: Json = {};
  let offset = 0;
  arrays.forEach(({ name, shape }, i) => {
    header[name] = { dtype: "F32", shape, data_offsets: [offset, offset + values[i].byteLength] };
    offset += values[i].byteLength;
  });
  const text = JSON.stringify(header);
  const padded = strToU8(text.padEnd(Math.ceil(text.length / 8) * 8));
  const length = new Uint8Array(new BigUint64Array([BigInt(padded.length)]).buffer);
  return joined(length, padded, ...values.map(bytes));
}

function joined(...parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
