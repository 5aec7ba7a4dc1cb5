// @ts-nocheck
// What tells two runs apart: their scores at the steps that the maps show, and the images that only one gets right.
import { Following, onceAFrame } from "../../charts/runSubscription.ts";
import { unpackBits } from "../../lib/bitmask.ts";
import { element } from "../../lib/dom.ts";
import { emptyReadings, takeReading } from "../scores/scoreState.ts";
import { bus } from "../../lib/bus.ts";
import { mount } from "../../lib/mount.ts";
import { captionOf, reasonOf, rowsOf, signed } from "./agreement.ts";
import style from "./compareScores.css";

export default function ({ parentElement, data }) {
  return mount(parentElement, style, (parent) => new Versus(parent), (versus) => versus.update(data));
}

class Versus {
  constructor(parent) {
    this.root = element("section", { class: "versus", "aria-label": "Scores of both runs" });
    parent.append(this.root);
    this.draw = onceAFrame(() => this.paint());
    this.readings = [emptyReadings(), emptyReadings()];
    this.steps = [null, null];
    this.followings = [0, 1].map((side) => new Following(
      () => {
        this.readings[side] = emptyReadings();
        this.steps[side] = null;
        this.draw();
      },
      (event) => takeReading(this.readings[side], event) && this.draw(),
    ));
    this.leave = bus.on("frame", ({ run, step, index, count }) => {
      const side = this.sides?.findIndex((one) => one.run === run) ?? -1;
      if (side < 0) return;
      this.steps[side] = index === count - 1 ? null : step;
      this.draw();
    });
  }

  update({ sides, complete, cells = null, cells_url: url = null }) {
    Object.assign(this, { sides, complete });
    if (url !== this.url || cells) this.cells = cells;
    if (url && url !== this.url) this.fetch(url);
    this.url = url;
    sides.forEach((side, i) => this.followings[i].follow(side));
    this.draw();
  }

  async fetch(url) {
    const response = await fetch(url).catch(() => null);
    const cells = response?.ok ? await response.json() : null;
    if (this.url !== url) return;
    this.cells = cells;
    this.draw();
  }

  paint() {
    const rows = rowsOf(this.readings, this.steps);
    const number = (value) => (value === null ? "–" : value.toFixed(3));
    const body = rows.map(({ key, label, title, a, b, difference }) => {
      const better = difference === null || Math.abs(difference) < 5e-4 ? "" : difference > 0 ? "second" : "first";
      return element(
        "tr", { title, "data-score": key, "data-better": better },
        element("th", { scope: "row" }, label), element("td", { class: "a" }, number(a)), element("td", { class: "b" }, number(b)),
        element("td", { class: "difference" }, difference === null ? "–" : signed(difference)),
      );
    });
    const titles = this.sides.map((side) => side.title);
    const head = element("tr", {}, ...["Score", "First", "Second", "Difference"].map((name, i) =>
      element("th", { scope: "col", title: i === 1 || i === 2 ? titles[i - 1] : null }, name)));
    this.root.replaceChildren(
      element("table", { class: "scores" }, element("thead", {}, head), element("tbody", {}, ...body)),
      element("p", { class: "quiet" }, captionOf(this.readings, this.steps)),
      this.cells ? this.contest() : element("p", { class: "quiet" }, this.complete
        ? "Looking which images only one of them gets right …"
        : "Which images only one of them gets right can be told when both have come to their end."),
    );
    Object.assign(this.root.dataset, { ready: "true", runs: this.sides.map((side) => side.run).join(" ") });
  }

  contest() {
    const total = Object.values(this.cells).reduce((sum, { count }) => sum + count, 0);
    const cell = (name) => {
      const { count } = this.cells[name];
      const share = element("span", { class: "share" }, `${((100 * count) / total).toFixed(1)} %`);
      const button = element(
        "button",
        { type: "button", "data-cell": name, disabled: count === 0, title: "Select these images on both maps", click: () => this.select(name) },
        element("b", {}, count.toLocaleString("en")), share,
      );
      return element("td", { class: name }, button);
    };
    const row = (label, ...cells) => element("tr", {}, element("th", { scope: "row" }, label), ...cells.map(cell));
    const head = element("tr", {}, ...["", "Second right", "Second wrong"].map((name) => element("th", { scope: "col" }, name)));
    return element(
      "div", { class: "contest" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, row("First right", "both", "first"), row("First wrong", "second", "neither"))),
      element("p", { class: "quiet" },
        `All ${total.toLocaleString("en")} test images at the end of both runs; right: the nearest other test image is of the same class.`),
    );
  }

  select(name) {
    const total = Object.values(this.cells).reduce((sum, { count }) => sum + count, 0);
    const items = [];
    unpackBits(this.cells[name].bits, total).forEach((chosen, item) => chosen && items.push(item));
    const reason = reasonOf(name, this.sides.map((side) => side.title));
    bus.emit("select", { run: this.sides[0].run, items, reason });
  }

  stop() {
    this.leave();
    this.followings.forEach((following) => following.stop());
    this.draw.cancel();
    this.root.remove();
  }
}
