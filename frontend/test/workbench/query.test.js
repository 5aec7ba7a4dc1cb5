// A drawing as an image, and the frame about a thing on a picture.
import assert from "node:assert/strict";
import test from "node:test";
import { encodeBase64 } from "../../src/lib/base64.ts";
import {
  afterKey,
  centeredAt,
  cornersOf,
  facing,
  frameParameter,
  isSame,
  pointOf,
  withCorner,
} from "../../src/workbench/query/frameGeometry.ts";
import { DrawingQuestion, PictureQuestion } from "../../src/workbench/query/questions.ts";
import { SIDE, encodeDrawing, rasterize } from "../../src/workbench/query_pad/queryPad.tsx";

const at = (ink, x, y) => ink[Math.floor(y * SIDE) * SIDE + Math.floor(x * SIDE)];

test("a tap leaves one round dot and nothing else", () => {
  const ink = rasterize([[[0.5, 0.5]]]);
  assert.equal(at(ink, 0.5, 0.5), 255);
  const inked = ink.filter((value) => value > 0).length;
  assert.ok(inked > 8 && inked < 40, `${inked} pixels`);
});

test("a line is inked along its whole length, however far apart its points are", () => {
  const ink = rasterize([
    [
      [0.1, 0.2],
      [0.9, 0.7],
    ],
  ]);
  for (let t = 0; t <= 1; t += 0.05) assert.equal(at(ink, 0.1 + 0.8 * t, 0.2 + 0.5 * t), 255);
  assert.equal(at(ink, 0.1, 0.7), 0);
});

test("strokes that leave the pad are cut at its edge", () => {
  const ink = rasterize([
    [
      [-0.5, 0.5],
      [1.5, 0.5],
    ],
  ]);
  assert.equal(at(ink, 0.01, 0.5), 255);
  assert.equal(at(ink, 0.99, 0.5), 255);
});

test("crossing strokes do not darken each other", () => {
  const one = [
    [0.2, 0.5],
    [0.8, 0.5],
  ];
  assert.deepEqual(rasterize([one, one]), rasterize([one]));
});

test("separate strokes are not joined", () => {
  const ink = rasterize([[[0.2, 0.2]], [[0.8, 0.8]]]);
  assert.equal(at(ink, 0.5, 0.5), 0);
});

test("an empty pad is no drawing", () => assert.equal(encodeDrawing([]), null));

test("a drawing carries every byte of its ink", () => {
  const drawing = encodeDrawing([[[0.5, 0.5]]]);
  assert.equal(atob(drawing.ink).length, SIDE * SIDE);
  assert.equal(encodeBase64(new Uint8Array([0, 127, 255])), "AH//");
});

const SIZE = { width: 400, height: 300 };
const FRAME = { x: 0.5, y: 0.5, width: 0.25, height: 0.5, angle: 0 };
const near = (a, b, words) =>
  a.forEach((value, i) => assert.ok(Math.abs(value - b[i]) < 1e-6, `${words ?? ""} ${a} ${b}`));

test("the corners of a frame follow its angle, clockwise as the picture is seen", () => {
  near(cornersOf(FRAME, SIZE).flat(), [150, 75, 250, 75, 250, 225, 150, 225]);
  near(pointOf({ ...FRAME, angle: 90 }, SIZE, 0, -1), [275, 150], "the top now looks to the right");
});

test("a frame is moved by its center, which stays in the picture", () => {
  const { x, y, ...rest } = centeredAt(FRAME, SIZE, [900, -4]);
  near([x, y], [1, 0]);
  assert.deepEqual(rest, { width: 0.25, height: 0.5, angle: 0 });
});

test("a corner follows the pointer and the corner opposite stays, whatever the angle", () => {
  for (const angle of [0, 30, 145, 270]) {
    const frame = { ...FRAME, angle };
    for (const corner of [0, 1, 2, 3]) {
      const before = cornersOf(frame, SIZE);
      const center = pointOf(frame, SIZE, 0, 0);
      const target = before[corner].map((value, i) => value + 0.2 * (value - center[i]));
      const after = cornersOf(withCorner(frame, SIZE, corner, target), SIZE);
      near(after[corner], target, `corner ${corner} at ${angle}`);
      near(after[(corner + 2) % 4], before[(corner + 2) % 4], `opposite of ${corner} at ${angle}`);
    }
  }
});

test("a frame never becomes empty or turns over", () => {
  const small = withCorner(FRAME, SIZE, 2, [0, 0]);
  assert.ok(small.width > 0 && small.height > 0);
});

