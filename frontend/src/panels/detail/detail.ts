// @ts-nocheck
// A closer look, below the scores: class by class, or one image's neighbours over the training. Closed until asked for.
import { bus, page } from "../../lib/bus.ts";
import { mount } from "../../lib/mount.ts";
import { readTheme } from "../../lib/theme.ts";
import { classesView } from "./classScores.ts";
import { filmView } from "./neighborTimeline.ts";
import style from "./detail.css";

const VIEWS = { classes: classesView, film: filmView };
const TITLES = { classes: "Class by class", film: "Neighbours over the training" };
const SETTLED = 160; // milliseconds on one frame until it is looked at closely

export default function ({ parentElement, data }) {
  return mount(parentElement, style, (parent) => new Study(parent), (study) => study.update(data ?? {}));
}

class Study {
  constructor(parent) {
    this.root = Object.assign(document.createElement("section"), { className: "study", hidden: true });
    this.title = document.createElement("h3");
    this.caption = Object.assign(document.createElement("span"), { className: "quiet" });
    this.close = Object.assign(document.createElement("button"), { type: "button", className: "close", textContent: "Close" });
    this.close.addEventListener("click", () => this.open(null));
    this.body = Object.assign(document.createElement("div"), { className: "body" });
    const head = Object.assign(document.createElement("header"), {});
    head.append(this.title, this.caption, this.close);
    this.root.append(head, this.body);
    parent.append(this.root);
    // An element of no height still has the page's gap around it.
    this.frame = (parent.host ?? parent).closest?.(".st-key-study") ?? null;
    this.what = null;
    this.film = null; // of a picture of one's own; null: of what is pinned
    this.step = null; // of the shown frame; null at the end
    this.show(false);
    this.offs = [
      bus.on("study", ({ run, what, film = null }) => run === this.data.run && this.open(what, film)),
      bus.on("frame", (detail) => this.moved(detail)),
      bus.on("pinned", () => this.refilm(null)),
      bus.on("asked", ({ run, film }) => run === this.data.run && this.film && this.refilm(film)),
      bus.on("metric", () => this.refilm(this.film)),
    ];
  }

  update(data) {
    const other = data.run !== this.data?.run || data.begun !== this.data?.begun;
    this.data = data;
    if (other) {
      this.step = this.film = null;
      if (this.what) this.refresh();
    }
  }

  moved({ run, view, step, index, count, playing }) {
    if (run !== this.data.run) return;
    this.step = view !== "live" || index === count - 1 ? null : step;
    this.shown = step;
    this.view?.at?.(step);
    clearTimeout(this.settling);
    if (this.what === "classes" && !playing) this.settling = setTimeout(() => this.refresh(), SETTLED);
  }

  refilm(film) {
    this.film = film;
    if (this.what === "film") this.refresh();
  }

  open(what, film = null) {
    this.what = what === this.what && film === this.film ? null : what;
    this.film = film;
    this.show(this.what !== null);
    if (!this.what) return this.body.replaceChildren();
    this.title.textContent = TITLES[this.what];
    this.caption.textContent = "";
    this.body.replaceChildren();
    this.refresh().then(() => this.root.scrollIntoView?.({ block: "end", behavior: readTheme(this.root).still ? "auto" : "smooth" }));
  }

  show(open) {
    this.root.hidden = !open;
    if (this.frame) this.frame.style.display = open ? "" : "none";
    this.root.dataset.what = this.what ?? "";
  }

  /** Ask for what is shown now, and draw it where nothing newer was asked meanwhile. */
  async refresh() {
    const { what, data, step, film } = this;
    const token = (this.token = {});
    let view;
    try {
      view = await VIEWS[what]({ ...data, step, film, item: page.pinned?.run === data.run ? page.pinned.item : null, metric: page.metric });
    } catch (error) {
      view = { node: Object.assign(document.createElement("p"), { className: "quiet", textContent: error.message }), caption: "" };
    }
    if (this.token !== token || this.what !== what) return;
    this.view = view;
    this.caption.textContent = view.caption;
    this.body.replaceChildren(view.node);
    view.at?.(this.shown, true);
    this.root.dataset.ready = "true";
  }

  stop() {
    clearTimeout(this.settling);
    this.offs.forEach((off) => off());
    this.root.remove();
  }
}
