import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applied,
  buttonsOf,
  decisionOf,
  decisionText,
  kindsOf,
  looked,
  nextRow,
  said,
} from "../../src/clean/review_sheet/rows.ts";

const row = (image, suggestion = null) => ({ kind: "suspect", image, label: 1, suggestion });
const DIGITS = ["1", "2", "3"];

test("keys decide about a row", () => {
  assert.equal(decisionOf("c", row(4), DIGITS).action, "confirm");
  assert.equal(decisionOf("x", row(4), DIGITS).action, "exclude");
  assert.deepEqual(decisionOf("r", row(4, 2), DIGITS), { image: 4, action: "relabel", label: 2, tag: null });
  assert.equal(decisionOf("r", row(4), DIGITS), null);
  assert.equal(decisionOf("3", row(4), DIGITS).label, 2); // the class that is called 3
  assert.equal(decisionOf("1", row(4), ["cat", "dog"]).label, 1);
  assert.equal(decisionOf("9", row(4), ["cat", "dog"]), null);
  assert.equal(decisionOf("q", row(4), DIGITS), null);
});

test("buttons name the classes", () => {
  const texts = (row, classes) =>
    buttonsOf(row, classes).map(([, verb, name]) => [verb, name].filter(Boolean).join(" "));
  assert.deepEqual(texts({ label: 7, suggestion: 6 }, [..."0123456789"]), ["Keep 7", "Change to 6", "Exclude", "Undo"]);
  assert.deepEqual(texts({ label: 1, suggestion: null }, DIGITS), ["Keep 2", "Exclude", "Undo"]);
});

test("a tag leaves a decision alone, and undo takes it back", () => {
  const excluded = applied(undefined, { image: 1, action: "exclude", label: null, tag: null });
  assert.deepEqual(applied(excluded, { image: 1, action: "tag", label: null, tag: "torn" }), {
    action: "exclude",
    label: null,
    tag: "torn",
  });
  assert.equal(decisionText(applied(excluded, { image: 1, action: "tag", tag: "torn" }), DIGITS), "excluded · “torn”");
  assert.equal(applied(excluded, { image: 1, action: "undo" }), undefined);
  assert.equal(decisionText({ action: "relabel", label: 2, tag: "" }, DIGITS), "is 3");
});

test("after a decision comes the next open row", () => {
  const rows = [row(5), row(6), row(7)];
  assert.equal(nextRow(rows, { 6: { action: "confirm" } }, 0), 2);
  assert.equal(nextRow(rows, {}, 2), 2);
});

test("small classes whose labels were not compared are counted", () => {
  const answer = { state: "finished", part: 2, images: 1200, steps: [0, 5] };
  assert.equal(looked("suspect", answer), "1,200 training images, embedded by 2 nets of the run.");
  assert.match(looked("suspect", { ...answer, uncompared: 1 }), /The label of 1 image was not compared/);
  assert.match(looked("suspect", { ...answer, uncompared: 1100 }), /The labels of 1,100 images were not compared/);
  assert.match(
    looked("suspect", { ...answer, recall: 0.967 }),
    /At least 96% of the neighbors found are the nearest\./,
  );
  assert.match(looked("suspect", { ...answer, part: 1 }), /^A first look at 1,200 of the training images;/);
  assert.equal(looked("outlier", { ...answer, uncompared: 3 }), looked("outlier", answer));
});

test("points of the plane are no images", () => {
  const noun = "training point";
  assert.equal(
    said("Training images with the pixels of an image.", noun),
    "Training points with the pixels of a point.",
  );
  assert.equal(kindsOf({ part: 2, noun }).length, 5);
});

test("of own vectors it says what they are, and there are no leaks", () => {
  const answer = { part: 2, images: 20_000, steps: [], noun: "row", notes: ["200 rows without a label: …"] };
  assert.equal(looked("suspect", answer), "20,000 rows, by their own vectors. 200 rows without a label: …");
  assert.match(
    looked("suspect", { ...answer, uncompared: 2, steps: [80] }),
    /of step 80\..* The labels of 2 rows were/,
  );
  const titles = (answer) => kindsOf(answer).map(({ title }) => title);
  assert.deepEqual(titles(answer), ["Suspect labels", "Near duplicates", "Outliers"]);
  assert.deepEqual(titles({ part: 2 }), ["Suspect labels", "Ambiguous", "Near duplicates", "Leaks", "Outliers"]);
});
