// Where things are: camera, picking, selection, frames.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { packBits, unpackBits } from "../../src/lib/base64.ts";
import * as camera from "../../src/map/math/camera.ts";
import { boundsOf, dequantize, Frames, placeItems, quantize } from "../../src/map/data/frames.ts";
import { mixtureAt } from "../../src/map/control/here.ts";
import { buildGrid, insideBox, insidePath, nearest, nearestItems, towards } from "../../src/map/math/picking.ts";
import { close, random, scattered } from "../helpers.js";

const port = { width: 800, height: 500, insets: { left: 100, right: 20, top: 30, bottom: 10 } };

describe("camera", () => {
  it("goes to the screen and back to the same world point", () => {
    const view = { x: 3, y: -2, k: 40 };
    for (const [x, y] of [
      [0, 0],
      [3, -2],
      [-1.5, 7],
    ]) {
      close(camera.toWorld(view, port, ...camera.toScreen(view, port, x, y)), [x, y]);
    }
  });

  it("shows a larger y higher up", () => {
    const view = { x: 0, y: 0, k: 10 };
    assert.ok(camera.toScreen(view, port, 0, 1)[1] < camera.toScreen(view, port, 0, 0)[1]);
  });

  it("keeps the point under the cursor while zooming, in and out", () => {
    const view = { x: 1, y: 2, k: 30 };
    for (const factor of [1.3, 0.6, 50]) {
      const next = camera.zoomAbout(view, port, 613, 77, factor);
      close(camera.toWorld(next, port, 613, 77), camera.toWorld(view, port, 613, 77));
      close([next.k], [view.k * factor]);
    }
  });

  it("stops zooming in at 400 and out at a quarter of Home, still about the cursor", () => {
    const home = { x: 0, y: 0, k: 10 };
    const near = camera.zoomAbout(home, port, 100, 100, 1e9, home);
    assert.equal(near.k, 4000);
    close(camera.toWorld(near, port, 100, 100), camera.toWorld(home, port, 100, 100));
    assert.equal(camera.zoomAbout(home, port, 100, 100, 1e-9, home).k, 2.5);
  });

  it("moves what is under the finger with the finger", () => {
    const view = { x: 1, y: 2, k: 30 };
    const moved = camera.pan(view, 12, -7);
    close(
      camera.toScreen(moved, port, 5, 5),
      camera.toScreen(view, port, 5, 5).map((v, i) => v + [12, -7][i]),
    );
  });

  it("fits a box between the insets, touching on one axis and centered on the other", () => {
    const view = camera.fit([-1, -3, 5, -2], port);
    const [left, top] = camera.toScreen(view, port, -1, -2);
    const [right, bottom] = camera.toScreen(view, port, 5, -3);
    close([left, right], [100, 780]);
    close([top - 30], [490 - bottom]);
  });

  it("gives a collapsed space a finite view, about its point", () => {
    const view = camera.fit([2, 2, 2, 2], port, 1e-4);
    assert.ok(Number.isFinite(view.k));
    const [x, y] = camera.toScreen(view, port, 2, 2);
    close([x, y], [440, 260], 1e-6);
  });

  it("travels between two views about the point that both show alike", () => {
    const a = { x: 0, y: 0, k: 10 };
    const b = camera.zoomAbout(a, port, 200, 120, 8);
    const world = camera.toWorld(a, port, 200, 120);
    for (const share of [0, 0.2, 0.5, 0.9, 1]) {
      close(camera.toScreen(camera.between(a, b, share), port, ...world), [200, 120], 1e-6);
    }
    close([camera.between(a, b, 0.5).k], [10 * Math.sqrt(8)]);
  });

  it("travels evenly where the scale is the same", () => {
    const halfway = camera.between({ x: 0, y: 0, k: 10 }, { x: 4, y: -2, k: 10 }, 0.5);
    close([halfway.x, halfway.y, halfway.k], [2, -1, 10]);
  });

  it("unites boxes, of which either may be missing", () => {
    assert.deepEqual(camera.union([0, 0, 1, 1], [-1, 0.5, 0.5, 3]), [-1, 0, 1, 3]);
    assert.deepEqual(camera.union(null, [1, 2, 3, 4]), [1, 2, 3, 4]);
    assert.equal(camera.union(null, null), null);
  });
});

