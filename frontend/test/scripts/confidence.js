// Reads {calibration, images: [{distance, agreeing, name}]} from standard input; says the confidence of each.
import { readFileSync } from "node:fs";

import { confidenceOf } from "../../src/standalone/confidence.ts";

const { calibration, images } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(images.map((image) => confidenceOf(calibration, image))));
