// @ts-nocheck
// What points are coloured by: the menu in the toolbar, the scale on the stage, the numbers behind it.
import { ramp } from "../../lib/palette.ts";
import { css } from "../../lib/theme.ts";
import { element, grouped } from "../../lib/dom.ts";
import { loadNumbers } from "../data/fetchItems.ts";
import { wrongColour } from "../render/pointColors.ts";

const CHOICES = {
  class: { title: "Class" },
  error: { title: "Error", help: "images whose nearest test image is of another class" },
  faithfulness: {
    title: "Faithfulness",
    help: "share of the 10 nearest in the embedding that are among the 10 nearest on the map: low where the picture lies",
    range: () => [0, 1],
    low: "none of 10 nearest kept",
    high: "all",
    alarming: (share) => 1 - share,
  },
  centre: {
    title: "Distance to class centre",
    help: "distance in the embedding to the mean of the image's class",
    range: rangeOf,
    alarming: (share) => share,
  },
};

// One address for all names, or one for each.
const addressOf = (values, name) => (typeof values === "string" ? values.replace("{name}", name) : values[name]);

/** From 0 to what 99 of 100 stay below. */
export function rangeOf(numbers) {
  const known = numbers.filter(Number.isFinite).sort();
  return [0, known.length ? known[Math.floor(0.99 * (known.length - 1))] || 1 : 1];
}

export class Colouring {
  /** `chosen(name)` hears what a person picks. */
  constructor(chosen) {
    this.name = "class";
    const options = Object.entries(CHOICES).map(([name, { title, help }]) => element("option", { value: name, title: help ?? "" }, title));
    this.select = element("select", { "aria-label": "Colour by", title: "What the points are coloured by" }, ...options);
    this.select.addEventListener("change", () => chosen(this.select.value));
    this.menu = element("label", { class: "group colour-by" }, "Colour", this.select);
    this.bar = element("canvas", { width: 120, height: 1 });
    this.words = element("div", { class: "scale-words" });
    this.title = element("div", { class: "scale-title" });
    this.scale = element("div", { class: "scale", hidden: true }, this.title, this.bar, this.words);
  }

  /** What is shown of what Python said: the name, and addresses by name; resolves when the numbers are in the model. */
  async take({ colour = "class", values = {}, n }, model) {
    this.name = colour in CHOICES ? colour : "class";
    this.select.value = this.name;
    for (const option of this.select.options) {
      option.disabled = CHOICES[option.value].range !== undefined && addressOf(values, option.value) === undefined && option.value !== this.name;
    }
    const url = CHOICES[this.name].range ? addressOf(values, this.name) : null;
    const wanted = (this.wanted = `${this.name} ${url}`);
    if (!url) {
      model.numbers = null;
      return;
    }
    if (model.numbers?.url === url) return;
    const numbers = await loadNumbers(url, n);
    if (this.wanted !== wanted) return;
    const [low, high] = CHOICES[this.name].range(numbers);
    model.numbers = { url, numbers, low, high, alarming: CHOICES[this.name].alarming };
  }

  /** Bring the scale up to date; `wrong` is how many errors are visible. */
  update({ model, theme }, wrong) {
    const { numbers } = model;
    const errors = this.name === "error" && model.nearest;
    this.scale.hidden = !numbers && !errors;
    if (this.scale.hidden) return;
    const chosen = CHOICES[this.name];
    this.title.textContent = chosen.title;
    this.title.title = chosen.help;
    this.bar.hidden = !numbers;
    if (errors) {
      const dot = element("span", { class: "dot", style: `background: ${css(wrongColour(theme))}` });
      this.words.replaceChildren(dot, `nearest image of another class: ${grouped(wrong)}`);
      return;
    }
    const context = this.bar.getContext("2d");
    const colourAt = ramp(theme);
    for (let x = 0; x < 120; x++) {
      context.fillStyle = css(colourAt(numbers.alarming(x / 119)));
      context.fillRect(x, 0, 1, 1);
    }
    const high = chosen.high ?? `${numbers.high.toPrecision(2)} or more`;
    this.words.replaceChildren(element("span", {}, chosen.low ?? String(numbers.low)), element("span", {}, high));
  }
}
