// The cards of all runs, with search and order. What a person does with a run is sent to the server.
import { h, setData } from "../../lib/dom.ts";
import { counted, grouped, messageOf } from "../../lib/format.ts";
import { component, rerun, type ComponentArguments } from "../../lib/mount.ts";
import type { DeletedRun, DiskUse, RunCardProps, RunChange, RunListOrder, RunListProps } from "../../protocol.ts";
import { addressOf, compareQuery, exploreQuery, navigate, type Query } from "../../lib/router.ts";
import { readTheme } from "../../lib/theme.ts";
import { RunCard, type Acts } from "./runCard.ts";
import { filterAndSort, GROUPS, groupsOf, readable, SORTS } from "./model.ts";
import style from "./runList.css";
import { fetchJson, fetchServer, ROUTES } from "../../lib/server.ts";

type Host = Pick<ComponentArguments<RunListProps>, "setTriggerValue">;

const DEFAULT: RunListOrder = { sort: "newest", search: "", group: "all" };

class RunList {
  private host: Host | null = null;
  private order = { ...DEFAULT };
  /** By run, so that one that is being renamed is left alone. */
  private cards = new Map<string, RunCard>();
  private runs: RunCardProps[] = [];
  private pages: { explore: Query; compare: Query } = { explore: {}, compare: {} };
  private sent = ""; // the order that Python sent last
  private gone: DeletedRun[] = []; // those that were removed to make room
  private theme: "light" | "dark" = "light";
  private search: HTMLInputElement;
  private sorts: HTMLElement[];
  private groups: HTMLElement[];
  private groupBar: HTMLElement;
  private count = h("span", { role: "status" });
  private meter = h("i");
  private used = h("span");
  private diskUse = h("span", "disk-use", h("span", "meter", this.meter), this.used);
  private file: HTMLInputElement;
  private import: HTMLElement;
  private notice = h("p", { class: "notice", role: "status", hidden: true });
  private list = h("ul", "list");
  private root: HTMLElement;

  constructor(parent: ParentNode) {
    this.search = h("input", {
      type: "search",
      placeholder: "Search titles, settings, tags",
      "aria-label": "Search",
      input: () => this.setOrder({ search: this.search.value }, false),
      change: () => this.writeOrder(),
    });
    this.sorts = Object.entries(SORTS).map(([name, label]) =>
      h("button", { "data-sort": name, click: () => this.setOrder({ sort: name }) }, label),
    );
    this.groups = Object.entries(GROUPS).map(([group, label]) =>
      h("button", { "data-group": group, click: () => this.setOrder({ group }) }, label),
    );
    this.groupBar = h("div", { class: "sorts groups", role: "group", "aria-label": "Whose", hidden: true });
    this.groupBar.append(...this.groups);
    this.file = h("input", {
      type: "file",
      accept: ".zip",
      hidden: true,
      change: () => void this.importFile(this.file.files?.[0]),
    });
    const choose = () => this.file.click();
    this.import = h("button", { class: "import", title: "Import a run (zip)", click: choose }, "Import");
    this.root = h(
      "section",
      { class: "run-list", "aria-label": "Runs" },
      h(
        "div",
        "tools",
        this.groupBar,
        this.search,
        h("div", { class: "sorts", role: "group", "aria-label": "Sort by" }, ...this.sorts),
        h("span", "count", this.count, this.diskUse, this.import, this.file),
      ),
      this.notice,
      this.list,
    );
    parent.append(this.root);
  }

  private acts: Acts = {
    open: (run) => navigate(addressOf("", exploreQuery(this.pages.explore, run), location, "runs")),
    compare: (run) => navigate(addressOf("compare", compareQuery(this.pages.compare, run), location, "runs")),
    change: (wish) => void this.change(wish),
  };

  private async change(wish: RunChange): Promise<void> {
    const deleted = wish.deleted ? this.runs.find(({ run }) => run === wish.run) : null;
    try {
      await fetchJson(`${ROUTES}/runs/change`, "The run", wish, true);
      this.say("", deleted);
    } catch (error) {
      this.say(messageOf(error));
    }
    if (this.host) rerun(this.host);
  }

