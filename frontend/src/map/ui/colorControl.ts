// What points are colored by: the menu in the toolbar, the scale on the stage, the numbers behind it.
import { ramp } from "../../lib/palette.ts";
import { css } from "../../lib/theme.ts";
import { context2d, h } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import type { ColumnInfo } from "../../protocol.ts";
import type { MapData } from "../data/expandProps.ts";
import type { Grades, Model } from "../data/model.ts";
import type { MapState } from "../data/state.ts";
import { COLUMN, columnText, loadColumn } from "../data/columnColors.ts";
import { loadColumns, loadNumbers } from "../data/fetchItems.ts";
import { errorColor } from "../render/pointColors.ts";

interface Choice {
  title: string;
  help?: string;
  /** Of numbers: from where to where the scale goes, its ends in words, and which of them to look at. */
  range?: (numbers: Float32Array) => [number, number];
  low?: string;
  high?: string;
  alarming?: (share: number) => number;
}

const CHOICES: Record<string, Choice> = {
  class: { title: "Class" },
  error: { title: "Error", help: "images whose nearest test image is of a different class" },
  faithfulness: {
    title: "Faithfulness",
    help: "share of the 10 nearest neighbors in the embedding that are also among the 10 nearest on the map: low = map is unreliable here",
    range: () => [0, 1],
    low: "0 of 10 neighbors preserved",
    high: "all",
    alarming: (share) => 1 - share,
  },
  center: {
    title: "Distance to class center",
    help: "distance in the embedding to the mean of the image's class",
    range: rangeOf,
    alarming: (share) => share,
  },
};

// One address for all names, or one for each.
const addressOf = (values: MapData["values"], name: string): string | undefined =>
  typeof values === "string" ? values.replace("{name}", name) : values?.[name];

/** From 0 to what 99 of 100 stay below. */
export function rangeOf(numbers: Float32Array): [number, number] {
  const known = numbers.filter(Number.isFinite).sort();
  return [0, known.length ? known[Math.floor(0.99 * (known.length - 1))] || 1 : 1];
}

export class ColorControl {
  /** What points are colored by. */
  name = "class";
  readonly menu: HTMLElement;
  private select: HTMLSelectElement;
  private bar = h("canvas", { width: 120, height: 1 });
  private words = h("div", "scale-words");
  private title = h("div", "scale-title");
  readonly scale = h("div", { class: "scale", hidden: true }, this.title, this.bar, this.words);
  private wanted = "";
  /** The columns that points can be colored by. */
  columns: ColumnInfo[] = [];
  private listed: string | undefined; // the address of the columns in the menu

  /** `chosen(name)` hears what a person picks. */
  constructor(chosen: (name: string) => void) {
    const options = Object.entries(CHOICES).map(([name, { title, help }]) =>
      h("option", { value: name, title: help ?? "" }, title),
    );
    this.select = h("select", { "aria-label": "Color by", title: "Point color" }, ...options);
    this.select.addEventListener("change", () => chosen(this.select.value));
    this.menu = h("label", { class: "group color-by" }, "Color", this.select);
  }

  /**
   * What is shown of what Python said: the name, and addresses by name; resolves when the numbers are in the model, with
   * whether points are now grouped by something else.
   */
  async setSource(data: MapData, model: Model): Promise<boolean> {
    const { color = "class", values = {}, n } = data;
    if (data.columns_url !== this.listed) await this.listColumns(data.columns_url);
    const column = this.columns.find(({ name }) => COLUMN + name === color);
    this.name = color in CHOICES || column ? color : "class";
    this.select.value = this.name;
    for (const option of this.select.options) {
      option.disabled =
        CHOICES[option.value]?.range !== undefined &&
        addressOf(values, option.value) === undefined &&
        option.value !== this.name;
    }
    if (column && data.column_url) return this.setColumn(column, data.column_url, model);
    const regrouped = model.groupBy(null);
    const { range, alarming } = CHOICES[this.name];
    const url = range ? addressOf(values, this.name) : null;
    const wanted = (this.wanted = `${this.name} ${url}`);
    if (!url || !range || !alarming) {
      model.grades = null;
      return regrouped;
    }
    if (model.grades?.url === url) return regrouped;
    const numbers = await loadNumbers(url, n);
    if (this.wanted !== wanted) return regrouped;
    const [low, high] = range(numbers);
    model.grades = { url, numbers, low, high, alarming };
    return regrouped;
  }

  private async setColumn(column: ColumnInfo, column_url: string, model: Model): Promise<boolean> {
    const wanted = (this.wanted = `${COLUMN}${column.name} ${column_url}`);
    const { grades, grouping } = await loadColumn(column, column_url, model.n);
    if (this.wanted !== wanted) return false;
    model.grades = grades;
    return model.groupBy(grouping);
  }

  // The columns stand in the menu below what the map knows itself.
  private async listColumns(url: string | undefined): Promise<void> {
    const columns = await loadColumns(url);
    this.listed = url;
    this.columns = columns;
    this.select.querySelector("optgroup")?.remove();
    if (!columns.length) return;
    const options = columns.map(({ name }) => h("option", { value: COLUMN + name }, name));
    this.select.append(h("optgroup", { label: "Columns" }, ...options));
  }

  /** Bring the scale up to date; `wrong` is how many errors are visible. */
  update({ model, theme }: MapState, wrong: number): void {
    const { grades } = model;
    const errors = this.name === "error" && model.nearest !== null;
    this.scale.hidden = !grades && !errors;
    if (this.scale.hidden) return;
    const chosen = CHOICES[this.name] ?? this.columnChoice(grades);
    this.title.textContent = chosen.title;
    this.title.title = chosen.help ?? "";
    this.bar.hidden = !grades;
    if (errors) {
      const dot = h("span", { class: "dot", style: `background: ${css(errorColor(theme))}` });
      this.words.replaceChildren(dot, `nearest neighbor of a different class: ${grouped(wrong)}`);
      return;
    }
    if (grades) this.drawScale(grades, chosen, ramp(theme));
  }

  private columnChoice(grades: Grades | null): Choice {
    const column = this.columns.find(({ name }) => COLUMN + name === this.name) as ColumnInfo;
    const { name, low, high } = column;
    if (!grades || low === null || high === null) return { title: name };
    const short = (value: number) => columnText(column, value);
    return {
      title: name,
      help: `from ${short(low)} to ${short(high)}; 1 of 100 lie beyond each end of the scale`,
      low: low < grades.low ? `${short(grades.low)} or ${column.start === null ? "less" : "earlier"}` : short(low),
      high: high > grades.high ? `${short(grades.high)} or ${column.start === null ? "more" : "later"}` : short(high),
    };
  }

  private drawScale(grades: Grades, chosen: Choice, colorAt: ReturnType<typeof ramp>): void {
    const context = context2d(this.bar);
    for (let x = 0; x < 120; x++) {
      context.fillStyle = css(colorAt(grades.alarming(x / 119)));
      context.fillRect(x, 0, 1, 1);
    }
    const high = chosen.high ?? `${grades.high.toPrecision(2)} or more`;
    this.words.replaceChildren(h("span", {}, chosen.low ?? String(grades.low)), h("span", {}, high));
  }
}