describe("picking", () => {
  it("finds the same point as looking at all of them, on any cloud", () => {
    for (const n of [1, 2, 7, 500, 3000]) {
      const { xy, usable } = scattered(n);
      const grid = buildGrid(xy, usable);
      for (let q = 0; q < 200; q++) {
        const [x, y, reach] = [random() * 3 - 1.5, random() * 3 - 1.5, 0.01 + random() * 0.4];
        let best = -1;
        let least = reach * reach;
        for (let i = 0; i < n; i++) {
          const d = (xy[2 * i] - x) ** 2 + (xy[2 * i + 1] - y) ** 2;
          if (usable[i] && d <= least && (d < least || best < 0)) [best, least] = [i, d];
        }
        assert.equal(nearest(grid, x, y, reach), best);
      }
    }
  });

  it("finds nothing when nothing is usable, and nothing beyond its reach", () => {
    const xy = Float32Array.of(0, 0, 1, 1);
    assert.equal(nearest(buildGrid(xy, Uint8Array.of(0, 0)), 0, 0, 10), -1);
    assert.equal(nearest(buildGrid(xy, Uint8Array.of(0, 1)), 0, 0, 1.4), -1);
    assert.equal(nearest(buildGrid(xy, Uint8Array.of(0, 1)), 0, 0, 1.5), 1);
  });

  it("copes with all points on one place, and with one far away", () => {
    const same = Float32Array.from({ length: 200 }, () => 0.25);
    assert.equal(nearest(buildGrid(same, new Uint8Array(100).fill(1)), 0.25, 0.25, 0.1), 0);
    const far = Float32Array.from(same);
    far[198] = 1e6;
    assert.equal(nearest(buildGrid(far, new Uint8Array(100).fill(1)), 1e6, 0.2, 1), 99);
  });

  it("takes what is inside a lasso, concave ones too, and never a hidden point", () => {
    const hook = [0, 0, 4, 0, 4, 4, 3, 4, 3, 1, 0, 1]; // an L lying on its back
    const xy = Float32Array.of(0.5, 0.5, 3.5, 3.5, 1, 3, 3.5, 0.5, 9, 9);
    assert.deepEqual([...insidePath(xy, Uint8Array.of(1, 1, 1, 1, 1), hook)], [1, 1, 0, 1, 0]);
    assert.deepEqual([...insidePath(xy, Uint8Array.of(1, 0, 1, 1, 1), hook)], [1, 0, 0, 1, 0]);
  });

  it("selects nothing by a path that encloses nothing", () => {
    const { xy, usable } = scattered(50);
    for (const path of [[], [0, 0], [0, 0, 1, 1]]) assert.ok(!insidePath(xy, usable, path).some(Boolean));
  });

  it("takes what is inside a box whichever corner it was begun at", () => {
    const { xy, usable } = scattered(400);
    const one = insideBox(xy, usable, [-0.5, -0.4, 0.6, 0.7]);
    assert.deepEqual(one, insideBox(xy, usable, [0.6, 0.7, -0.5, -0.4]));
    assert.deepEqual(one, insidePath(xy, usable, [-0.5, -0.4, 0.6, -0.4, 0.6, 0.7, -0.5, 0.7]));
    assert.ok(one.some(Boolean));
  });

  it("walks to a near point ahead rather than a nearer one aside, and stays when there is none", () => {
    const xy = Float32Array.of(0, 0, 2, 0.1, 0.1, 1, -1, 0);
    const all = new Uint8Array(4).fill(1);
    assert.equal(towards(xy, all, 0, [1, 0]), 1);
    assert.equal(towards(xy, all, 0, [-1, 0]), 3);
    assert.equal(towards(xy, all, 0, [0, 1]), 2);
    assert.equal(towards(xy, all, 0, [0, -1]), -1);
    assert.equal(towards(xy, Uint8Array.of(1, 0, 1, 1), 0, [1, 0]), -1);
  });
});

