import assert from "node:assert/strict";
import test from "node:test";
import { expandProps } from "../../src/map/data/expandProps.ts";

const run = { run: "a1", view: "live", begun: "7f" };

test("addresses follow from the run, and only those that there are", () => {
  const { tracked_url, nearest_url, values } = expandProps({ ...run, kept: ["tracked", "values"] });
  assert.deepEqual(
    [tracked_url, nearest_url, values],
    ["dmlviz/runs/a1/layout.json?7f", undefined, "dmlviz/runs/a1/values/live/{name}.f32?7f"],
  );
});

test("what is given goes before what follows", () => {
  assert.equal(expandProps({ ...run, kept: ["nearest"], nearest_url: "/n" }).nearest_url, "/n");
});

test("only the first neighbor has a distance, and a query's have none", () => {
  const { neighbors, query } = expandProps({
    ...run,
    neighbors: [4, 2],
    distance: 0.5,
    query: { xy: [0, 1], neighbors: [3] },
  });
  assert.deepEqual(neighbors, [{ item: 4, distance: 0.5 }, { item: 2 }]);
  assert.deepEqual(query, { xy: [0, 1], neighbors: [{ item: 3, distance: undefined }] });
  assert.deepEqual(expandProps(run).neighbors, []);
});
