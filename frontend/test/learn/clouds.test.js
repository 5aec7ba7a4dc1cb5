// What Learn says of maps of a few hundred points holds for the maps that it draws.
import assert from "node:assert/strict";
import test from "node:test";
import { CLOUDS } from "../../src/learn/layout_playground/clouds.ts";
import { randomNumbers } from "../../src/lib/random.ts";
import { LiveLayout } from "../../src/projection/live.ts";

function measured(title, method, neighbors) {
  const { make, measure } = CLOUDS.find((cloud) => cloud.title === title);
  const { rows, d, labels } = make();
  const settings = { method, metric: "euclidean", perplexity: neighbors, neighbors, min_dist: 0.1, attraction: 1 };
  const layout = new LiveLayout(settings, randomNumbers(1));
  layout.take(rows, d);
  for (let i = 0; i < 60 && !layout.rests; i++) layout.step(10);
  return [measure.of(layout.positions, 2, labels), measure.of(rows, d, labels)];
}

for (const [method, usual, few] of [
  ["tsne", 30, 3],
  ["umap", 15, 4],
]) {
  test(`${method}: sizes of clusters, and distances between them, are not those of the space`, () => {
    for (const [title, most] of [
      ["Two sizes", 3],
      ["Two gaps", 3],
      ["Nested", 4],
    ]) {
      const [onMap, inSpace] = measured(title, method, usual);
      assert.ok(onMap < most && inSpace > 5.5, `${title}: ${onMap} on the map, ${inSpace} in the space`);
    }
  });

  test(`${method}: with few neighbors a line breaks, with more it does not`, () => {
    const [[broken, inSpace], [whole]] = [few, usual].map((neighbors) => measured("A line", method, neighbors));
    assert.ok(broken > 10 && whole < 5 && inSpace < 2, `${broken}, ${whole}, ${inSpace} in the space`);
  });
}

test("a map at rest moves again when a setting changes, and another method begins anew", () => {
  const { rows, d } = CLOUDS[0].make();
  const settings = { method: "umap", metric: "euclidean", perplexity: 30, neighbors: 15, min_dist: 0.1, attraction: 1 };
  const layout = new LiveLayout(settings, randomNumbers(1));
  layout.take(rows, d);
  layout.step(400);
  assert.ok(layout.rests);
  const before = layout.positions;
  layout.change({ min_dist: 0.8 });
  assert.ok(!layout.rests);
  layout.step(1);
  const moved = Math.max(...layout.positions.map((x, i) => Math.abs(x - before[i])));
  assert.ok(moved > 0 && moved < 5, `it goes on from where it stands: ${moved}`);
  for (const method of ["tsne", "pca"]) {
    layout.change({ method });
    assert.ok(layout.step(5).every(Number.isFinite));
    assert.equal(layout.divergence === null, method === "pca");
  }
});

test("a map stands where it is put until a setting changes, and goes on from there as one that looks for neighbors anew", () => {
  const { rows, d } = CLOUDS[0].make();
  for (const method of ["tsne", "umap"]) {
    const settings = { method, metric: "euclidean", perplexity: 30, neighbors: 15, min_dist: 0.1, attraction: 1 };
    const [ahead, anew] = [300, 0].map((count) => {
      const layout = new LiveLayout(settings, randomNumbers(1), count);
      layout.take(rows, d);
      const places = Float32Array.from({ length: (2 * rows.length) / d }, (_, i) => 20 + ((7 * i) % 31));
      layout.place(places);
      assert.ok(layout.rests);
      assert.deepEqual(layout.positions, places);
      layout.change(method === "tsne" ? { perplexity: 12 } : { neighbors: 7 });
      assert.ok(!layout.rests);
      const moved = layout.step(2);
      assert.ok(Math.max(...moved.map((x, i) => Math.abs(x - places[i]))) < 15, "nothing flies off");
      layout.change({ metric: "cosine" });
      return [...layout.step(1), ...layout.near.indices];
    });
    assert.deepEqual(ahead, anew);
  }
});

test("points that coincide, and fewer points than neighbors, have a map of finite places", () => {
  for (const method of ["tsne", "umap", "pca"])
    for (const [n, d] of [
      [2, 3],
      [5, 1],
      [40, 4],
    ]) {
      const settings = { method, metric: "cosine", perplexity: 30, neighbors: 15, min_dist: 0.1, attraction: 1 };
      const layout = new LiveLayout(settings, randomNumbers(1));
      layout.take(new Float32Array(n * d).fill(1), d);
      assert.ok(layout.step(50).every(Number.isFinite), `${method} of ${n} points`);
    }
});
