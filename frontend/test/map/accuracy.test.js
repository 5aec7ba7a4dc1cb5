// Neighbors that an index found, and how far they can be relied on.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { loadMeasured, loadNearest } from "../../src/map/data/fetchItems.ts";
import { accuracyWords, percentRight } from "../../src/map/ui/tooltip.ts";

const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

/** Answer with these, one after the other. */
function answer(...responses) {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(url);
    return responses[asked.length - 1];
  };
  return asked;
}

const nearest = (...accuracy) =>
  new Response(
    new Uint8Array([
      ...new Uint8Array(Int32Array.of(1, 0).buffer),
      ...new Uint8Array(Float32Array.of(0.5, 0.25, ...accuracy).buffer),
    ]),
  );

test("what is still computed is asked for again", async () => {
  const asked = answer(new Response(null, { status: 202 }), new Response(null, { status: 202 }), nearest(0.75, 1000));
  const found = await loadNearest({ nearest_url: "/slow" }, 2);
  assert.deepEqual(asked, ["/slow", "/slow", "/slow"]);
  assert.deepEqual([...found.items], [1, 0]);
  assert.deepEqual([...found.distances], [0.5, 0.25]);
  assert.deepEqual(found.accuracy, { recall: 0.75, measured: 1000 });
});

test("exact neighbors and values have no accuracy", async () => {
  answer(nearest());
  assert.equal((await loadNearest({ nearest_url: "/exact" }, 2)).accuracy, null);
  answer(new Response(Float32Array.of(1, 0.5).buffer));
  assert.deepEqual(await loadMeasured("/values", 2), { numbers: Float32Array.of(1, 0.5), accuracy: null });
  answer(new Response(Float32Array.of(1, 0.5, 0.5, 800).buffer));
  assert.deepEqual((await loadMeasured("/values-by-index", 2)).accuracy, { recall: 0.5, measured: 800 });
});

test("only if all are right is it 100 %", () => {
  assert.equal(percentRight({ recall: 0.99999, measured: 1000 }), "99.9 %");
  assert.equal(percentRight({ recall: 1, measured: 1000 }), "100 %");
  assert.equal(
    accuracyWords({ recall: Math.fround(0.98), measured: 1000 }, "point"),
    "Neighbors by an index: 98 % of the ten nearest are right, measured on 1,000 points.",
  );
});
