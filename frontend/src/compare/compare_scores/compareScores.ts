// Differences of two runs: their scores at the shown steps, and the images that only one gets right.
import { heeding } from "../../lib/boundary.ts";
import type { Agreement, ComparedSide, CompareProps, MapQuality, Nouns } from "../../protocol.ts";
import { onAnimationFrame, RunSubscription } from "../../charts/runSubscription.ts";
import { unpackBits } from "../../lib/bitmask.ts";
import { bus } from "../../lib/bus.ts";
import { h, setData } from "../../lib/dom.ts";
import { counted, grouped, ITEM, signed } from "../../lib/format.ts";
import { explain } from "../../lib/glossary.ts";
import { component } from "../../lib/mount.ts";
import { captionAt, emptyScores, reduceScores, scoresAt, type ScoreState } from "../../workbench/scores/scoreState.ts";
import style from "./compareScores.css";
import { fetchServer } from "../../lib/server.ts";

interface ScoreRow {
  key: string;
  label: string;
  title: string;
  a: number | null;
  b: number | null;
  difference: number | null;
}

/** Of two runs. */
type Both<T> = readonly [T, T];

type AgreementName = "both" | "first" | "second" | "neither";

/** The scores of two readings, row by row; null where one is not known. */
function scoreRows([a, b]: Both<ScoreState>, [stepA, stepB]: Both<number | null>): ScoreRow[] {
  const others = scoresAt(b, stepB);
  const rows = scoresAt(a, stepA).map((score, i) => ({ ...score, other: others[i] }));
  return rows
    .filter(({ absent, other }) => !absent || !other.absent)
    .map(({ key, label, title, value, other: { value: second } }) => {
      return {
        key,
        label,
        title,
        a: value,
        b: second,
        difference: value === null || second === null ? null : second - value,
      };
    });
}

