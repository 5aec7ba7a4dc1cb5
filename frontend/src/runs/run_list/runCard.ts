// One run on the shelf.
import { grouped } from "../../lib/format.ts";
import { type Attributes, copied, h, icon, setData } from "../../lib/dom.ts";
import type { RunCardProps, RunChange, RunSharing } from "../../protocol.ts";
import { isRunning, readable, SCORES, statusLabel, tagsOf, timeAgo } from "./model.ts";
import { serverUrl } from "../../lib/server.ts";
import { addressOf } from "../../lib/router.ts";

const LOCK = "M3.5 7.5h9v6h-9ZM5.5 7.5v-2a2.5 2.5 0 0 1 5 0v2";
const CHAIN = "M6.5 9.5l3-3M7 4.5l1.5-1.5a2.6 2.6 0 0 1 4 4L11 8.5M9 11.5L7.5 13a2.6 2.6 0 0 1-4-4L5 7.5";
const SHELF = "M2.5 13.5h11M4 13.5v-9h2.5v9M6.500 13.5v-11H9v11M9.500 4l2.3-.6 2.2 9.3";

type Visibility = RunSharing["visibility"];

const VISIBILITIES: Record<Visibility, { label: string; path: string }> = {
  private: { label: "Only me", path: LOCK },
  link: { label: "Everyone with the link", path: CHAIN },
  shelf: { label: "Everyone, on the shelf", path: SHELF },
};

/** The choices that a person has, and the link where there is one. */
function sharingForm(run: string, sharing: RunSharing, choose: (visibility: Visibility) => void): HTMLElement[] {
  const choices = sharing.offered.map((visibility) => {
    const { label, path } = VISIBILITIES[visibility];
    return h(
      "button",
      {
        class: "choice",
        "data-visibility": visibility,
        "aria-pressed": String(visibility === sharing.visibility),
        click: () => choose(visibility),
      },
      icon(path),
      label,
    );
  });
  return sharing.key ? [...choices, linkField(run, sharing.key)] : choices;
}

function linkField(run: string, key: string): HTMLElement {
  const field = h("input", { type: "text", class: "field", "aria-label": "Link" });
  field.value = new URL(addressOf("", { run, share: key }, location, "runs"), location.href).href;
  field.readOnly = true;
  const copy = h("button", { class: "copy", click: () => void copyLink() }, "Copy");
  const copyLink = async () => {
    copy.textContent = (await copied(field.value)) ? "Copied" : "Press Ctrl+C";
    field.select();
  };
  return h("div", "link", field, copy);
}

const PENCIL = "M3 13l.6-2.6 7.5-7.5 2 2-7.5 7.5L3 13Zm6.8-8.8 2 2";
const PIN = "M6 2.5h4l-.5 4 2 2.2v.8h-7v-.8l2-2.2-.5-4ZM8 9.5v4";
const BIN = "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9M7 7v4.5M9 7v4.5";
const OUT = "M8 2.5v7.5M5 7l3 3 3-3M3 11v2.5h10V11";
const BOTH = "M2.5 3h4.5v10H2.5ZM9 3h4.5v10H9Z";
const BROKEN = "M4 2.5h5l3 3v2.2l-2 1.6-2-1.8-2 1.8-2-1.6ZM4 9.6l2 1.6 2-1.8 2 1.8 2-1.6v3.9H4Z";
const TAG = "M2.5 2.5H8L13.5 8 8 13.5 2.5 8ZM5.2 5.2h.1";

/** What a person can do with runs. */
export interface Acts {
  open(run: string): void;
  compare(run: string): void;
  change(wish: RunChange): void;
}

export class RunCard {
  readonly node = h("li", "run");
  private title: HTMLElement = h("button");
  private tags: HTMLElement = h("p");
  private key = ""; // what was drawn last
  private editing: HTMLElement | null = null;
  private sharing = h("div", { class: "sharing", hidden: true });

  constructor(
    private card: RunCardProps,
    private theme: "light" | "dark",
    private acts: Acts,
  ) {}

  show(card: RunCardProps, theme: "light" | "dark"): void {
    const key = JSON.stringify([card, theme]);
    if (key === this.key || this.editing) return;
    this.key = key;
    this.card = card;
    this.theme = theme;
    this.build();
  }

