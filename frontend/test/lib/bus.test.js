// How the parts of a page hear of one another.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bus } from "../../src/lib/bus.ts";

describe("bus", () => {
  it("reaches listeners until they leave", () => {
    const got = [];
    const off = bus.on("hover", (detail) => got.push(detail.item));
    bus.emit("hover", { item: 3 });
    off();
    bus.emit("hover", { item: 4 });
    bus.emit("nobody", {});
    assert.deepEqual(got, [3]);
    assert.deepEqual(bus.last("hover"), { item: 4 }, "for a part that comes later");
  });
});
