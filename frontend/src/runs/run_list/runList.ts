// The cards of all runs, with search and order; actions on a run are sent to Python.
import { h, setData } from "../../lib/dom.ts";
import { counted, grouped } from "../../lib/format.ts";
import { component, type ComponentArguments } from "../../lib/mount.ts";
import type { DeletedRun, DiskUse, RunCardProps, RunListOrder, RunListProps } from "../../protocol.ts";
import { addressOf, compareQuery, exploreQuery, navigate, type Query } from "../../lib/router.ts";
import { readTheme } from "../../lib/theme.ts";
import { RunCard, type Act } from "./runCard.ts";
import { filterAndSort, GROUPS, groupsOf, readable, SORTS } from "./model.ts";
import style from "./runList.css";
import { fetchServer } from "../../lib/server.ts";

type Host = Pick<ComponentArguments<RunListProps>, "setStateValue" | "setTriggerValue">;

class RunList {
  private host: Host | null = null;
  private order: RunListOrder = { sort: "newest", search: "", group: "all" };
  /** By run, so that one that is being renamed is left alone. */
  private cards = new Map<string, RunCard>();
  private runs: RunCardProps[] = [];
  private pages: { explore: Query; compare: Query } = { explore: {}, compare: {} };
  private url: string | null = null; // where runs are imported
  private sent = ""; // the order that Python sent last
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
      change: () => this.sendOrder(),
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

  private act: Act = (what, run, value = null) => {
    if (what === "open" && run) navigate(addressOf("", exploreQuery(this.pages.explore, run), location, "runs"));
    else if (what === "compare" && run)
      navigate(addressOf("compare", compareQuery(this.pages.compare, run), location, "runs"));
    else this.host?.setTriggerValue("act", { what, run, value });
  };

  update(props: RunListProps, host: Host): void {
    const { cards, sort, search, group, disk, deleted, note, import: url, explore, compare } = props;
    this.host = host;
    this.pages = { explore, compare };
    this.runs = cards;
    this.url = url;
    this.import.hidden = !url;
    if (this.sent !== `${sort} ${group} ${search}`) {
      this.sent = `${sort} ${group} ${search}`;
      this.order = { sort, search, group };
      this.search.value = search;
    }
    this.theme = readTheme(this.root).dark ? "dark" : "light";
    this.showQuota(disk);
    this.say(note ?? "", deleted, disk.gone);
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

  private say(note: string, deleted: DeletedRun | null = null, gone: DeletedRun[] = []): void {
    this.notice.hidden = !note && !deleted && !gone.length;
    const offer = (said: string, { run, title }: DeletedRun, action: string): (string | HTMLElement)[] => [
      `${said} ${title}. `,
      h("button", { click: () => this.act("restore", run) }, action),
      " ",
    ];
    const removed = gone.flatMap((run) => offer("Removed to make room:", run, "Restore"));
    this.notice.replaceChildren(...(deleted ? offer("Deleted", deleted, "Undo") : note ? [note] : removed));
  }

  private async importFile(file: File | undefined): Promise<void> {
    if (!file || !this.url) return;
    this.file.value = "";
    this.say(`Importing ${file.name} …`);
    try {
      const answer = await fetchServer(this.url, {
        method: "POST",
        body: file,
        headers: { "content-type": "application/zip" },
      });
      const { title, error } = (await answer.json()) as { title?: string; error?: string };
      this.act("say", null, error ?? `Imported ${title}.`);
    } catch {
      this.say("Upload failed. Please try again.");
    }
  }

  private setOrder(change: Partial<RunListOrder>, tell = true): void {
    Object.assign(this.order, change);
    this.show();
    if (tell) this.sendOrder();
  }

  private sendOrder(): void {
    this.host?.setStateValue("arranged", { ...this.order });
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
      if (!card) this.cards.set(props.run, (card = new RunCard(props, this.theme, this.act)));
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
