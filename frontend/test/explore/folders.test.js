import assert from "node:assert/strict";
import { test } from "node:test";
import { pluck } from "../helpers.js";
import { unzipSync } from "fflate";
import { meant, packed } from "../../src/explore/upload/upload.tsx";

const found = (...paths) => paths.map((path) => ({ path, file: new globalThis.File([path], path.split("/").at(-1)) }));
const names = async (...paths) => (await packed(found(...paths))).map(({ name }) => name);

test("a folder goes as one zip with all that lies in it, single files as they are", async () => {
  const [zip] = await packed(found("pets/cat/1.png", "pets/dog/1.png"));
  assert.equal(zip.name, "pets.zip");
  const inside = unzipSync(new Uint8Array(await zip.arrayBuffer()));
  assert.deepEqual(Object.keys(inside), ["pets/cat/1.png", "pets/dog/1.png"]);
  assert.equal(new globalThis.TextDecoder().decode(inside["pets/dog/1.png"]), "pets/dog/1.png");
  assert.deepEqual(await names("cat/1.png", "dog/1.png"), ["folders.zip"]); // the folders of the classes
  assert.deepEqual(await names("vectors.npy", "labels.txt"), ["vectors.npy", "labels.txt"]);
  assert.deepEqual(await names("raw/train-images-idx3-ubyte", "raw/t10k-labels-idx1-ubyte"), [
    "train-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
  ]);
  assert.deepEqual(await names(...Array.from({ length: 9 }, (_, i) => `mine/${i}.png`)), ["mine.zip"]);
});

test("what a system keeps in a folder is not meant", () => {
  const kept = meant(found("pets/cat/1.png", "pets/.DS_Store", "pets/cat/Thumbs.db", "__MACOSX/pets/1.png"));
  assert.deepEqual(pluck(kept, "path"), ["pets/cat/1.png"]);
});
