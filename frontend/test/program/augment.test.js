// Random changes of images in the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { augment } from "../../src/program/augment.ts";
import { randomNumbers } from "../../src/lib/random.ts";

const SIZE = 12;
const image = Uint8Array.from({ length: 2 * SIZE ** 2 }, (_, i) => (i * 37) % 251);

function changed(strengths, { seed = 1, size = SIZE, from = SIZE ** 2, ground = 0 } = {}) {
  const to = new Uint8Array(size ** 2);
  augment(image, from, to, strengths, ground, randomNumbers(seed));
  return to;
}

test("an image without a strength is as it was, a flip mirrors it left to right", () => {
  const own = image.slice(SIZE ** 2);
  assert.deepEqual(changed({}), own);
  const mirrored = own.map((_, i) => own[i - (i % SIZE) + SIZE - 1 - (i % SIZE)]);
  assert.deepEqual(changed({ flip: 1 }), mirrored);
});

test("each strength changes an image, alike for equal seeds, and one pixel stays one", () => {
  for (const name of ["crop", "shift", "rotate", "erase", "jitter"]) {
    const strength = { [name]: name === "rotate" ? 40 : 0.4 };
    const tries = [1, 2, 3, 4].map((seed) => changed(strength, { seed }).join());
    assert.equal(changed(strength, { seed: 3 }).join(), tries[2], name);
    assert.ok(new Set(tries).size > 1, name);
    assert.equal(changed(strength, { size: 1 }).length, 1);
  }
});

test("what a shift uncovers has the color of the ground", () => {
  const moved = changed({ shift: 0.5 }, { ground: 255, seed: 2 });
  const bright = image.slice(SIZE ** 2).filter((value) => value === 255).length;
  assert.ok(moved.filter((value) => value === 255).length > bright + SIZE);
});