  private build(): void {
    const { card } = this;
    const open = () => this.acts.open(card.run);
    const opens = card.readable !== false;
    const picture = opens
      ? h("button", { class: "picture", "aria-label": `Open ${card.title}`, click: open })
      : h("div", "picture broken", icon(BROKEN));
    if (card.thumbnail) {
      const src = serverUrl(card.thumbnail.replace("{theme}", this.theme));
      const error = () => {
        picture.classList.add("broken");
        picture.replaceChildren(icon(BROKEN));
      };
      picture.append(h("img", { src, alt: "", width: 480, height: 300, loading: "lazy", error }));
    }
    const state = statusLabel(card.state);
    const place = card.machine ? `on ${card.machine}` : "";
    const scoredOn = card.tested ? `On ${grouped(card.tested)} test images, each against all others` : null;
    this.title = opens ? h("button", { class: "title", click: open }, card.title) : h("span", "title", card.title);
    this.tags = h("p", { class: "tags", hidden: !card.tags.length }, ...card.tags.map((tag) => h("span", {}, tag)));
    this.node.replaceChildren(
      picture,
      h(
        "div",
        "about",
        this.title,
        h("p", { class: "badges", hidden: !card.badges.length }, ...card.badges.map((badge) => h("span", {}, badge))),
        h("p", { class: "damage", hidden: !card.damage }, card.damage),
        this.tags,
        h(
          "p",
          { class: "scores", title: scoredOn },
          ...Object.entries(card.scores).map(([key, value]) =>
            h("span", {}, `${SCORES[key]} `, h("b", {}, value.toFixed(3))),
          ),
          state || place
            ? h(
                "span",
                { class: state && !isRunning(card.state) ? "state" : "" },
                [state, place].filter(Boolean).join(" "),
              )
            : null,
        ),
        h("div", "foot", h("span", "facts", this.facts().join(" · ")), this.actions()),
        this.sharing,
      ),
    );
    if (card.sharing && !this.sharing.hidden)
      this.sharing.replaceChildren(
        ...sharingForm(card.run, card.sharing, (visibility) => this.acts.change({ run: card.run, visibility })),
      );
    setData(this.node, { run: card.run, state: card.state, pinned: card.pinned });
  }

  private facts(): string[] {
    const { created, bytes, sharing } = this.card;
    return [...(sharing?.owner ? [sharing.owner] : []), timeAgo(created, Date.now()), readable(bytes)];
  }

  private actions(): HTMLElement {
    const { card } = this;
    const action = (name: string, label: string, d: string, click: () => void, more: Attributes = {}) =>
      h("button", { class: name, title: label, "aria-label": `${label}: ${card.title}`, click, ...more }, icon(d));
    const living = isRunning(card.state);
    const opens = card.readable !== false;
    const actions: HTMLElement[] = opens ? [action("compare", "Compare", BOTH, () => this.acts.compare(card.run))] : [];
    if (!card.read_only && opens) {
      actions.push(
        action("rename", "Rename", PENCIL, () => this.rename()),
        action("tag", "Tags", TAG, () => this.editTags()),
        action(
          "pin",
          card.pinned ? "Pinned: never evicted" : "Pin: never evict",
          PIN,
          () => this.acts.change({ run: card.run, pinned: !card.pinned }),
          { "aria-pressed": String(card.pinned) },
        ),
      );
    }
    if (card.sharing?.offered.length) {
      const { label, path } = VISIBILITIES[card.sharing.visibility];
      actions.push(
        action("share", `Who sees it: ${label}`, path, () => this.toggleSharing(), {
          "aria-expanded": String(!this.sharing.hidden),
        }),
      );
    }
    if (card.export) {
      actions.push(
        h(
          "a",
          {
            class: "export",
            href: serverUrl(card.export),
            download: "",
            title: "Export (zip)",
            "aria-label": `Export: ${card.title}`,
          },
          icon(OUT),
        ),
      );
    }
    const isLinked = card.sharing?.group === "shared" && card.read_only; // by a link that was opened
    if (isLinked || (!card.read_only && !living))
      actions.push(
        action("delete", isLinked ? "Remove from my list" : "Delete", BIN, () =>
          this.acts.change({ run: card.run, deleted: true }),
        ),
      );
    return h("span", "actions", ...actions);
  }

  private toggleSharing(): void {
    this.sharing.hidden = !this.sharing.hidden;
    this.build();
  }

  private rename(): void {
    this.edit(this.title, this.card.title, "Title", (text) => {
      if (text.trim()) this.acts.change({ run: this.card.run, title: text.trim() });
    });
  }

  private editTags(): void {
    this.edit(this.tags, this.card.tags.join(", "), "Tags (comma-separated)", (text) =>
      this.acts.change({ run: this.card.run, tags: tagsOf(text) }),
    );
  }

  // A field in place of what it changes: Enter and leaving it keep, Escape does not.
  private edit(node: HTMLElement, value: string, label: string, keep: (text: string) => void): void {
    if (this.editing) return;
    const field = h("input", { type: "text", class: "field", "aria-label": label, placeholder: label, maxlength: 200 });
    field.value = value;
    this.editing = field;
    const end = (keeps: boolean) => {
      if (this.editing !== field) return;
      this.editing = null;
      const text = field.value;
      this.build();
      if (keeps && text !== value) keep(text);
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