test("the handle turns the frame to face the pointer", () => {
  assert.equal(facing(FRAME, SIZE, [0, -1], [200, 0]).angle, 0);
  assert.equal(facing(FRAME, SIZE, [0, -1], [400, 150]).angle, 90);
  assert.equal(facing(FRAME, SIZE, [0, 1], [200, 300]).angle, 0);
  assert.equal(facing(FRAME, SIZE, [1, 0], [200, 300]).angle, 90);
  const turned = facing(FRAME, SIZE, [0, -1], [260, 60]);
  const [x, y] = pointOf(turned, SIZE, 0, -1);
  assert.ok(Math.abs(Math.atan2(60 - 150, 260 - 200) - Math.atan2(y - 150, x - 200)) < 0.01);
});

test("keys move, resize and turn; others do nothing", () => {
  assert.ok(afterKey(FRAME, SIZE, "ArrowLeft").x < FRAME.x);
  assert.ok(afterKey(FRAME, SIZE, "ArrowDown").y > FRAME.y);
  assert.ok(afterKey(FRAME, SIZE, "+").width > FRAME.width);
  assert.ok(isSame(afterKey(afterKey(FRAME, SIZE, "+"), SIZE, "-"), FRAME));
  assert.equal(afterKey(FRAME, SIZE, "[").angle, 355);
  assert.equal(afterKey(FRAME, SIZE, "]").angle, 5);
  for (const key of ["a", "Tab", "Enter", "Escape"]) assert.equal(afterKey(FRAME, SIZE, key), null);
});

test("an address names a frame by five numbers", () => {
  assert.equal(
    frameParameter({ x: 1 / 3, y: 0.5, width: 0.25, height: 0.125, angle: 350 }),
    "0.3333,0.5,0.25,0.125,350",
  );
});

test("a question that waits is said to after a moment, and no more once it is answered", async (t) => {
  const question = new DrawingQuestion();
  let answer;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(globalThis, "fetch", () => new Promise((done) => (answer = done)));
  question.send({ url: "http://server/query?", view: "", live: false }, { side: 1, ink: "" });
  assert.equal(question.waiting, "");
  t.mock.timers.tick(400);
  assert.equal(question.waiting, "Finding its neighbors …");
  const answered = new Promise((done) => (question.onChange = done));
  answer(Response.json({ places: { views: {}, ways: {} } }));
  await answered;
  assert.equal(question.waiting, "");
});

test("what a finished run cannot answer yet, or answers without the map that is shown, is asked again for a while", async (t) => {
  const question = new DrawingQuestion();
  const busy = () => Response.json({ error: "Ask again." }, { status: 503 });
  const answers = [busy, () => Response.json({ places: { views: { live: [[0, 0]] }, ways: {} } })];
  let asked = 0;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(globalThis, "fetch", async () => answers[Math.min(asked++, answers.length - 1)]());
  const wait = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    t.mock.timers.tick(40_000);
  };
  question.send({ url: "http://server/query?", view: "tsne", live: false }, { side: 1, ink: "" });
  await wait();
  await wait();
  assert.equal(asked, 3);
  answers.push(() => Response.json({ places: { views: { tsne: [[1, 2]] }, ways: {} } }));
  for (let turn = 0; turn < 3; turn++) await wait();
  assert.deepEqual(question.answer?.places.views, { tsne: [[1, 2]] });
  const until = asked;
  await wait();
  assert.equal(asked, until);
  answers.push(busy);
  question.send({ url: "http://server/query?", view: "tsne", live: false }, { side: 1, ink: "" });
  for (let turn = 0; turn < 12; turn++) await wait();
  assert.ok(asked - until <= 6, "not for ever");
});

test("the picture before is not kept under the next one's name", async (t) => {
  const question = Object.assign(new PictureQuestion(), { picture: { small: "before" }, answer: {} });
  t.mock.method(globalThis, "fetch", () => new Promise(() => {}));
  assert.equal(question.keepable.question, "before");
  void question.send({ url: "/query", view: "" }, new Blob(["x"]), "next.png");
  assert.equal(question.keepable, null);
});

test("a picture whose connection breaks is sent again by itself, not the one before it", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const settle = () => new Promise((done) => setImmediate(done));
  const question = Object.assign(new PictureQuestion(), { picture: { small: "before", url: "" }, answer: {} });
  const sent = [];
  t.mock.method(globalThis, "fetch", async (_address, { body }) => {
    sent.push(body);
    if (sent.length < 2) throw new TypeError("Failed to fetch");
    return Response.json({ picture: "AA==", frames: [], places: { views: {} } });
  });
  const next = new Blob(["x"]);
  await question.send({ url: "/query", view: "" }, next, "next.png");
  assert.match(question.trouble, /^next.png: The server did not answer/);
  t.mock.timers.tick(1000);
  await settle();
  await settle();
  assert.deepEqual([sent, question.trouble, question.picture.name], [[next, next], "", "next.png"]);
});
