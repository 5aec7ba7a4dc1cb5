// @ts-nocheck
// One run on the shelf.
import { element, icon } from "../../lib/dom.ts";
import { SCORES, ago, lives, readable, standing, tagsOf } from "./model.ts";

const PENCIL = "M3 13l.6-2.6 7.5-7.5 2 2-7.5 7.5L3 13Zm6.8-8.8 2 2";
const PIN = "M6 2.5h4l-.5 4 2 2.2v.8h-7v-.8l2-2.2-.5-4ZM8 9.5v4";
const BIN = "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9M7 7v4.5M9 7v4.5";
const OUT = "M8 2.5v7.5M5 7l3 3 3-3M3 11v2.5h10V11";
const BOTH = "M2.5 3h4.5v10H2.5ZM9 3h4.5v10H9Z";
const TAG = "M2.5 2.5H8L13.5 8 8 13.5 2.5 8ZM5.2 5.2h.1";

export class Card {
  /** `act(what, run, value)` is called with open, compare, rename, tags, pin, delete. */
  constructor(act) {
    this.act = act;
    this.node = element("li", { class: "run" });
    this.shown = null;
  }

  show(card, theme) {
    const key = JSON.stringify([card, theme]);
    if (key === this.shown || (this.editing && card.run === this.card?.run)) return;
    this.shown = key;
    Object.assign(this, { card, theme });
    this.build();
  }

  build() {
    const { card } = this;
    const open = () => this.act("open", card.run);
    const picture = element("button", { type: "button", class: "picture", "aria-label": `Open ${card.title}`, click: open });
    if (card.portrait) {
      picture.append(element("img", { src: card.portrait.replace("{theme}", this.theme), alt: "", width: 480, height: 300, loading: "lazy" }));
    }
    const state = standing(card.state);
    const told = card.tested ? `Share of the ${card.tested.toLocaleString("en")} test images, each among all others` : null;
    this.title = element("button", { type: "button", class: "title", click: open }, card.title);
    this.tags = element("p", { class: "tags", hidden: !card.tags.length }, ...card.tags.map((tag) => element("span", {}, tag)));
    this.node.replaceChildren(
      picture,
      element(
        "div", { class: "about" },
        this.title,
        element("p", { class: "badges" }, ...card.badges.map((badge) => element("span", {}, badge))),
        this.tags,
        element(
          "p", { class: "scores", title: told },
          ...Object.entries(card.scores).map(([key, value]) => element("span", {}, `${SCORES[key]} `, element("b", {}, value.toFixed(3)))),
          state ? element("span", { class: lives(card.state) ? "" : "state" }, state) : null,
        ),
        element("div", { class: "foot" }, element("span", { class: "facts" }, [ago(card.created, Date.now()), readable(card.bytes)].join(" · ")), this.deeds()),
      ),
    );
    Object.assign(this.node.dataset, { run: card.run, state: card.state, pinned: card.pinned });
  }

  deeds() {
    const { card } = this;
    const deed = (name, label, d, click, more = {}) =>
      element("button", { type: "button", class: name, title: label, "aria-label": `${label}: ${card.title}`, click, ...more }, icon(d));
    const living = lives(card.state);
    const deeds = [deed("compare", "Compare", BOTH, () => this.act("compare", card.run))];
    if (!card.ours) {
      deeds.push(
        deed("rename", "Rename", PENCIL, () => this.rename()),
        deed("tag", "Tags", TAG, () => this.retag()),
        deed("pin", card.pinned ? "Pinned: stays when older runs make room" : "Pin: keep when older runs make room", PIN,
          () => this.act("pin", card.run, !card.pinned), { "aria-pressed": String(card.pinned) }),
      );
    }
    if (card.export) {
      deeds.push(element("a", { class: "export", href: card.export, download: "", title: "Export as one file", "aria-label": `Export: ${card.title}` }, icon(OUT)));
    }
    if (!card.ours && !living) deeds.push(deed("delete", "Delete", BIN, () => this.act("delete", card.run)));
    return element("span", { class: "deeds" }, ...deeds);
  }

  rename() {
    this.edit(this.title, this.card.title, "Title", (text) => text.trim() && this.act("rename", this.card.run, text.trim()));
  }

  retag() {
    this.edit(this.tags, this.card.tags.join(", "), "Tags, with commas between", (text) => this.act("tags", this.card.run, tagsOf(text)));
  }

  // A field in place of what it changes: Enter and leaving it keep, Escape does not.
  edit(node, value, label, keep) {
    if (this.editing) return;
    const field = element("input", { type: "text", class: "field", "aria-label": label, placeholder: label, maxlength: 200 });
    field.value = value;
    this.editing = field;
    const end = (kept) => {
      if (this.editing !== field) return;
      this.editing = null;
      const text = field.value;
      this.build();
      if (kept && text !== value) keep(text);
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation(); // single letters are Streamlit's shortcuts
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    });
    field.addEventListener("blur", () => end(true));
    node.replaceWith(field);
    field.focus();
    field.select();
  }
}
