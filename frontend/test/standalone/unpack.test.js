import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { read, TOO_OLD, unpack } from "../../src/standalone/unpack.ts";

/** A file as dmlviz/export/packed.py writes it. */
function fileOf(contents, parts, data) {
  const text = Buffer.from(JSON.stringify({ contents, parts }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Uint8Array.from(Buffer.concat([length, text, Buffer.from(data)])).buffer;
}
const PLAIN = { columns: 2, width: 2, deltas: false, out: 0 };

test("byte planes become numbers", () => {
  const { labels, name } = read(fileOf({ labels: { part: 0 }, name: "x" }, [{ ...PLAIN, size: 4 }], [1, 2, 0, 1]));
  assert.deepEqual([[...new Uint16Array(labels.buffer)], name], [[1, 258], "x"]);
});

test("low bytes that were left out are 0", () => {
  const part = { columns: 1, width: 4, deltas: false, out: 1, size: 3 };
  const { weights } = read(fileOf({ weights: { part: 0 } }, [part], [0, 0x80, 0x3f]));
  assert.deepEqual([...new Float32Array(weights.buffer)], [1]);
});

test("rows that are differences add up, through the ends of 16 bits; each frame is a row", () => {
  const part = { ...PLAIN, deltas: true, size: 8 };
  // 32767 and -1; then 2 more, which is beyond the end, and 1 less
  const differences = [0xfffe - 0x10000, 1, 4, 1].map((number) => number & 0xffff);
  const data = [...differences.map((number) => number & 255), ...differences.map((number) => number >> 8)];
  const places = { a: { part: 0, row: 0 }, b: { part: 0, row: 1 } };
  const { streams } = read(fileOf({ streams: [{ events: [{ part: 7 }], frames: places }] }, [part], data));
  const { a, b } = streams[0].frames;
  assert.deepEqual([...new Int16Array(a.buffer)], [32767, -1]);
  assert.deepEqual([...new Int16Array(b.buffer)], [-32767, -2]);
  assert.deepEqual(streams[0].events, [{ part: 7 }], "what looks like a place in an event is none");
});

test("a file comes unzipped; what cannot be read is told in a sentence", async (t) => {
  const file = gzipSync(Buffer.from(fileOf({ labels: { part: 0 } }, [{ ...PLAIN, size: 4 }], [1, 2, 0, 0])));
  const answers = {
    good: new Response(file),
    missing: new Response("", { status: 404 }),
    bad: new Response("no gzip"),
  };
  t.mock.method(globalThis, "fetch", async (url) => answers[url]);
  assert.deepEqual([...(await unpack("good")).labels], [1, 0, 2, 0]);
  for (const url of ["missing", "bad"])
    await assert.rejects(unpack(url), { message: `${url} could not be loaded from this site; reload the page.` });
  const { DecompressionStream } = globalThis;
  delete globalThis.DecompressionStream;
  t.after(() => (globalThis.DecompressionStream = DecompressionStream));
  await assert.rejects(unpack("good"), { message: TOO_OLD });
});
