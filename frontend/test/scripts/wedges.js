// Reads [{angles, margins}] from standard input; says the wedges that the map draws, and how long one set takes in
// microseconds. See tests/training/test_class_arcs.py.
import { readFileSync } from "node:fs";

import { wedges } from "../../src/map/render/spaceOverlay.ts";

const questions = JSON.parse(readFileSync(0, "utf8"));
const began = performance.now();
for (let i = 0; i < 1000; i++) wedges(questions[0].angles, questions[0].margins);
const microseconds = performance.now() - began;
console.log(JSON.stringify({ wedges: questions.map(({ angles, margins }) => wedges(angles, margins)), microseconds }));
