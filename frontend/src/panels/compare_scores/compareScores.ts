// What tells two runs apart: their scores at the steps that the maps show, and the images that only one gets right.
import type { Agreement, ComparedSide, CompareProps } from "../../protocol.ts";
import { onAnimationFrame, RunSubscription } from "../../charts/runSubscription.ts";
import { unpackBits } from "../../lib/bitmask.ts";
import { bus } from "../../lib/bus.ts";
import { h, setData } from "../../lib/dom.ts";
import { grouped, signed } from "../../lib/format.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { emptyScores, reduceScores, type ScoreState } from "../scores/scoreState.ts";
import { agreementReason, captionOf, scoreRows, type AgreementName, type ScoreRow } from "./agreement.ts";
import style from "./compareScores.css";
import { fetchServer } from "../../lib/server.ts";

const ALIKE = 5e-4; // a difference that three digits do not show

export default function ({ parentElement, data }: ComponentArguments<CompareProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new CompareScores(parent),
    (scores) => scores.update(data),
  );
}

class CompareScores {
  private root = h("section", { class: "compare-scores", "aria-label": "Scores of both runs" });
  private draw = onAnimationFrame(() => this.render());
  private readings: [ScoreState, ScoreState] = [emptyScores(), emptyScores()];
  private steps: [number | null, number | null] = [null, null];
  private sides: ComparedSide[] = [];
  private complete = false;
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
            this.readings[side] = emptyScores();
            this.steps[side] = null;
            this.draw();
          },
          (event) => {
            if (reduceScores(this.readings[side], event)) this.draw();
          },
        ),
    );
    this.leave = bus.on("frame", ({ run, step, index, count }) => {
      const side = this.sides.findIndex((one) => one.run === run);
      if (side < 0) return;
      this.steps[side] = index === count - 1 ? null : step;
      this.draw();
    });
  }

  update({ sides, complete, cells = undefined, cells_url: url = undefined }: CompareProps): void {
    this.sides = sides;
    this.complete = complete;
    if (cells || (url ?? null) !== this.url) this.cells = cells ?? null;
    if (url && url !== this.url) void this.fetchCells(url);
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
    const [first, second] = this.titles;
    const heads = [["Score"], ["First", first], ["Second", second], ["Difference"]];
    const head = h("tr", null, ...heads.map(([name, title]) => h("th", { scope: "col", title }, name)));
    this.root.replaceChildren(
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
    );
    setData(this.root, { ready: true, runs: this.sides.map((side) => side.run).join(" ") });
  }

  private renderAgreement(cells: Agreement): HTMLElement {
    const total = totalOf(cells);
    const cell = (name: AgreementName) => {
      const { count } = cells[name];
      return h(
        "td",
        name,
        h(
          "button",
          {
            type: "button",
            "data-cell": name,
            disabled: count === 0,
            title: "Select these images on both maps",
            click: () => this.select(cells, name),
          },
          h("b", null, grouped(count)),
          h("span", "share", `${((100 * count) / total).toFixed(1)} %`),
        ),
      );
    };
    const row = (label: string, ...names: AgreementName[]) =>
      h("tr", null, h("th", { scope: "row" }, label), ...names.map(cell));
    const head = h("tr", null, ...["", "Second right", "Second wrong"].map((name) => h("th", { scope: "col" }, name)));
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
        `All ${grouped(total)} test images, final models. Right: the nearest other test image is of the same class.`,
      ),
    );
  }

  private select(cells: Agreement, name: AgreementName): void {
    const items: number[] = [];
    unpackBits(cells[name].bits, totalOf(cells)).forEach((chosen, item) => {
      if (chosen) items.push(item);
    });
    bus.emit("select", { run: this.sides[0].run, items, reason: agreementReason(name, this.titles) });
  }

  destroy(): void {
    this.leave();
    this.subscriptions.forEach((subscription) => subscription.unsubscribe());
    this.draw.cancel();
    this.root.remove();
  }
}

const totalOf = (cells: Agreement) => Object.values(cells).reduce((sum, { count }) => sum + count, 0);

function rowView({ key, label, title, a, b, difference }: ScoreRow): HTMLElement {
  const number = (value: number | null) => (value === null ? "–" : value.toFixed(3));
  const better = difference === null || Math.abs(difference) < ALIKE ? "" : difference > 0 ? "second" : "first";
  return h(
    "tr",
    { title, "data-score": key, "data-better": better },
    h("th", { scope: "row" }, label),
    h("td", "a", number(a)),
    h("td", "b", number(b)),
    h("td", "difference", difference === null ? "–" : signed(difference)),
  );
}
