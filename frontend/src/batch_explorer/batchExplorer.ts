// Two drawers below the map: what the loss sees of a batch, and how far test images are apart. Closed, they ask nothing and
// follow nothing.
import type { BatchExplorerProps } from "../protocol.ts";
import { RunSubscription } from "../charts/runSubscription.ts";
import { h, setData } from "../lib/dom.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { component } from "../lib/mount.ts";
import { readTheme } from "../lib/theme.ts";
import style from "./batchExplorer.css";
import { BatchView } from "./batchView.ts";
import { DistanceHistogram } from "./distanceHistogram.ts";

/** A drawer. */
interface DrawerView {
  readonly node: HTMLElement;
  /** Another run, or the same anew: nothing is known of it yet. */
  reset(): void;
  follow(run: string, begun: string | null): void;
  onEvent(event: StreamEvent): void;
  open(open: boolean): void;
  destroy(): void;
}

class Accordion {
  private sections: AccordionSection[];
  private root: HTMLElement;

  constructor(parent: ParentNode, source: BatchExplorerProps) {
    this.sections = [
      ...(source.given ? [] : [new AccordionSection("What the loss sees", source, () => new BatchView())]),
      new AccordionSection("Distance distribution", source, () => new DistanceHistogram(source.noun)),
    ];
    const bar = h(
      "div",
      { class: "bar", role: "group", "aria-label": "More views" },
      ...this.sections.map(({ button }) => button),
    );
    this.root = h("section", "lossview", bar, ...this.sections.map(({ panel }) => panel));
    parent.append(this.root);
  }

  update(source: BatchExplorerProps): void {
    for (const section of this.sections) section.update(source);
    setData(this.root, { ready: true, run: source.run });
  }

  destroy(): void {
    for (const section of this.sections) section.destroy();
    this.root.remove();
  }
}

export default component(style, Accordion);

/** A button and the panel that it opens, with a view in it from the first time on. */
class AccordionSection {
  readonly button: HTMLElement;
  readonly panel = h("div", { class: "panel", hidden: true });
  private view: DrawerView | null = null;
  private subscription = new RunSubscription(
    () => this.view?.reset(),
    (event) => this.view?.onEvent(event),
  );

  constructor(
    title: string,
    private source: BatchExplorerProps,
    private make: () => DrawerView,
  ) {
    this.button = h("button", { "aria-expanded": "false", click: () => this.toggle() }, title);
  }

  update(source: BatchExplorerProps): void {
    this.source = source;
    if (!this.view) return;
    this.view.follow(source.run, source.begun);
    this.subscription.subscribe({ run: source.run, begun: source.begun, events_url: source.events_url });
  }

  private toggle(): void {
    const open = Boolean(this.panel.hidden);
    this.panel.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    if (open && !this.view) {
      this.view = this.make();
      this.panel.append(this.view.node);
      this.update(this.source);
    }
    this.view?.open(open);
    if (open)
      this.panel.scrollIntoView?.({ block: "nearest", behavior: readTheme(this.panel).still ? "auto" : "smooth" });
  }

  destroy(): void {
    this.subscription.unsubscribe();
    this.view?.destroy();
  }
}
