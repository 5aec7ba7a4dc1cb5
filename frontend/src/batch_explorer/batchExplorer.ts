// @ts-nocheck
// Two drawers below the map: what the loss sees of a batch, and how far test images are apart. What is in them is loaded
// when somebody opens them: closed, they ask nothing and follow nothing.
import { Following } from "../charts/runSubscription.ts";
import { element } from "../lib/dom.ts";
import { mount } from "../lib/mount.ts";
import style from "./batchExplorer.css";

export default function ({ parentElement, data }) {
  return mount(parentElement, style, (parent) => new Drawers(parent), (drawers) => drawers.update(data ?? {}));
}

class Drawers {
  constructor(parent) {
    this.drawers = [
      new Drawer("What the loss sees", async () => new (await import("./batchView.ts")).BatchView()),
      new Drawer("Distances", async () => new (await import("./distanceHistogram.ts")).DistancesView()),
    ];
    const bar = element("div", { class: "bar", role: "group", "aria-label": "Look closer" });
    bar.append(...this.drawers.map((drawer) => drawer.button));
    this.root = element("section", { class: "lossview" }, bar, ...this.drawers.map((drawer) => drawer.panel));
    parent.append(this.root);
  }

  update(source) {
    for (const drawer of this.drawers) drawer.update(source);
    Object.assign(this.root.dataset, { ready: "true", run: source.run });
  }

  stop() {
    for (const drawer of this.drawers) drawer.stop();
    this.root.remove();
  }
}

/** A button and the panel that it opens, with a view in it from the first time on. */
class Drawer {
  constructor(title, load) {
    this.load = load;
    this.view = null;
    this.stopped = false;
    this.button = element("button", { type: "button", "aria-expanded": "false", click: () => this.toggle() }, title);
    this.panel = element("div", { class: "panel", hidden: true });
    this.following = new Following(() => this.view.begin(), (event) => this.view.take(event));
  }

  update(source) {
    this.source = source;
    if (!this.view) return;
    this.view.follow(source.run, source.begun);
    this.following.follow(source);
  }

  async toggle() {
    const open = this.panel.hidden;
    this.panel.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    if (open && !this.view) {
      this.loading ??= this.load();
      const view = await this.loading;
      if (this.view || this.stopped) return;
      this.view = view;
      this.panel.append(view.node);
      this.update(this.source);
    }
    this.view?.open(!this.panel.hidden);
  }

  stop() {
    this.stopped = true;
    this.following.stop();
    this.view?.stop();
  }
}