describe("bits", () => {
  it("brings any selection back, sizes that fill no byte included", () => {
    for (const n of [0, 1, 7, 8, 9, 1000, 60001]) {
      const mask = Uint8Array.from({ length: n }, () => (random() < 0.3 ? 1 : 0));
      assert.deepEqual(unpackBits(packBits(mask), n), mask);
    }
  });

  it("writes item i as bit i & 7 of byte i >> 3, as numpy's little bit order reads it", () => {
    const mask = new Uint8Array(16);
    mask[0] = mask[3] = mask[9] = 1;
    assert.deepEqual([...Buffer.from(packBits(mask), "base64")], [0b1001, 0b10]);
  });

  it("keeps 60,000 items under 11 kB", () => {
    assert.ok(packBits(new Uint8Array(60000).fill(1)).length < 11000);
  });
});

describe("frames", () => {
  const meta = (n, rest = {}) => ({ id: "f", n, dims: 2, center: [1, -2], scale: 4, items: "all", ...rest });

  it("brings positions back within half a step of the grid", () => {
    const xy = Float32Array.from({ length: 400 }, (_, j) => (j % 2 ? -2 : 1) + (random() * 2 - 1) * 4);
    close(dequantize(quantize(xy, [1, -2], 4), meta(200)), xy, 4 / 32767 / 2 + 1e-6);
  });

  it("reads little-endian int16, first two of three dimensions", () => {
    const bytes = Uint8Array.of(0xff, 0x7f, 0, 0, 1, 0, 0x01, 0x80, 0, 0, 2, 0).buffer;
    close(dequantize(bytes, meta(2, { dims: 3 })), [5, -2, -3, -2]);
  });

  it("refuses a frame of another size, and says which", () => {
    assert.throws(() => dequantize(new ArrayBuffer(10), meta(3)), /frame f has 10 bytes.*need 12/);
  });

  it("gives tracked items their places and leaves the others absent", () => {
    const placed = placeItems(Float32Array.of(1, 2, 3, 4), meta(2, { items: "tracked" }), Int32Array.of(1, 3), 5);
    assert.deepEqual([...placed.present], [0, 1, 0, 1, 0]);
    assert.deepEqual([...placed.xy], [0, 0, 1, 2, 0, 0, 3, 4, 0, 0]);
    assert.deepEqual(placed.bounds, [1, 2, 3, 4]);
    assert.throws(
      () => placeItems(new Float32Array(4), meta(2, { items: "tracked" }), Int32Array.of(1), 5),
      /watches 1/,
    );
  });

  it("has no bounds without points", () => assert.equal(boundsOf(new Float32Array(0)), null));

  const serving = (answers) => {
    const asked = [];
    const fetch = async (url) => {
      asked.push(url);
      if (!answers[url]) throw new Error("the server answered 404");
      return { arrayBuffer: async () => answers[url] };
    };
    return { asked, fetch };
  };

  it("asks once for a frame that several want at a time, and never again", async () => {
    const { asked, fetch } = serving({ "/f/a.i16": quantize(Float32Array.of(1, -2), [1, -2], 4) });
    const frames = new Frames({ url: "/f/{id}.i16", tracked: async () => null, total: 1, fetch });
    const entry = meta(1, { id: "a" });
    assert.equal(frames.has(entry), false);
    await Promise.all([frames.load(entry), frames.load(entry), frames.prefetch(entry)]);
    close((await frames.load(entry)).xy, [1, -2]);
    assert.deepEqual(asked, ["/f/a.i16"]);
  });

  it("says what the server answered, and asks again only after a while", async () => {
    const { asked, fetch } = serving({});
    let time = 0;
    const frames = new Frames({ url: "/f/{id}.i16", tracked: async () => null, total: 1, fetch, now: () => time });
    for (time of [0, 10, 1000, 5000]) {
      await assert.rejects(frames.load(meta(1, { id: "b" })), /the server answered 404/);
    }
    assert.equal(asked.length, 2);
  });

  it("waits for frames to be fed where there is no address to fetch from", async () => {
    const { asked, fetch } = serving({});
    const fed = new Map();
    const frames = new Frames({ url: null, tracked: async () => null, total: 1, fetch, fed: (id) => fed.get(id) });
    assert.equal(await frames.load(meta(1, { id: "d" })), null);
    fed.set("d", quantize(Float32Array.of(1, -2), [1, -2], 4));
    close((await frames.load(meta(1, { id: "d" }))).xy, [1, -2]);
    assert.equal(asked.length, 0);
  });

  it("asks which items are tracked with the first frame that needs it, and again while nobody knows", async () => {
    const bytes = quantize(Float32Array.of(2, -1), [1, -2], 4);
    const { fetch } = serving({ "/f/w.i16": bytes, "/f/x.i16": bytes });
    const answers = [null, Int32Array.of(2)];
    const frames = new Frames({ url: "/f/{id}.i16", tracked: async () => answers.shift(), total: 4, fetch });
    const [one, two] = ["w", "x"].map((id) => meta(1, { id, items: "tracked" }));
    assert.equal(await frames.load(one), null);
    assert.deepEqual([...(await frames.load(two)).present], [0, 0, 1, 0]);
    assert.deepEqual([...(await frames.load(one)).present], [0, 0, 1, 0]);
    assert.equal(answers.length, 0);
  });

  it("takes over what was fetched before", async () => {
    const { asked, fetch } = serving({});
    const raw = new Map([["a", quantize(Float32Array.of(2, -1), [1, -2], 4)]]);
    const frames = new Frames({ url: "/f/{id}.i16", tracked: async () => null, total: 1, fetch, raw });
    assert.equal((await frames.load(meta(1, { id: "a" }))).count, 1);
    assert.equal(frames.bytes, 4);
    assert.equal(asked.length, 0);
  });

  it("takes frames that were fed without asking for them", async () => {
    const { asked, fetch } = serving({});
    const bytes = quantize(Float32Array.of(1, -2), [1, -2], 4);
    const frames = new Frames({
      url: "/f/{id}.i16",
      tracked: async () => null,
      total: 1,
      fetch,
      fed: (id) => (id === "c" ? bytes : undefined),
    });
    close((await frames.load(meta(1, { id: "c" }))).xy, [1, -2]);
    assert.equal(asked.length, 0);
  });
});

describe("what lies at a place", () => {
  const xy = Float32Array.from([0, 0, 3, 0, 0, 4, 10, 0, 0, 1]);

  it("is made of the nearest items that are shown, in their order", () => {
    assert.deepEqual(nearestItems(xy, Uint8Array.of(1, 1, 1, 1, 0), [0, 0], 3), [
      { item: 0, distance: 0 },
      { item: 1, distance: 3 },
      { item: 2, distance: 4 },
    ]);
    assert.deepEqual(nearestItems(xy, new Uint8Array(5), [0, 0], 3), []);
  });

  it("gives each a share by the inverse of its distance, and nearly all to one under the pointer", () => {
    const { near, width } = mixtureAt(xy, Uint8Array.of(0, 1, 1, 1, 0), [0, 0]);
    assert.equal(width, 10);
    close(
      near.map(({ share }) => share / near[0].share),
      [1, 3 / 4, 3 / 10],
    );
    close([near.reduce((sum, { share }) => sum + share, 0)], [1]);
    assert.ok(mixtureAt(xy, Uint8Array.of(1, 1, 1, 1, 1), [0, 0]).near[0].share > 0.98);
  });
});
