// Says the colors that the page gives to classes and to pairs of one class and of two. See tests/figures.
import { NEGATIVE_COLOR, POSITIVE_COLOR } from "../../src/batch_explorer/batchDrawing.ts";
import { classColors } from "../../src/lib/palette.ts";

const hex = (color) => "#" + color.map((value) => value.toString(16).padStart(2, "0")).join("");
const themed = (color) => ({ light: hex(color.light), dark: hex(color.dark) });
console.log(
  JSON.stringify({
    classes: { light: classColors(40, false).map(hex), dark: classColors(40, true).map(hex) },
    same: themed(POSITIVE_COLOR),
    different: themed(NEGATIVE_COLOR),
  }),
);
