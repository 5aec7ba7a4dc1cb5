// Coloring of the points: the menu in the toolbar, the scale on the stage, the numbers behind it.
import { ramp, UNLABELED } from "../../lib/palette.ts";
import { css } from "../../lib/theme.ts";
import { context2d, h } from "../../lib/dom.ts";
import { explain } from "../../lib/glossary.ts";
import { grouped } from "../../lib/format.ts";
import type { ColumnInfo } from "../../protocol.ts";
import type { MapData } from "../data/expandProps.ts";
import type { Grades, Model } from "../data/model.ts";
import type { MapState } from "../data/state.ts";
import { COLUMN, columnText, loadColumn } from "../data/columns.ts";
import { loadColumns, loadMeasured } from "../data/fetchItems.ts";
import { accuracyWords } from "./cards.ts";
import { errorColor } from "../render/pointColors.ts";

interface Choice {
  title: string;
  help?: string;
  /** The reason why it cannot be chosen; absent if it can. */
  missing?: string;
  /** Of numbers: from where to where the scale goes, its ends in words, and which of them to look at. */
  range?: (numbers: Float32Array) => [number, number];
  low?: string;
  high?: string;
  alarming?: (share: number) => number;
}

const NO_VALUES = "not known for this map: it needs a finished map of one epoch, after the training";
const NO_DYNAMICS = "known of the tracked points after a training with three snapshots or more";

const CHOICES: Record<string, Choice> = {
  class: { title: "Class" },
  error: {
    title: "Error",
    help: "points whose nearest other one is of a different class",
    missing: "known in the app when the training has finished",
  },
  faithfulness: {
    title: "Faithfulness",
    help: "share of the 10 nearest neighbors in the embedding that are also among the 10 nearest on the map: low = map is unreliable here",
    range: () => [0, 1],
    low: "0 of 10 neighbors preserved",
    high: "all",
    alarming: (share) => 1 - share,
    missing: NO_VALUES,
  },
  center: {
    title: "Distance to class center",
    help: "distance in the embedding to the mean of its class",
    range: rangeOf,
    alarming: (share) => share,
    missing: NO_VALUES,
  },
  confidence: {
    title: "Confidence over the training",
    help: "mean over the snapshots of the share of a point's 10 nearest neighbors that have its class: low = hard",
    range: () => [0, 1],
    low: "0 of 10",
    high: "all",
    alarming: (share) => 1 - share,
    missing: NO_DYNAMICS,
  },
  variability: {
    title: "Variability over the training",
    help: "standard deviation of that share over the snapshots: high = ambiguous",
    range: () => [0, 0.5],
    alarming: (share) => share,
    missing: NO_DYNAMICS,
  },
  forgotten: {
    title: "Times forgotten",
    help: "how often most neighbors had its class at one snapshot, and no more at the next",
    range: (numbers) => [0, Math.max(1, rangeOf(numbers)[1])],
    alarming: (share) => share,
    missing: NO_DYNAMICS,
  },
};

const OF_CLASSES = ["error", "center", "confidence", "variability", "forgotten"]; // say nothing where nothing has a label

/** From 0 to what 99 of 100 stay below. */
export function rangeOf(numbers: Float32Array): [number, number] {
  const finite = numbers.filter(Number.isFinite).sort();
  return [0, finite.length ? finite[Math.floor(0.99 * (finite.length - 1))] || 1 : 1];
}

const SEARCHING = "computing neighbors …";

export class ColorControl {
  /** The coloring of the points. */
  name = "class";
  readonly menu: HTMLElement;
  private select: HTMLSelectElement;
  private bar = h("canvas", { width: 120, height: 1 });
  private words = h("div", "scale-words");
  private title = h("div", "scale-title");
  private note = h("div", { class: "scale-note", hidden: true });
  readonly scale = h("div", { class: "scale", hidden: true }, this.title, this.bar, this.words, this.note);
  private key = "";
  private pending = false; // whether what points are to be colored by is still computed
  /** The columns that points can be colored by. */
  columns: ColumnInfo[] = [];
  private columnsAddress: string | undefined; // the address of the columns in the menu

  /** `chosen(name)` hears what a person picks. */
  constructor(onChoice: (name: string) => void) {
    const options = Object.entries(CHOICES).map(([name, { title, help }]) =>
      h("option", { value: name, title: help ?? "" }, title),
    );
    this.select = h("select", { "aria-label": "Color by", title: "Point color" }, ...options);
    this.select.addEventListener("change", () => onChoice(this.select.value));
    this.menu = h("label", "color-by", "Color", this.select);
  }

