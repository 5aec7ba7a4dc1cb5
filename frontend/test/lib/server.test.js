// What the server answers, and what it refuses.
import assert from "node:assert/strict";
import test from "node:test";
import { baseOf, refusal, serverUrl } from "../../src/lib/server.ts";

test("the base is what comes before Streamlit's own part of the script's address", () => {
  const script = "_stcore/bidi-components/dmlviz.workbench/page-0123456789abcdef.js";
  assert.equal(baseOf(`http://localhost:8501/${script}`), "http://localhost:8501/");
  assert.equal(baseOf(`https://school.example/x/y/${script}`), "https://school.example/x/y/");
  assert.equal(baseOf("file:///home/somebody/page.js"), "");
});

test("only the address of a route is changed", () => {
  for (const address of ["data:image/png;base64,AA", "blob:http://localhost/1", "/elsewhere", "dmlviz"])
    assert.equal(serverUrl(address), address);
});

test("what the server says of a damaged file is what the page says", async () => {
  const answer = new Response('{"error": "labels.npy of run 1 cannot be read: it is cut off."}', { status: 410 });
  assert.equal((await refusal(answer, "labels")).message, "labels.npy of run 1 cannot be read: it is cut off.");
});

test("an answer without a sentence is told by its number", async () => {
  assert.equal(
    (await refusal(new Response("<html>", { status: 502 }), "labels")).message,
    "labels: the server answered 502",
  );
});
