// Two drawers below the map: what the loss sees of a batch, and how far test images are apart. Closed, they ask nothing.
import { Following } from "../charts/following.js";
import { element } from "../map/dom.js";
import { BatchView } from "./batchview.js";
import { DistancesView } from "./distancesview.js";

const mounted = new WeakMap();

export default function ({ parentElement, data }) {
  let drawers = mounted.get(parentElement);
  if (!drawers) mounted.set(parentElement, (drawers = new Drawers(parentElement)));
  drawers.update(data ?? {});
  return () => {
    drawers.stop();
    mounted.delete(parentElement);
  };
}

class Drawers {
  constructor(parent) {
    this.bar = element("div", { class: "bar", role: "group", "aria-label": "Look closer" });
    this.root = element("section", { class: "lossview" }, this.bar);
    this.drawers = [
      this.drawer("What the loss sees", new BatchView()),
      this.drawer("Distances", new DistancesView()),
    ];
    parent.append(this.root);
    this.following = new Following(
      () => this.views((view) => view.begin()),
      (event) => this.views((view) => view.take(event)),
    );
  }

  drawer(title, view) {
    const button = element("button", { type: "button", "aria-expanded": "false" }, title);
    const panel = element("div", { class: "panel", hidden: true }, view.node);
    button.addEventListener("click", () => {
      const open = panel.hidden;
      panel.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
      view.open(open);
    });
    this.bar.append(button);
    this.root.append(panel);
    return { view, panel };
  }

  views(tell) {
    for (const { view } of this.drawers) tell(view);
  }

  update({ run, begun, events_url }) {
    this.views((view) => view.follow(run, begun));
    this.following.follow({ run, begun, events_url });
    Object.assign(this.root.dataset, { ready: "true", run });
  }

  stop() {
    this.following.stop();
    this.views((view) => view.stop());
    this.root.remove();
  }
}
