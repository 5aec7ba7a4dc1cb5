// The map as a tree of words: classes, their images, the nearest neighbors of each. It shows while it has the keyboard.
import { heeding } from "../../lib/boundary.ts";
import { h } from "../../lib/dom.ts";
import { counted, digits, grouped, messageOf } from "../../lib/format.ts";
import { fetchNeighbors } from "../../lib/neighbors.ts";
import type { MapState } from "../data/state.ts";

const CHUNK = 200; // rows of a branch that are added at a time

export interface OutlineHooks {
  pin: (item: number) => void;
  /** A byte an item: those on the map. */
  usable: () => Uint8Array;
  /** Give the keyboard back to the map. */
  leave: () => void;
}

interface Row {
  words: string;
  /** Test image that Enter pins. */
  item?: number;
  /** The rows below it, asked for when it opens. */
  below?: () => Row[] | Promise<Row[]>;
}

export class Outline {
  private readonly heed = heeding();
  readonly node = h("div", "outline", h("p", null, "Arrow keys open and close, Enter pins, Escape leaves."));
  private tree = h("ul", { role: "tree", "aria-label": "Outline of the map", tabindex: 0 });
  private rows = new WeakMap<Element, Row>();
  private state: MapState | null = null;
  private of: unknown; // the items of which the tree was built

  constructor(private on: OutlineHooks) {
    this.node.append(this.tree);
    this.tree.addEventListener("focusin", ({ target }) => target === this.tree && this.open());
    this.tree.addEventListener("click", ({ target }) => this.act((target as Element).closest("[role=treeitem]")));
    this.tree.addEventListener("keydown", (event) => this.onKey(event));
  }

  update(state: MapState): void {
    this.state = state;
    if (!this.node.matches(":focus-within")) return; // a map that plays has other things to do
    for (const item of this.tree.querySelectorAll("[role=treeitem]"))
      item.setAttribute(
        "aria-selected",
        String(state.model.pinned !== null && this.rows.get(item)?.item === state.model.pinned),
      );
  }

  /** Take the keyboard; what was open stays open as long as the same items are on the map. */
  open(): void {
    const { state } = this;
    if (!state) return;
    const of = [state.data.run, ...state.model.groups, ...this.on.usable()].join();
    if (of !== this.of) this.add(this.tree, this.classes(state));
    this.of = of;
    this.go(this.tree.querySelector("[role=treeitem][tabindex='0']") ?? this.tree.querySelector("[role=treeitem]"));
  }

  private classes({ model }: MapState): Row[] {
    const members = model.groups.map((): number[] => []);
    const usable = this.on.usable();
    for (let i = 0; i < model.n; i++) if (usable[i]) members[model.groupIds[i]].push(i);
    return model.groups.flatMap((name, id) =>
      members[id].length
        ? [
            {
              words: `${model.grouping ? "" : "Class "}${name}, ${counted(members[id].length, model.noun)}`,
              below: () => members[id].map((item) => this.image(item)),
            },
          ]
        : [],
    );
  }

  private image(item: number): Row {
    const { model, data, store } = this.state as MapState;
    const near = model.nearestOf(item);
    const name = (other: number) => model.classes[model.labels[other]];
    return {
      item,
      words: `${model.noun} ${grouped(item)}${near ? `, nearest is of class ${name(near.item)}` : ""}`,
      below: async () =>
        (await fetchNeighbors(data.run, item, store.state.metric)).near.map(([other, , distance], rank) => ({
          item: other,
          words: `Neighbor ${rank + 1}: ${model.noun} ${grouped(other)}, class ${name(other)}, distance ${digits(distance)}`,
        })),
    };
  }

  /** Show these rows in a list, a part of them at a time. */
  private add(list: HTMLElement, rows: Row[], from = 0): void {
    const chunk = rows.slice(from, from + CHUNK).map((row, i) => {
      const item = h(
        "li",
        {
          role: "treeitem",
          tabindex: "-1",
          "aria-setsize": rows.length,
          "aria-posinset": from + i + 1,
          "aria-selected": "false",
          "aria-label": row.words, // without those of the rows below it
        },
        h("span", null, row.words),
      );
      if (row.below) item.setAttribute("aria-expanded", "false");
      this.rows.set(item, row);
      return item;
    });
    if (from === 0) list.replaceChildren(...chunk);
    else list.lastElementChild?.replaceWith(...chunk);
    const left = rows.length - from - chunk.length;
    if (left > 0) {
      const more = h(
        "li",
        { role: "treeitem", tabindex: "-1", "aria-selected": "false" },
        h("span", null, `${grouped(left)} more`),
      );
      list.append(more);
      this.rows.set(more, {
        words: "",
        below: () => {
          this.add(list, rows, from + CHUNK);
          this.go(chunk.at(-1)?.nextElementSibling);
          return [];
        },
      });
    }
    if (this.state) this.update(this.state);
  }

  private async expand(item: Element): Promise<void> {
    const row = this.rows.get(item);
    if (!row?.below || item.getAttribute("aria-expanded") === "true") return;
    const isBranch = item.hasAttribute("aria-expanded");
    if (isBranch) item.setAttribute("aria-expanded", "true");
    let rows: Row[];
    try {
      rows = await row.below();
    } catch (error) {
      rows = [{ words: messageOf(error) }];
    }
    if (!isBranch || item.getAttribute("aria-expanded") === "false") return; // closed meanwhile
    const list = h("ul", { role: "group" });
    item.append(list);
    this.add(list, rows);
  }

  private collapse(item: Element): void {
    item.setAttribute("aria-expanded", "false");
    item.querySelector("ul")?.remove(); // and is asked for anew
  }

  /** Enter and a click: pin an image, open or close a class. */
  private act(item: Element | null): void {
    if (!item) return;
    this.go(item);
    const pinned = this.rows.get(item)?.item;
    if (pinned !== undefined) this.on.pin(pinned);
    else if (item.getAttribute("aria-expanded") === "true") this.collapse(item);
    else this.heed(this.expand(item));
  }

  private go(item: Element | null | undefined): void {
    if (!item) return;
    this.tree.setAttribute("tabindex", "-1");
    for (const other of this.tree.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    (item as HTMLElement).focus();
  }

  private onKey(event: KeyboardEvent): void {
    const item = (event.target as Element).closest("[role=treeitem]");
    if (event.key === "Tab" || event.ctrlKey || event.metaKey || event.altKey || !item) return;
    event.stopPropagation(); // the map has the same keys
    event.preventDefault();
    const all = [...this.tree.querySelectorAll("[role=treeitem]")];
    const here = all.indexOf(item);
    const isOpen = item.getAttribute("aria-expanded") === "true";
    const above = item.parentElement?.closest("[role=treeitem]");
    const actions: Record<string, () => void> = {
      ArrowDown: () => this.go(all[here + 1]),
      ArrowUp: () => this.go(all[here - 1]),
      Home: () => this.go(all[0]),
      End: () => this.go(all.at(-1)),
      ArrowRight: () => (isOpen ? this.go(item.querySelector("[role=treeitem]")) : this.heed(this.expand(item))),
      ArrowLeft: () => (isOpen ? this.collapse(item) : this.go(above)),
      Enter: () => this.act(item),
      " ": () => this.act(item),
      Escape: () => this.on.leave(),
    };
    actions[event.key]?.();
  }
}
