// @ts-nocheck
// The cards of all runs, and how they are searched and sorted; what a person does to one is told to Python.
import { element } from "../../lib/dom.ts";
import { mount } from "../../lib/mount.ts";
import { addressOf, comparing, exploring, visit } from "../../lib/router.ts";
import { readTheme } from "../../lib/theme.ts";
import { Card } from "./runCard.ts";
import { SORTS, arranged, readable } from "./model.ts";
import style from "./runList.css";

export default function ({ parentElement, data, setStateValue, setTriggerValue }) {
  return mount(parentElement, style, (parent) => new Shelf(parent), (shelf) => {
    Object.assign(shelf, { setState: setStateValue, trigger: setTriggerValue });
    shelf.update(data);
  });
}

class Shelf {
  constructor(parent) {
    this.order = { sort: "newest", search: "" };
    this.cards = new Map(); // by run, so that one that is being renamed is left alone
    this.search = element("input", {
      type: "search", placeholder: "Search titles, settings, tags", "aria-label": "Search",
      input: () => this.arrange({ search: this.search.value }, false),
      change: () => this.tell(),
    });
    this.sorts = Object.entries(SORTS).map(([name, label]) =>
      element("button", { type: "button", "data-sort": name, click: () => this.arrange({ sort: name }) }, label));
    this.count = element("span", { role: "status" });
    this.room = element("span", { class: "room" }, element("span", { class: "meter" }, element("i")), element("span"));
    this.file = element("input", { type: "file", accept: ".zip", hidden: true, change: () => this.takeIn(this.file.files[0]) });
    this.import = element(
      "button",
      { type: "button", class: "import", title: "Take in a run that was exported as one file, here or elsewhere", click: () => this.file.click() },
      "Import",
    );
    this.said = element("p", { class: "said", role: "status", hidden: true });
    this.list = element("ul", { class: "list" });
    this.root = element(
      "section", { class: "shelf", "aria-label": "Runs" },
      element(
        "div", { class: "tools" }, this.search,
        element("div", { class: "sorts", role: "group", "aria-label": "Sort by" }, ...this.sorts),
        element("span", { class: "count" }, this.count, this.room, this.import, this.file),
      ),
      this.said, this.list,
    );
    parent.append(this.root);
    this.act = (what, run, value = null) => {
      if (what === "open") visit(addressOf("", exploring(this.pages.explore, run), location, "runs"));
      else if (what === "compare") visit(addressOf("compare", comparing(this.pages.compare, run), location, "runs"));
      else this.trigger("act", { what, run, value });
    };
  }

  update({ cards, sort, search, disk, deleted, note, import: url, explore, compare }) {
    this.pages = { explore, compare };
    this.told = cards;
    this.url = url;
    this.import.hidden = !url;
    if (this.sent !== `${sort} ${search}`) {
      this.sent = `${sort} ${search}`;
      this.order = { sort, search };
      this.search.value = search;
    }
    this.theme = readTheme(this.root).dark ? "dark" : "light";
    this.showRoom(disk);
    this.say(note ?? "", deleted);
    this.show();
  }

  showRoom({ used, limit, gone }) {
    const [meter, words] = this.room.children;
    meter.firstChild.style.width = `${Math.min(100, (100 * used) / limit).toFixed(1)}%`;
    words.textContent = `${readable(used)} of ${readable(limit)}`;
    const rule = "When the disk limit is reached, the oldest runs that are neither pinned, shown nor training are removed.";
    this.room.title = gone.length ? `${rule} Since the start: ${gone.join("; ")}.` : rule;
    this.room.dataset.used = used;
  }

  say(note, deleted = null) {
    this.said.hidden = !note && !deleted;
    const back = deleted && element("button", { type: "button", click: () => this.act("restore", deleted.run) }, "Undo");
    this.said.replaceChildren(...(deleted ? [`${deleted.title} is deleted. `, back] : [note]));
  }

  async takeIn(file) {
    if (!file) return;
    this.file.value = "";
    this.say(`Taking in ${file.name} …`);
    try {
      const answer = await fetch(this.url, { method: "POST", body: file, headers: { "content-type": "application/zip" } });
      const { title, error } = await answer.json();
      this.act("say", null, error ?? `${title} is here now.`);
    } catch {
      this.say("The file did not arrive; try again.");
    }
  }

  arrange(change, tell = true) {
    Object.assign(this.order, change);
    this.show();
    if (tell) this.tell();
  }

  tell() {
    this.setState("arranged", { ...this.order });
  }

  show() {
    const found = arranged(this.told, this.order);
    for (const button of this.sorts) button.setAttribute("aria-pressed", button.dataset.sort === this.order.sort);
    const all = this.told.length;
    this.count.textContent = `${found.length}${found.length === all ? "" : ` of ${all}`} ${all === 1 ? "run" : "runs"}`;
    const nodes = found.map((told) => {
      let card = this.cards.get(told.run);
      if (!card) this.cards.set(told.run, (card = new Card(this.act)));
      card.show(told, this.theme);
      return card.node;
    });
    // Only what moves is touched, so that a field somebody writes in keeps its focus.
    nodes.forEach((node, i) => this.list.children[i] !== node && this.list.insertBefore(node, this.list.children[i] ?? null));
    while (this.list.children.length > nodes.length) this.list.lastChild.remove();
    const here = new Set(this.told.map(({ run }) => run));
    for (const run of this.cards.keys()) if (!here.has(run)) this.cards.delete(run);
    Object.assign(this.root.dataset, { ready: "true", shown: found.length });
  }

  stop() {
    this.root.remove();
  }
}