  /**
   * Show by what points are colored, with the addresses that the server gave; resolves when the numbers are in the model, with
   * whether points are now grouped by something else.
   */
  async setSource(data: MapData, model: Model): Promise<boolean> {
    const { values = {}, n } = data;
    const { color } = model.store.state;
    if (data.columns_url !== this.columnsAddress) await this.listColumns(data.columns_url);
    // An address may name a column alone where no other choice is called so.
    const column = this.columns.find(({ name }) => COLUMN + name === color || (name === color && !(color in CHOICES)));
    const known = (name: string) => !OF_CLASSES.includes(name) || model.classes.some((one) => one !== UNLABELED);
    this.name = column ? COLUMN + column.name : color in CHOICES && known(color) ? color : "class";
    this.select.value = this.name;
    for (const option of this.select.options) {
      const { help = "", missing } = CHOICES[option.value] ?? {};
      const address = option.value === "error" ? data.nearest_url : values[option.value];
      const isKnown = known(option.value);
      option.disabled = !isKnown || (missing !== undefined && address === undefined && option.value !== this.name);
      option.title = option.disabled ? `${help}; ${isKnown ? missing : "there are no labels"}` : help;
    }
    if (column && data.column_url) return this.setColumn(column, data.column_url, model);
    const regrouped = model.groupBy(null);
    const { range, alarming } = CHOICES[this.name];
    const url = range ? values[this.name] : null;
    const key = (this.key = `${this.name} ${url}`);
    this.pending = false;
    if (!url || !range || !alarming) {
      model.grades = null;
      return regrouped;
    }
    if (model.grades?.url === url) return regrouped;
    if (this.name === "faithfulness") this.awaitNumbers();
    const { numbers, accuracy } = await loadMeasured(url, n).finally(() => {
      if (this.key === key) this.pending = false;
    });
    if (this.key !== key) return regrouped;
    const [low, high] = range(numbers);
    model.grades = { url, numbers, low, high, alarming, accuracy };
    return regrouped;
  }

  private async setColumn(column: ColumnInfo, column_url: string, model: Model): Promise<boolean> {
    const key = (this.key = `${COLUMN}${column.name} ${column_url}`);
    this.pending = false;
    const { grades, grouping } = await loadColumn(column, column_url, model.n);
    if (this.key !== key) return false;
    model.grades = grades;
    return model.groupBy(grouping);
  }

  // The columns stand in the menu below what the map knows itself.
  private async listColumns(url: string | undefined): Promise<void> {
    const columns = await loadColumns(url);
    this.columnsAddress = url;
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
    const searching = this.pending || (this.name === "error" && model.searching);
    this.scale.hidden = !grades && !errors && !searching;
    if (this.scale.hidden) return;
    const choice = CHOICES[this.name] ?? this.columnChoice(grades);
    if (searching) {
      this.showWords(choice, SEARCHING);
      return;
    }
    this.showWords(choice, "");
    this.bar.hidden = !grades;
    const accuracy = errors ? model.nearest?.accuracy : grades?.accuracy;
    const known = grades?.numbers.filter(Number.isFinite).length ?? model.n;
    const of = known < model.n ? `known of ${grouped(known)} of ${grouped(model.n)}` : "";
    this.note.textContent = accuracy ? accuracyWords(accuracy, model.noun) : of;
    this.note.hidden = !this.note.textContent;
    if (errors) {
      const dot = h("span", { class: "dot", style: `background: ${css(errorColor(theme))}` });
      this.words.replaceChildren(dot, `nearest neighbor of a different class: ${grouped(wrong)}`);
      return;
    }
    if (grades) this.drawScale(grades, choice, ramp(theme));
  }

  private awaitNumbers(): void {
    this.pending = true;
    this.showWords(CHOICES[this.name], SEARCHING);
  }

  private showWords({ title, help = "" }: Choice, words: string): void {
    this.scale.hidden = false;
    this.title.replaceChildren(this.name === "faithfulness" ? explain(h("span", null, title), this.name) : title);
    this.title.title = help;
    this.bar.hidden = this.note.hidden = true;
    this.words.replaceChildren(words);
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

  private drawScale(grades: Grades, choice: Choice, colorAt: ReturnType<typeof ramp>): void {
    const context = context2d(this.bar);
    for (let x = 0; x < 120; x++) {
      context.fillStyle = css(colorAt(grades.alarming(x / 119)));
      context.fillRect(x, 0, 1, 1);
    }
    const high = choice.high ?? `${grades.high.toPrecision(2)} or more`;
    this.words.replaceChildren(h("span", null, choice.low ?? String(grades.low)), h("span", null, high));
  }
}
