// Everything that shows a run, or some side by side, on one store: maps, inspectors, scores, loss curve, a closer look.
// The app mounts it as one component; an exported page, a site and a notebook mount the same one on a packed run.
import { within } from "../lib/boundary.ts";
import { h, wholeNames } from "../lib/dom.ts";
import { type ComponentArguments, mount } from "../lib/mount.ts";
import renderMap from "../map/control/main.ts";
import type { MapInput } from "../map/data/expandProps.ts";
import type { DetailProps, Source, ViewProps, WorkbenchProps } from "../protocol.ts";
import { Address } from "./address.ts";
import renderDetail from "./detail/detail.tsx";
import { followPins } from "./followPins.ts";
import renderInspector from "./inspector/inspector.tsx";
import renderLossCurve from "./loss_curve/lossCurve.tsx";
import renderScores from "./scores/scores.tsx";
import { pageStore, START, type ViewState, ViewStore } from "./store.ts";
import { decodeView, encodeView } from "./urlCodec.ts";
import style from "./workbench.css";

const SNAPSHOT_MS = 400; // without a further change
/** Fields that are sent to the server. */
const HEARD = ["pinned", "step", "selected"] as const;

type Snapshot = Pick<ViewState, (typeof HEARD)[number]>;

let done = 0; // number of the newest command: a page that comes again brings its last one

/** The link between the server and what is looked at: which run the page shows, commands, and snapshots of the view. */
class ViewLink {
  private address: Address;
  private tell: ComponentArguments<ViewProps>["setStateValue"] = () => {};
  private timer: ReturnType<typeof setTimeout> | undefined;
  private leave: () => void;

  constructor(
    private props: ViewProps,
    private store: ViewStore,
  ) {
    store.enter(props.page);
    this.address = new Address(store);
    this.leave = store.subscribe((change) => {
      if (HEARD.some((name) => change.has(name))) this.schedule();
    });
  }

  update(props: ViewProps, tell: ComponentArguments<ViewProps>["setStateValue"]): void {
    this.props = props;
    this.tell = tell;
    this.address.show(props);
    this.obey(props.command);
    this.schedule();
  }

  private obey(command: ViewProps["command"]): void {
    if (!command || command.number <= done) return;
    done = command.number;
    const reset: Partial<ViewState> = "select" in command.query ? { selected: null, reason: null } : {};
    this.store.record();
    this.store.set({ ...reset, ...decodeView(command.query, this.props) });
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.props.follows) this.timer = setTimeout(() => this.send(), SNAPSHOT_MS);
  }

  private send(): void {
    const { state } = this.store;
    const last: Snapshot = { ...START, ...decodeView(this.props.known, this.props) };
    if (HEARD.every((name) => String(last[name]) === String(state[name]))) return;
    const news = Object.fromEntries(HEARD.map((name) => [name, state[name]])) as unknown as Snapshot;
    this.tell("snapshot", encodeView({ ...START, ...news }, this.props.dataset));
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.leave();
    this.address.destroy();
  }
}

/** Input of the workbench, from the server or an exported page, which links its view with no server. */
type WorkbenchData = Omit<WorkbenchProps, "maps" | "view"> & {
  maps: MapInput[];
  view?: WorkbenchProps["view"];
  pad?: unknown;
};

type Callbacks = Pick<ComponentArguments<unknown>, "setStateValue" | "setTriggerValue">;
type Render = (place: ComponentArguments<never> & { store: ViewStore }) => (() => void) | undefined;

const OWN = {
  map: renderMap as Render,
  inspector: renderInspector as Render,
  scores: renderScores as Render,
  loss_curve: renderLossCurve as Render,
  detail: renderDetail as Render,
};
const NAMES = {
  welcome: "The first steps",
  map: "The map",
  compare: "The comparison",
  pad: "The drawing pad",
  inspector: "The inspector",
  batch: "The batch",
  scores: "The scores",
  loss_curve: "The loss curve",
  detail: "The closer look",
};
type PartName = keyof typeof NAMES;

/** Parts of which the workbench itself knows nothing: a newcomer's first steps, Compare's scores, the drawing pad of a site, the batch. */
export type FurtherParts = Partial<Record<PartName, Render>>;

/** A part in a place of its own, where no other part's style reaches it. */
interface Part {
  section: HTMLElement;
  place: ShadowRoot;
  leave: () => void;
  isDrawn: boolean;
}

const SILENT: Callbacks = { setStateValue: () => {}, setTriggerValue: () => {} };

/** Return the component of the app. */
export const workbenchComponent =
  (further: FurtherParts) =>
  ({ parentElement, data, ...callbacks }: ComponentArguments<WorkbenchProps>) =>
    mount(
      parentElement,
      "",
      (parent) => new Workbench(parent, pageStore, further),
      (workbench) => workbench.update(data, callbacks),
    );