/** On which images both were measured and when; where that differs it is said of each. */
function captionOf([a, b]: Both<ScoreState>, [stepA, stepB]: Both<number | null>): string {
  const [one, other] = [captionAt(a, stepA), captionAt(b, stepB)];
  return one === other
    ? `Both: ${one.charAt(0).toLowerCase()}${one.slice(1)}.`
    : `First: ${lowerFirst(one)}. Second: ${lowerFirst(other)}.`;
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** Description of a table cell, as the reason of a selection. */
function agreementReason(cell: AgreementName, [a, b]: Both<string>, item: string): string {
  const right = `Their nearest ${item} is of their own class`;
  return {
    both: `${right} in both runs`,
    first: `${right} in “${a}” but not in “${b}”`,
    second: `${right} in “${b}” but not in “${a}”`,
    neither: `Their nearest ${item} is of a different class in both runs`,
  }[cell];
}

const ALIKE = 5e-4; // a difference that three digits do not show

class CompareScores {
  private readonly heed = heeding();
  private root = h("section", { class: "compare-scores", "aria-label": "Scores of both runs" });
  private draw = onAnimationFrame(() => this.render());
  private readings: [ScoreState, ScoreState] = [emptyScores(), emptyScores()];
  private steps: [number | null, number | null] = [null, null];
  private sides: ComparedSide[] = [];
  private noun?: string;
  private complete = false;
  private quality: MapQuality | undefined;
  private cells: Agreement | null = null;
  private url: string | null = null;
  private subscriptions: RunSubscription[];
  private leave: () => void;

  constructor(parent: ParentNode) {
    parent.append(this.root);
    this.subscriptions = ([0, 1] as const).map(
      (side) =>
        new RunSubscription(
          () => {
            this.readings[side] = emptyScores(this.noun);
            this.steps[side] = null;
            this.draw();
          },
          (event) => {
            if (reduceScores(this.readings[side], event)) this.draw();
          },
        ),
    );
    this.leave = bus.on("frame", ({ run, view, step, index, count }) => {
      const side = this.sides.findIndex((one) => one.run === run);
      if (side < 0) return;
      this.steps[side] = view !== "live" || index === count - 1 ? null : step; // a projection draws the end
      this.draw();
    });
  }

  update({ sides, complete, quality, cells, cells_url: url, noun }: CompareProps & Nouns): void {
    this.sides = sides;
    this.noun = noun;
    for (const readings of this.readings) readings.noun = noun;
    this.quality = quality;
    this.complete = complete;
    if (cells || (url ?? null) !== this.url) this.cells = cells ?? null;
    if (url && url !== this.url) this.heed(this.fetchCells(url));
    this.url = url ?? null;
    sides.forEach((side, i) =>
      this.subscriptions[i].subscribe({ run: side.run, begun: side.begun, events_url: side.events_url }),
    );
    this.draw();
  }

  private async fetchCells(url: string): Promise<void> {
    const response = await fetchServer(url).catch(() => null);
    const cells = response?.ok ? ((await response.json()) as Agreement) : null;
    if (this.url !== url) return;
    this.cells = cells;
    this.draw();
  }

  private get titles(): [string, string] {
    return [this.sides[0]?.title ?? "", this.sides[1]?.title ?? ""];
  }

  private render(): void {
    const { sides, quality } = this;
    this.root.replaceChildren(
      ...(quality ? qualityTable(quality) : []),
      ...(sides.length ? this.scoreTables() : []), // two maps of one run have the same scores
    );
    setData(this.root, { ready: true, runs: sides.map((side) => side.run).join(" ") });
  }

  private scoreTables(): HTMLElement[] {
    const [first, second] = this.titles;
    const heads = [["Score"], ["First", first], ["Second", second], ["Difference"]];
    const head = h("tr", null, ...heads.map(([name, title]) => h("th", { scope: "col", title }, name)));
    return [
      h(
        "table",
        "scores",
        h("thead", null, head),
        h("tbody", null, ...scoreRows(this.readings, this.steps).map(rowView)),
      ),
      h("p", "quiet", captionOf(this.readings, this.steps)),
      this.cells
        ? this.renderAgreement(this.cells)
        : h("p", "quiet", this.complete ? "Comparing predictions …" : "Available when both runs have finished."),
    ];
  }

  private renderAgreement(cells: Agreement): HTMLElement {
    const total = totalOf(cells);
    const item = this.noun ?? ITEM;
    const cell = (name: AgreementName) => {
      const { count } = cells[name];
      return h(
        "td",
        name,
        h(
          "button",
          {
            "data-cell": name,
            disabled: count === 0,
            title: "Select these on both maps",
            click: () => this.select(cells, name),
          },
          h("b", null, grouped(count)),
          h("span", "share", `${((100 * count) / total).toFixed(1)} %`),
        ),
      );
    };
    const row = (label: string, ...names: AgreementName[]) =>
      h("tr", null, h("th", { scope: "row" }, label), ...names.map(cell));
    const names = ["Second right", "Second wrong"].map((name) => h("th", { scope: "col" }, name));
    const head = h("tr", null, h("td"), ...names);
    return h(
      "div",
      "agreement",
      h(
        "table",
        null,
        h("thead", null, head),
        h("tbody", null, row("First right", "both", "first"), row("First wrong", "second", "neither")),
      ),
      h(
        "p",
        "quiet",
        `All ${counted(total, item)}${this.noun ? "" : ", final models"}. Right: the nearest other ${item} is of the same class.`,
      ),
    );
  }

  private select(cells: Agreement, name: AgreementName): void {
    const items: number[] = [];
    unpackBits(cells[name].bits, totalOf(cells)).forEach((bit, item) => {
      if (bit) items.push(item);
    });
    bus.emit("select", {
      run: this.sides[0].run,
      items,
      reason: agreementReason(name, this.titles, this.noun ?? ITEM),
    });
  }

  destroy(): void {
    this.leave();
    this.subscriptions.forEach((subscription) => subscription.unsubscribe());
    this.draw.cancel();
    this.root.remove();
  }
}

export default component(style, CompareScores);

/** Faithfulness of both maps, side by side. */
function qualityTable({ titles, rows, note }: MapQuality): HTMLElement[] {
  const cell = (value: number | null) => h("td", null, value === null ? "–" : value.toFixed(3));
  const head = ["What the map keeps", ...titles].map((title) => h("th", { scope: "col" }, title));
  const body = rows.map(([name, values]) => h("tr", null, h("th", { scope: "row" }, name), ...values.map(cell)));
  return [
    h("table", "scores", h("thead", null, h("tr", null, ...head)), h("tbody", null, ...body)),
    h("p", "quiet", note),
  ];
}

const totalOf = (cells: Agreement) => Object.values(cells).reduce((sum, { count }) => sum + count, 0);

function rowView({ key, label, title, a, b, difference }: ScoreRow): HTMLElement {
  const number = (value: number | null) => (value === null ? "–" : value.toFixed(3));
  const better = difference === null || Math.abs(difference) < ALIKE ? "" : difference > 0 ? "second" : "first";
  return h(
    "tr",
    { title, "data-score": key, "data-better": better },
    h("th", { scope: "row" }, explain(h("span", null, label), key)),
    h("td", "a", number(a)),
    h("td", "b", number(b)),
    h("td", "difference", difference === null ? "–" : signed(difference)),
  );
}
