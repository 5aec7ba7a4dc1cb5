import assert from "node:assert/strict";
import test from "node:test";
import { baseOf, serverUrl } from "../../src/lib/server.ts";

test("the base is what comes before Streamlit's own part of the script's address", () => {
  const script = "_stcore/bidi-components/dmlviz.map/page-0123456789abcdef.js";
  assert.equal(baseOf(`http://localhost:8501/${script}`), "http://localhost:8501/");
  assert.equal(baseOf(`https://school.example/x/y/${script}`), "https://school.example/x/y/");
  assert.equal(baseOf("file:///home/somebody/page.js"), "");
});

test("only the address of a route is changed", () => {
  for (const address of ["data:image/png;base64,AA", "blob:http://localhost/1", "/elsewhere", "dmlviz"])
    assert.equal(serverUrl(address), address);
});
