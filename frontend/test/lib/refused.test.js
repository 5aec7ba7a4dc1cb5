import assert from "node:assert/strict";
import test from "node:test";
import { refused } from "../../src/lib/refused.ts";

test("what the server says of a damaged file is what the page says", async () => {
  const answer = new Response('{"error": "labels.npy of run 1 cannot be read: it is cut off."}', { status: 410 });
  assert.equal((await refused(answer, "labels")).message, "labels.npy of run 1 cannot be read: it is cut off.");
});

test("an answer without a sentence is told by its number", async () => {
  assert.equal(
    (await refused(new Response("<html>", { status: 502 }), "labels")).message,
    "labels: the server answered 502",
  );
});
