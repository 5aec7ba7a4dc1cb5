// Reads the small files of a site: gzip, with arrays laid out for it by dmlviz/export/packed.py. Pure: no DOM.
import type { Bytes } from "../lib/base64.ts";
import { fetchServer } from "../lib/server.ts";

/** Layout of an array in the file: byte plane after byte plane without the lowest `out`, rows as differences or not. */
interface Part {
  size: number;
  columns: number;
  width: number;
  deltas: boolean;
  out: number;
}

/** Reference in the JSON to an array, or to one row of it. */
interface Place {
  part: number;
  row?: number;
}

export const TOO_OLD = "This page needs a newer browser: Chrome or Edge 89, Firefox 113, Safari 16.4, or later.";

/** A gzip file, unzipped; an error's message is for the visitor. */
export async function unzip(url: string): Promise<ArrayBuffer> {
  if (!("DecompressionStream" in globalThis)) throw new Error(TOO_OLD);
  try {
    const answer = await fetchServer(url);
    if (!answer.ok || !answer.body) throw new Error(`${answer.status}`);
    return await new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  } catch (error) {
    throw new Error(`${url} could not be loaded from this site; reload the page.`, { cause: error });
  }
}

/** The contents of a file, with bytes where arrays were. */
export const unpack = async <Contents>(url: string): Promise<Contents> => read<Contents>(await unzip(url));

/** The same of an unzipped file. */
export function read<Contents>(file: ArrayBuffer): Contents {
  const length = new DataView(file).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(file, 4, length));
  const { contents, parts } = JSON.parse(text) as { contents: unknown; parts: Part[] };
  let offset = 4 + length;
  const arrays = parts.map((part) => {
    const planes = new Uint8Array(file, offset, part.size);
    offset += part.size;
    return array(planes, part);
  });
  const bytesAt = ({ part, row }: Place): Bytes => {
    if (row === undefined) return arrays[part];
    const size = parts[part].columns * parts[part].width;
    return arrays[part].slice(row * size, (row + 1) * size);
  };
  return replace(contents, bytesAt) as Contents;
}

function array(planes: Uint8Array, { columns, width, deltas, out }: Part): Bytes {
  const count = planes.length / (width - out);
  const bytes = new Uint8Array(count * width);
  for (let plane = out, from = 0; plane < width; plane++)
    for (let i = 0; i < count; i++) bytes[i * width + plane] = planes[from++];
  if (deltas) {
    const values = new Uint16Array(bytes.buffer);
    for (let i = 0; i < count; i++) {
      const difference = (values[i] >>> 1) ^ -(values[i] & 1);
      values[i] = difference + (i < columns ? 0 : values[i - columns]);
    }
  }
  return bytes;
}

/** The same JSON, with `bytesAt` of each place. Events, which are most of it, hold none and stay as they are. */
function replace(value: unknown, bytesAt: (place: Place) => Bytes): unknown {
  if (Array.isArray(value)) return value.map((one) => replace(one, bytesAt));
  if (typeof value !== "object" || value === null) return value;
  if ("part" in value) return bytesAt(value as Place);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === "events" ? one : replace(one, bytesAt)]),
  );
}