export class Workbench {
  private grid = h("div", "workbench");
  private frame = h("div", "frame", h("style", null, style), this.grid);
  private parts = new Map<string, Part>();
  private link: ViewLink | null = null;
  private runs: string[] = [];
  private stopFollowing: () => void;
  private renders: FurtherParts;

  constructor(
    parent: ParentNode,
    private store: ViewStore,
    further: FurtherParts = {},
  ) {
    this.renders = { ...OWN, ...further };
    parent.append(this.frame);
    this.stopFollowing = followPins(store, (run) => this.runs.includes(run));
  }

  /** Show this; parts that are here already are brought up to date in place. */
  update(data: WorkbenchData, callbacks: Callbacks = SILENT): void {
    const { welcome, maps, headings = [], inspectors, scores, compare, pad, view, note = "" } = data;
    const { grid } = this;
    this.runs = maps.map(({ run }) => run);
    for (const map of maps)
      for (const [short, whole] of Object.entries(map.whole_names ?? {})) wholeNames.set(short, whole);
    if (view) {
      this.link ??= new ViewLink(view, this.store);
      this.link.update(view, callbacks.setStateValue); // first: the maps read what is looked at
    }
    grid.dataset.maps = maps.length > 2 ? "many" : String(maps.length);
    grid.dataset.lastRow = String(maps.length % 4);
    grid.dataset.inspectors = String(inspectors.length);
    const show = (name: PartName, kind: string, props: unknown, key: string = name): HTMLElement[] =>
      this.renders[name] && props !== undefined ? [this.part(name, key, kind, props, callbacks)] : [];
    const several = maps.length > 2 ? compare : undefined;
    const sections: HTMLElement[] = [
      ...show("welcome", "welcome-part", welcome),
      ...headings.map(({ title, text, missing }) =>
        h("p", "heading", h("strong", null, title), text, missing ? h("span", "missing", missing) : null),
      ),
      // A map that is linked to no other has a store of its own.
      ...maps.flatMap((map, i) => show("map", "map-part", map, `map.${i}.${map.link !== null}`)),
      ...show("compare", "compare-part", compare && { ...compare, noun: maps[0].noun }),
      ...show("compare", "race-part", several && { ...several, noun: maps[0].noun, all: true }, "race"),
      ...show("pad", "pad-part", pad),
      ...inspectors.flatMap((props, i) => show("inspector", "inspector-part", props, `inspector.${i}`)),
      ...show("batch", "batch-part", data.has_loss && inspectors.length === 1 ? scores : undefined),
      ...(note ? [h("p", "note", note)] : []),
      ...show("scores", "scores-part", scores && { ...scores, noun: maps[0].noun, whole: maps[0].picture?.whole }),
      ...show("loss_curve", "curve-part", data.has_loss && scores ? { ...scores, noun: maps[0].noun } : undefined),
      ...show("detail", "detail-part", scores && detailOf(scores, maps[0])),
    ];
    for (const [name, { section }] of this.parts) if (!sections.includes(section)) this.remove(name);
    sections.forEach((section, i) => {
      if (grid.children[i] !== section) grid.insertBefore(section, grid.children[i]);
    });
    while (grid.children.length > sections.length) grid.lastElementChild?.remove();
  }

  private part(name: PartName, key: string, kind: string, data: unknown, callbacks: Callbacks): HTMLElement {
    let part = this.parts.get(key);
    if (!part?.isDrawn) {
      if (part) this.remove(key); // what has failed is begun anew
      this.parts.set(key, (part = this.makePart(kind)));
    }
    const { place: parentElement, section } = part;
    if (!section.isConnected) this.grid.append(section); // a map measures its place
    part.isDrawn = within(parentElement, NAMES[name], () => {
      const render = this.renders[name] as Render;
      const leave = render({ parentElement, name: kind, key, data: data as never, store: this.store, ...callbacks });
      if (leave) part.leave = leave;
    });
    return section;
  }

  private makePart(kind: string): Part {
    const section = h("section", kind);
    return { section, place: section.attachShadow({ mode: "open" }), leave: () => {}, isDrawn: false };
  }

  private remove(name: string): void {
    const part = this.parts.get(name);
    this.parts.delete(name);
    part?.section.remove();
    if (part) within(part.place, "A part", part.leave);
  }

  destroy(): void {
    this.frame.remove();
    for (const name of [...this.parts.keys()]) this.remove(name);
    this.stopFollowing();
    this.link?.destroy();
  }
}

function detailOf(source: Source, { classes, n, sprites, labels, labels_url, noun }: MapInput): DetailProps {
  return { ...source, classes, n, sprites, labels, labels_url, noun };
}