  update(props: RunListProps, host: Host): void {
    const { cards, sort, search, group, disk, explore, compare } = props;
    this.host = host;
    this.pages = { explore, compare };
    this.runs = cards;
    if (this.sent !== `${sort} ${group} ${search}`) {
      this.sent = `${sort} ${group} ${search}`;
      this.order = { sort, search, group };
      this.search.value = search;
    }
    this.theme = readTheme(this.root).dark ? "dark" : "light";
    this.showQuota(disk);
    if (JSON.stringify(disk.gone) !== JSON.stringify(this.gone)) {
      this.gone = disk.gone;
      this.say("");
    }
    this.show();
  }

  private showQuota({ used, limit }: DiskUse): void {
    this.meter.style.width = `${Math.min(100, (100 * used) / limit).toFixed(1)}%`;
    this.used.textContent = `${readable(used)} of ${readable(limit)}`;
    this.diskUse.title =
      "At the disk limit, runs of people beyond their room are removed first, then those of guests, then the oldest, " +
      "unless pinned, shown or training. For an hour they can be restored.";
    this.diskUse.dataset.used = String(used);
  }

  /** Show a sentence, or offer what was deleted; otherwise what was removed to make room. */
  private say(note: string, deleted?: DeletedRun | null): void {
    const { gone } = this;
    this.notice.hidden = !note && !deleted && !gone.length;
    const offer = (said: string, { run, title }: DeletedRun, action: string): (string | HTMLElement)[] => [
      `${said} ${title}. `,
      h("button", { click: () => this.acts.change({ run, deleted: false }) }, action),
      " ",
    ];
    const removed = gone.flatMap((run) =>
      run.lost
        ? [`Removed to make room, for good, since the trash has no room for it: ${run.title}. `]
        : offer("Removed to make room:", run, "Restore"),
    );
    this.notice.replaceChildren(...(deleted ? offer("Deleted", deleted, "Undo") : note ? [note] : removed));
  }

  private async importFile(file: File | undefined): Promise<void> {
    if (!file) return;
    this.file.value = "";
    this.say(`Importing ${file.name} …`);
    try {
      const answer = await fetchServer(`${ROUTES}/runs/import`, {
        method: "POST",
        body: file,
        headers: { "content-type": "application/zip" },
      });
      const { title, error } = (await answer.json()) as { title?: string; error?: string };
      this.say(error ?? `Imported ${title}.`);
      if (this.host) rerun(this.host);
    } catch {
      this.say("Upload failed. Please try again.");
    }
  }

  private setOrder(change: Partial<RunListOrder>, write = true): void {
    Object.assign(this.order, change);
    this.show();
    if (write) this.writeOrder();
  }

  /** Write the order to the address. */
  private writeOrder(): void {
    const query = Object.entries(this.order).filter(([name, value]) => value !== DEFAULT[name as keyof RunListOrder]);
    navigate(addressOf("runs", Object.fromEntries(query), location, "runs"));
  }

  private show(): void {
    const matches = filterAndSort(this.runs, this.order);
    for (const button of this.sorts)
      button.setAttribute("aria-pressed", String(button.dataset.sort === this.order.sort));
    const groups = groupsOf(this.runs);
    this.groupBar.hidden = !groups.length;
    for (const button of this.groups) {
      button.hidden = !groups.includes(button.dataset.group ?? "");
      button.setAttribute("aria-pressed", String(button.dataset.group === this.order.group));
    }
    const all = this.runs.length;
    this.count.textContent = `${matches.length === all ? "" : `${grouped(matches.length)} of `}${counted(all, "run")}`;
    const nodes = matches.map((props) => {
      let card = this.cards.get(props.run);
      if (!card) this.cards.set(props.run, (card = new RunCard(props, this.theme, this.acts)));
      card.show(props, this.theme);
      return card.node;
    });
    // Only moved cards are touched, so that a field being edited keeps its focus.
    nodes.forEach((node, i) => {
      if (this.list.children[i] !== node) this.list.insertBefore(node, this.list.children[i] ?? null);
    });
    while (this.list.children.length > nodes.length) this.list.lastChild?.remove();
    const runs = new Set(this.runs.map(({ run }) => run));
    for (const run of this.cards.keys()) if (!runs.has(run)) this.cards.delete(run);
    setData(this.root, { ready: true, shown: matches.length });
  }

  destroy(): void {
    this.root.remove();
  }
}

export default component(style, RunList);
