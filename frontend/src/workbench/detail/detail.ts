// A closer look, below the scores: class by class, or one image's neighbors over the training. Closed until asked for.
import { heeding } from "../../lib/boundary.ts";
import type { DetailProps, NeighborHistory } from "../../protocol.ts";
import { bus, type BusEvents } from "../../lib/bus.ts";
import { h } from "../../lib/dom.ts";
import { messageOf } from "../../lib/format.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { readTheme } from "../../lib/theme.ts";
import { pageStore, type ViewStore } from "../store.ts";
import { classScoresView } from "./classScores.ts";
import { neighborTimeline } from "./neighborTimeline.ts";
import type { DetailSource, DetailView } from "./detailView.ts";
import style from "./detail.css";

type What = "classes" | "history";

const VIEWS: Record<What, (source: DetailSource) => Promise<DetailView>> = {
  classes: classScoresView,
  history: neighborTimeline,
};
const TITLES: Record<What, string> = { classes: "By class", history: "Neighbors over time" };
const SETTLED_MS = 160; // on one frame until it is looked at closely

type Arguments = ComponentArguments<DetailProps> & { store?: ViewStore };

export default function ({ parentElement, data, store = pageStore }: Arguments) {
  return mount(
    parentElement,
    style,
    (parent) => new DetailPanel(parent, data, store),
    (panel) => panel.update(data),
  );
}

class DetailPanel {
  private readonly heed = heeding();
  private title = h("h3");
  private caption = h("span", "quiet");
  private body = h("div", "body");
  private root: HTMLElement;
  private place: HTMLElement;
  private what: What | null = null;
  private history: NeighborHistory | null = null;
  private step: number | null = null;
  private stepNow: number | undefined; // the step on the map
  private view: DetailView | null = null;
  private token: object | null = null; // of the newest question
  private settling: ReturnType<typeof setTimeout> | undefined;
  private offs: (() => void)[];

  constructor(
    parent: HTMLElement | ShadowRoot,
    private data: DetailProps,
    private store: ViewStore,
  ) {
    const close = h("button", { type: "button", class: "close", click: () => this.open(null) }, "Close");
    this.root = h(
      "section",
      { class: "detail", hidden: true },
      h("header", null, this.title, this.caption, close),
      this.body,
    );
    parent.append(this.root);
    this.place = (parent instanceof ShadowRoot ? parent.host : parent) as HTMLElement; // of no height, it has a gap around it
    this.show(false);
    const isHere = ({ run }: { run: string }) => run === this.data.run;
    this.offs = [
      bus.on("open-detail", (detail) => isHere(detail) && this.open(detail.what, detail.history)),
      bus.on("frame", (detail) => isHere(detail) && this.onFrame(detail)),
      bus.on("pinned", () => this.setHistory(null)),
      bus.on("query-history", (detail) => isHere(detail) && this.history && this.setHistory(detail.history)),
      store.subscribe((change) => change.has("metric") && this.setHistory(this.history)),
    ];
  }

  update(data: DetailProps): void {
    const other = data.run !== this.data.run || data.begun !== this.data.begun;
    this.data = data;
    if (!other) return;
    this.step = this.history = null;
    if (this.what) this.heed(this.refresh());
  }

  private onFrame({ view, step, index, count, playing }: BusEvents["frame"]): void {
    this.step = view !== "live" || index === count - 1 ? null : step;
    this.stepNow = step;
    this.view?.onStep?.(step);
    clearTimeout(this.settling);
    if (this.what === "classes" && !playing) this.settling = setTimeout(() => this.heed(this.refresh()), SETTLED_MS);
  }

  private setHistory(history: NeighborHistory | null): void {
    this.history = history;
    if (this.what === "history") this.heed(this.refresh());
  }

  private open(what: What | null, history: NeighborHistory | null = null): void {
    this.what = what === this.what && history === this.history ? null : what;
    this.history = history;
    this.show(this.what !== null);
    this.body.replaceChildren();
    if (!this.what) return;
    this.title.textContent = TITLES[this.what];
    this.caption.textContent = "";
    const behavior = readTheme(this.root).still ? "auto" : "smooth";
    this.heed(this.refresh().then(() => this.root.scrollIntoView?.({ block: "end", behavior })));
  }

  private show(open: boolean): void {
    this.root.hidden = this.place.hidden = !open;
    this.root.dataset.what = this.what ?? "";
  }

  /** Ask for what is shown now, and draw it where nothing newer was asked meanwhile. */
  private async refresh(): Promise<void> {
    const { what, data, step, history } = this;
    if (!what) return;
    const token = (this.token = {});
    const { pinned: item, metric } = this.store.state;
    const view = await VIEWS[what]({ ...data, step, history, item, metric }).catch((error: unknown): DetailView => ({
      node: h("p", "quiet", messageOf(error)),
      caption: "",
    }));
    if (this.token !== token || this.what !== what) return;
    this.view = view;
    this.caption.textContent = view.caption;
    this.body.replaceChildren(view.node);
    view.onStep?.(this.stepNow, true);
    this.root.dataset.ready = "true";
  }

  destroy(): void {
    clearTimeout(this.settling);
    this.offs.forEach((off) => off());
    this.root.remove();
  }
}
