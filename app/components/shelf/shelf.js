// The cards of all runs: a small map, settings, scores, and what can be done with them.
import { element } from "../map/dom.js";
import { readTheme } from "../shared/theme.js";
import { SCORES, SORTS, ago, arranged, readable, standing } from "./cards.js";

const shelves = new WeakMap();

export default function ({ parentElement, data, setStateValue, setTriggerValue }) {
  let shelf = shelves.get(parentElement);
  if (!shelf) shelves.set(parentElement, (shelf = new Shelf(parentElement)));
  Object.assign(shelf, { setState: setStateValue, trigger: setTriggerValue });
  shelf.update(data);
  return () => {
    shelf.root.remove();
    shelves.delete(parentElement);
  };
}

class Shelf {
  constructor(parent) {
    this.order = { sort: "newest", search: "" };
    this.search = element("input", {
      type: "search", placeholder: "Search titles, settings, tags", "aria-label": "Search",
      input: () => this.arrange({ search: this.search.value }, false),
      change: () => this.tell(),
    });
    this.sorts = Object.entries(SORTS).map(([name, label]) =>
      element("button", { type: "button", "data-sort": name, click: () => this.arrange({ sort: name }) }, label));
    this.count = element("span", { class: "count", role: "status" });
    this.list = element("ul", { class: "list" });
    this.root = element(
      "section", { class: "shelf", "aria-label": "Runs" },
      element("div", { class: "tools" }, this.search, element("div", { class: "sorts", role: "group", "aria-label": "Sort by" }, ...this.sorts), this.count),
      this.list,
    );
    parent.append(this.root);
  }

  update({ cards, sort, search }) {
    this.cards = cards;
    if (this.sent !== `${sort} ${search}`) {
      this.sent = `${sort} ${search}`;
      this.order = { sort, search };
      this.search.value = search;
    }
    this.theme = readTheme(this.root).dark ? "dark" : "light";
    this.show();
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
    const found = arranged(this.cards, this.order);
    for (const button of this.sorts) button.setAttribute("aria-pressed", button.dataset.sort === this.order.sort);
    const all = this.cards.length;
    const of = found.length === all ? "" : ` of ${all}`;
    this.count.textContent = `${found.length}${of} ${all === 1 ? "run" : "runs"}`;
    this.list.replaceChildren(...found.map((card) => this.cardOf(card)));
    Object.assign(this.root.dataset, { ready: "true", shown: found.length });
  }

  cardOf(card) {
    const open = () => this.trigger("open", card.run);
    const picture = element("button", { type: "button", class: "picture", title: `Open ${card.title}`, tabindex: -1, click: open });
    if (card.portrait) picture.append(element("img", { src: card.portrait.replace("{theme}", this.theme), alt: "", loading: "lazy" }));
    const title = element("button", { type: "button", class: "title", click: open }, card.title);
    const facts = [ago(card.created, Date.now()), readable(card.bytes)];
    const state = standing(card.state);
    return element(
      "li", { class: "run", "data-run": card.run, "data-state": card.state },
      picture,
      element(
        "div", { class: "about" },
        title,
        element("p", { class: "badges" }, ...card.badges.map((badge) => element("span", {}, badge))),
        element("p", { class: "scores", title: card.tested ? `On all ${card.tested.toLocaleString("en")} test images` : null },
          ...Object.entries(card.scores).map(([key, value]) =>
            element("span", {}, `${SCORES[key]} `, element("b", {}, value.toFixed(3)))),
          state ? element("span", { class: "state" }, state) : null),
        element("p", { class: "facts" }, facts.join(" · ")),
      ),
    );
  }
}
