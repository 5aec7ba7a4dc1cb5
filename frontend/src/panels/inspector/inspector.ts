// Beside the map: the pinned image or the query with the images nearest to it in the embedding, or the selection.
import type { InspectorProps } from "../../protocol.ts";
import { bus, shared } from "../../lib/bus.ts";
import { h, setData, textButton } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { onSelection } from "../../lib/publishedSelection.ts";
import type { Selection } from "../../lib/selection.ts";
import type { Inspected, WithSubject } from "./captions.ts";
import { contactSheet } from "./contactSheet.ts";
import style from "./inspector.css";
import { LogitsView } from "./logits.ts";
import { PairView } from "./pairView.ts";
import { neighborList, updateMapRanks } from "./neighborList.ts";
import { historyButton, keyOf, stepStrip, subjectHead } from "./subjectView.ts";

const METRICS = { euclidean: "Euclidean", cosine: "Cosine" };

export default function ({ parentElement, data, setTriggerValue }: ComponentArguments<InspectorProps | null>) {
  return mount(
    parentElement,
    style,
    (parent) => new Inspector(parent),
    (inspector) => {
      inspector.tell = setTriggerValue;
      inspector.update(decodeProps(data ?? {}));
    },
  );
}

// Neighbors come as [item, label, distance], nearest first.
function decodeProps({ near = [], ...data }: InspectorProps): Inspected {
  return { ...data, neighbors: near.map(([item, label, distance]) => ({ item, label, distance })) };
}

const subjectName = ({ subject }: Pick<Inspected, "subject">) => (subject ? String(subject.item ?? "query") : "");
const hasSubject = (data: Inspected): data is WithSubject => data.subject !== undefined;

class Inspector {
  tell: (name: string, value: unknown) => void = () => {};
  private root = h("div", "inspector");
  private logits = new LogitsView();
  private pair = new PairView((begin) => this.tell("compare", begin));
  private data: Inspected = { neighbors: [] };
  private selection: Selection | null = null;
  private sheet = false; // whether the selection is shown, or what is pinned
  private offs: (() => void)[];

  constructor(parent: ParentNode) {
    parent.append(this.root);
    this.offs = [onSelection((selection) => this.select(selection)), bus.on("ranks", () => this.updateMapRanks())];
  }

  update(data: Inspected): void {
    // A new pin comes before the selection it was picked from, to which a link leads back.
    if (subjectName(data) && subjectName(data) !== subjectName(this.data)) this.sheet = false;
    this.data = data;
    this.logits.update(data);
    if (data.metric && data.metric !== shared.metric) {
      shared.metric = data.metric;
      bus.emit("metric", data.metric);
    }
    if (data.run && typeof data.history === "object" && data.history?.steps)
      bus.emit("query-history", { run: data.run, history: data.history });
    this.show();
  }

  private select(selection: Selection | null): void {
    this.selection = selection;
    this.setTab(selection !== null);
  }

  private pin(item: number): void {
    if (String(item) === subjectName(this.data))
      this.setTab(false); // pinned already: nothing new will come
    else this.tell("pin", item);
  }

  private setTab(sheet: boolean): void {
    this.sheet = sheet;
    this.show();
  }

  private show(): void {
    const { root, data } = this;
    const selection = data.sheet === false ? null : this.selection;
    const sheet = this.sheet && selection !== null;
    setData(root, {
      below: data.below ?? "",
      subject: subjectName(data),
      neighbors: data.neighbors.length,
      sheet,
      selected: this.selection?.items.length ?? 0,
      metric: data.metric ?? "",
    });
    if (sheet)
      root.replaceChildren(
        contactSheet(selection, {
          pin: (item) => this.pin(item),
          pinned: data.subject?.item,
          at: root,
          noun: data.noun,
          columns: data.columns,
        }),
      );
    else {
      const back = selection
        ? [
            textButton(
              `‹ ${grouped(selection.items.length)} selected`,
              () => this.setTab(true),
              "Back to the selection",
            ),
          ]
        : [];
      root.replaceChildren(
        ...back,
        ...(hasSubject(data) ? this.subjectView(data) : [h("p", "quiet", data.placeholder)]),
      );
      this.updateMapRanks();
    }
    root.dataset.ready = "true";
  }

  private subjectView(data: WithSubject): HTMLElement[] {
    return [
      subjectHead(data),
      ...(data.steps?.length ? [stepStrip(data.steps)] : []),
      ...(data.far ? [h("p", "far", data.far)] : []),
      ...this.pair.view(data),
      ...this.renderMetricTabs(data),
      neighborList(data, (item) => this.pin(item), this),
      keyOf(data),
      this.logits.node,
    ];
  }

  // Which distance is meant, and the way to the same question over the whole training.
  private renderMetricTabs(data: WithSubject): HTMLElement[] {
    if (!data.metric) return [];
    const group = h("span", { class: "metrics", role: "group", "aria-label": "Distance" });
    for (const [name, title] of Object.entries(METRICS)) {
      const button = textButton(title, () => this.tell("metric", name), `Nearest by ${title} distance`);
      button.setAttribute("aria-pressed", String(name === data.metric));
      group.append(button);
    }
    return [h("div", "choices", group, data.history ? historyButton(data) : null)];
  }

  private updateMapRanks(): void {
    updateMapRanks(this.root, this.data, subjectName(this.data));
  }

  destroy(): void {
    this.offs.forEach((off) => off());
    this.root.remove();
  }
}
