import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { TOO_OLD, read, unpack } from "../../src/standalone/unpack.ts";
import { zlibSync } from "fflate";
import { ROUTES, fetchServer } from "../../src/lib/server.ts";
import { placeAmid } from "../../src/standalone/nearest.ts";
import { PackedSource, neighborsOf, positionsAtEnd, unpackNumbers } from "../../src/standalone/runPage.ts";

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

const packed = (array) => Buffer.from(array.buffer).toString("base64");

test("numbers come out as they went in", () => {
  assert.deepEqual([...unpackNumbers(packed(new Uint16Array([0, 1, 65535])), "<u2")], [0, 1, 65535]);
  assert.deepEqual([...unpackNumbers(packed(new Int32Array([70000, -1])), "<i4")], [70000, -1]);
});

test("bytes are taken as they are", () => {
  assert.deepEqual([...unpackNumbers(new Uint8Array([1, 0, 0, 1]), "<u2")], [1, 256]);
});

test("neighbors are those of the item itself, nearest first", () => {
  const near = {
    k: 2,
    items: new Uint16Array([1, 0, 1, 2, 2, 0]),
    distances: new Uint16Array([10, 10, 30, 20, 40, 60]),
    unit: 0.5,
  };
  assert.deepEqual(neighborsOf(near, 1), [
    [0, 5],
    [2, 20],
  ]);
});

test("an item alone has no neighbors", () => {
  assert.deepEqual(neighborsOf({ k: 0, items: new Uint16Array(), distances: new Uint16Array(), unit: 1 }, 0), []);
});

/** What a page gets at an address of run "r", which is packed into it. */
async function answered(packed, path) {
  const source = new PackedSource({ run: "r", labels: [1, 0], classes: ["cat", "dog"], near: null, ...packed });
  const response = await fetchServer(`${ROUTES}/runs/r/${path}`);
  source.stop();
  return response;
}

const near = { k: 1, items: new Uint16Array([1, 0]), distances: new Uint16Array([4, 4]), unit: 0.5 };

test("a packed run answers a pin as the server does, and says why not before its end", async () => {
  const answer = await answered({ near }, "neighbors/1.json?metric=euclidean");
  assert.deepEqual(await answer.json(), { item: 1, label: 0, near: [[0, 1, 2]], classes: { 0: "cat", 1: "dog" } });
  const refusal = await answered({}, "neighbors/1.json");
  assert.equal(refusal.ok, false);
  assert.match((await refusal.json()).error, /when the run is over\.$/);
});

test("a packed run has the nearest of each, and the files that were packed with it", async () => {
  const bytes = new Uint8Array(await (await answered({ near }, "nearest.bin?v=1")).arrayBuffer());
  assert.deepEqual([...new Int32Array(bytes.buffer, 0, 2)], [1, 0]);
  assert.deepEqual([...new Float32Array(bytes.buffer, 8, 2)], [2, 2]);
  const files = { "per_query.bin": zlibSync(new Uint8Array([1, 2, 3])) };
  const judged = await answered({ files }, "per_query.bin?v=1");
  assert.deepEqual([...new Uint8Array(await judged.arrayBuffer())], [1, 2, 3]);
  for (const path of ["per_query.bin?v=1&step=50", "baseline.json"])
    assert.match((await (await answered({ files }, path)).json()).error, /has no server/);
});

test("on a map of its own a drawing lies amid its nearest three, of those that the map shows", () => {
  const frame = { id: "f", n: 4, dims: 2, center: [0, 0], scale: 32767, items: "tracked" };
  const bytes = new Uint8Array(Int16Array.of(0, 0, 3, 0, 0, 6, 90, 90).buffer);
  const streams = [{ pid: "tsne-1", events: [{ event: "finished", frame }], frames: { f: bytes } }];
  const contents = { streams, view: "tsne-1", tracked: [0, 2, 3, 5], n: 6 };
  const near = [4, 0, 2, 3, 5].map((row) => [row, 1]); // the map does not show 4
  assert.deepEqual(placeAmid(near, positionsAtEnd(contents)), [1, 2]);
  assert.equal(placeAmid([[1, 0]], positionsAtEnd(contents)), null);
  assert.equal(positionsAtEnd({ ...contents, view: "live" }), null);
  const inSpace = { ...frame, dims: 3 };
  const others = { ...contents, streams: [{ ...streams[0], events: [{ event: "finished", frame: inSpace }] }] };
  assert.equal(placeAmid(near, positionsAtEnd(others)), null);
});
