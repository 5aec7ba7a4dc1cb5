// A sheet of images or own vectors that may be wrong: a picture, the reason, keys to decide. The server keeps decisions.
import { heeding } from "../../lib/boundary.ts";
import type { Decision, ReviewAction, ReviewAnswer, ReviewSheetProps, ReviewRow } from "../../protocol.ts";
import { h, setData, textButton } from "../../lib/dom.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { component, rerun, type ComponentArguments } from "../../lib/mount.ts";
import { fetchJson } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import {
  applied,
  buttonsOf,
  decisionOf,
  decisionText,
  isOfVectors,
  KINDS,
  kindsOf,
  looked,
  nextRow,
  type Kind,
} from "./rows.ts";
import style from "./reviewSheet.css";

const POLL_MS = 500;
const MAX_SENT = 100; // decisions at a time
const UNDER_WAY = ["queued", "starting", "running", "stopping"];
const TILE_PX = 56;
const KEYS = {
  "↑ ↓": "move",
  c: "keep the label",
  r: "change to the suggestion",
  "0–9": "another label",
  x: "exclude",
  t: "tag",
  u: "undo",
};

type Host = Pick<ComponentArguments<ReviewSheetProps>, "setTriggerValue">;

class ReviewSheet {
  private readonly heed = heeding();
  private tabs = h("div", { class: "kinds", role: "tablist", "aria-label": "What may be wrong" });
  private words = h("span", { role: "status" });
  private bar = h("progress", { max: 1, "aria-label": "Search" });
  private button = h("button", { click: () => this.ask() });
  private search = h("p", "search", this.words, this.bar, this.button);
  private note = h("p", "note");
  private list = h("ol", { class: "rows", tabindex: 0, "aria-label": "Images to review" });
  private keys = h(
    "p",
    "keys",
    ...Object.entries(KEYS).map(([key, does]) => h("span", {}, h("kbd", {}, key), ` ${does}`)),
  );
  private root = h(
    "section",
    { class: "review", "aria-label": "Review sheet" },
    this.search,
    this.tabs,
    this.note,
    this.keys,
    this.list,
  );
  private props: ReviewSheetProps | null = null;
  private answer: ReviewAnswer | null = null;
  private decisions: Record<string, Decision | undefined> = {};
  private saved: Record<string, Decision | undefined> = {}; // those that the server has
  private waiting: ReviewAction[] = []; // that it does not have yet
  private refusals: Record<number, string | undefined> = {}; // by image
  private kind: Kind = "suspect";
  private at = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private host: Host | null = null;
  private drawn = new WeakMap<ReviewRow, { decision: string; node: HTMLElement }>();

  constructor(parent: ParentNode) {
    parent.append(this.root);
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("pagehide", this.leave);
  }

  update(props: ReviewSheetProps, host: Host): void {
    const isNew = props.run !== this.props?.run;
    this.props = props;
    this.host = host;
    if (!isNew) return;
    this.answer = null;
    this.waiting = [];
    this.saved = {};
    this.refusals = {};
    this.at = 0;
    this.draw();
    this.heed(this.fetch());
  }

  /** Show how the search stands, after a wish about it where there is one, and follow it. */
  private async fetch(wish?: "start" | "stop"): Promise<void> {
    clearTimeout(this.timer);
    const { url } = this.props!;
    try {
      const answer = await (wish
        ? fetchJson<ReviewAnswer>(`${url}/search`, "The search", { wish })
        : fetchJson<ReviewAnswer>(`${url}.json`, "The findings"));
      if (this.props?.url === url) this.show(answer);
    } catch (error) {
      this.words.textContent = messageOf(error);
      this.button.disabled = false;
    }
    if (this.props?.url === url && UNDER_WAY.includes(this.answer?.state ?? ""))
      this.timer = setTimeout(() => this.heed(this.fetch()), POLL_MS);
  }

  /** Show how the search stands; rows that are there stay, with the current one, until there are others. */
  private show(answer: ReviewAnswer): void {
    const before = this.answer;
    const image = this.rows[this.at]?.image;
    this.answer = answer;
    this.drawSearch();
    if (!before) this.decisions = { ...Object.assign(this.saved, answer.decisions) };
    if (before && before.part === answer.part && before.state === answer.state) return;
    if (this.list.querySelector("input")) return; // a tag that is being typed stays; it is drawn after that
    this.at = Math.max(0, image === undefined ? 0 : this.rows.findIndex((row) => row.image === image));
    this.draw();
  }

  private drawSearch(): void {
    const { answer } = this;
    if (!answer) return;
    const underWay = UNDER_WAY.includes(answer.state);
    const texts = { unknown: `Look through the ${this.props?.items}`, finished: "" } as Record<string, string>;
    this.words.textContent = answer.words;
    this.bar.hidden = !underWay;
    if (answer.state === "running" || answer.state === "stopping") this.bar.value = answer.share || this.bar.value;
    else this.bar.value = 0;
    this.button.textContent = underWay ? "Cancel" : (texts[answer.state] ?? "Look again");
    this.button.hidden = !this.button.textContent;
    this.button.disabled = answer.state === "stopping";
    this.button.classList.toggle("primary", !underWay);
    this.search.hidden = answer.state === "finished";
    setData(this.root, { state: answer.state, ready: answer.state === "finished", part: answer.part ?? 0 });
  }

  /** Ask the server to start, or to stop, the search. */
  private ask(): void {
    this.button.disabled = true;
    this.heed(this.fetch(UNDER_WAY.includes(this.answer?.state ?? "") ? "stop" : "start"));
  }

  private get rows(): ReviewRow[] {
    return (this.answer?.rows ?? []).filter(({ kind }) => kind === this.kind);
  }

  private draw(): void {
    const { answer, props } = this;
    if (!props) return;
    const shown = Boolean(answer?.rows);
    setData(this.root, { run: props.run, kind: this.kind });
    this.drawSearch();
    this.keys.hidden = this.list.hidden = !shown || !this.rows.length;
    this.tabs.hidden = this.note.hidden = !shown;
    if (!answer || !shown) return;
    this.tabs.replaceChildren(
      ...kindsOf(answer).map(({ kind, title }) => {
        const count = (answer.rows ?? []).filter((row) => row.kind === kind).length;
        const tab = textButton(`${title} ${grouped(count)}`, () => this.choose(kind));
        tab.setAttribute("role", "tab");
        tab.setAttribute("aria-selected", String(kind === this.kind));
        return tab;
      }),
    );
    const kind = KINDS.find(({ kind }) => kind === this.kind);
    const meaning = (isOfVectors(answer) ? kind?.ofVectors : kind?.meaning) ?? "";
    const among = looked(this.kind, answer);
    this.note.textContent = this.rows.length ? `${meaning} ${among}` : `None found among ${among}`;
    this.drawRows();
    this.mark();
  }

  /** Draw those rows whose decision has changed; the others stay where they are. */
  private drawRows(): void {
    const { rows } = this;
    rows.forEach((row, i) => {
      const decision = JSON.stringify([this.decisions[row.image], this.refusals[row.image]]);
      const before = this.drawn.get(row);
      const node = before?.decision === decision ? before.node : this.row(row, i);
      this.drawn.set(row, { decision, node });
      const old = this.list.children[i];
      if (!old) this.list.append(node);
      else if (old !== node) old.replaceWith(node);
    });
    while (this.list.children.length > rows.length) this.list.lastElementChild?.remove();
  }

  private choose(kind: Kind): void {
    this.kind = kind;
    this.at = 0;
    this.draw();
    this.list.focus();
  }

  private row(row: ReviewRow, index: number): HTMLElement {
    const { classes } = this.props!;
    const decision = this.decisions[row.image];
    const values = this.answer?.values?.[row.image];
    const node = h(
      "li",
      { class: decision ? `row ${decision.action}` : "row", "data-image": row.image },
      this.pictures(row),
      h(
        "div",
        "words",
        h("b", {}, classes[row.label]),
        row.suggestion === null ? null : h("span", "perhaps", ` perhaps ${classes[row.suggestion]}`),
        h("p", {}, row.reason),
        values ? h("p", "values", values) : null,
        h("p", "decision", decisionText(decision, classes)),
        h("p", { class: "refusal", role: "alert" }, this.refusals[row.image] ?? ""),
      ),
      this.buttons(row, index),
    );
    node.addEventListener("click", ({ target }) => {
      if (target instanceof Element && target.closest("button")) return; // it has decided, and gone on
      this.at = index;
      this.mark();
    });
    return node;
  }

  private buttons(row: ReviewRow, index: number): HTMLElement {
    const { read_only, classes } = this.props!;
    const buttons = buttonsOf(row, classes).map(([key, verb, name]) => {
      const button = textButton(verb, () => this.decide(key, index));
      if (name) button.append(" ", h("span", { class: "class", title: name }, name));
      // It keeps its place where there is nothing to undo, so that the others stay under the pointer.
      if (key === "u" && !this.decisions[row.image]) button.style.visibility = "hidden";
      return button;
    });
    return h("div", "buttons", ...(read_only ? [] : buttons));
  }

  /** The pictures of a row and of what it is compared with; the name of what has none. */
  private pictures({ kind, image, tile, other, other_tile: otherTile }: ReviewRow): HTMLElement {
    const noun = this.answer?.noun ?? "training image";
    const title = `${noun} ${image}`;
    if (tile === null) return h("div", "pictures", title);
    const others =
      otherTile === null ? [] : [this.picture(otherTile, `${kind === "leak" ? "test image" : noun} ${other}`)];
    return h("div", "pictures", this.picture(tile, title), ...others);
  }

  private picture(item: number, title: string): HTMLElement {
    const node = h("span", { class: "tile", title, role: "img", "aria-label": title });
    if (this.answer?.sheet) Object.assign(node.style, tileStyle(this.answer.sheet, item, TILE_PX));
    return node;
  }

  private mark(): void {
    [...this.list.children].forEach((node, i) => node.classList.toggle("current", i === this.at));
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.list) return;
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (step) {
      event.preventDefault();
      this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + step));
      this.mark();
    } else if (event.key === "t") {
      event.preventDefault();
      this.tag();
    } else if (this.decide(event.key, this.at)) event.preventDefault();
  }

  /** Ask for a word to remember the current image by. */
  private tag(): void {
    const row = this.rows[this.at];
    const node = this.list.children[this.at]?.querySelector(".decision");
    if (!row || !node || this.props?.read_only) return;
    const field = h("input", { type: "text", maxlength: 30, placeholder: "tag", "aria-label": "Tag" });
    field.value = this.decisions[row.image]?.tag ?? "";
    this.drawn.delete(row); // drawn anew, without the field
    node.replaceChildren(field);
    field.focus();
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") this.take({ image: row.image, action: "tag", label: null, tag: field.value });
      if (event.key === "Enter" || event.key === "Escape") {
        this.draw();
        this.list.focus();
      }
    });
  }

  private decide(key: string, index: number): boolean {
    const row = this.rows[index];
    const action = row && !this.props?.read_only ? decisionOf(key, row, this.props!.classes) : null;
    if (!action) return false;
    this.at = index;
    this.take(action);
    if (action.action !== "undo") this.at = nextRow(this.rows, this.decisions, index);
    this.draw();
    this.list.focus();
    return true;
  }

  private take(action: ReviewAction): void {
    this.decisions[action.image] = applied(this.decisions[action.image], action);
    this.refusals[action.image] = undefined;
    this.waiting.push(action);
    if (this.waiting.length === 1) this.heed(this.send());
  }

  /** Send what was decided, in its order: what is decided meanwhile goes with the next request. */
  private async send(): Promise<void> {
    const { waiting, saved } = this;
    while (waiting.length) {
      const sent = waiting.slice(0, MAX_SENT);
      try {
        await this.post(sent);
        waiting.splice(0, sent.length);
        for (const action of sent) saved[action.image] = applied(saved[action.image], action);
      } catch (error) {
        const lost = waiting.splice(0);
        if (this.waiting !== waiting) return; // another run is shown
        for (const { image } of lost) this.refusals[image] = `Not saved: ${messageOf(error)}`;
        this.decisions = { ...saved };
        if (!this.list.querySelector("input")) this.draw();
      }
    }
    if (this.host) rerun(this.host); // for what stands beside the sheet
  }

  private post = (actions: ReviewAction[]): Promise<unknown> =>
    fetchJson(`${this.props!.url}/decisions`, "The decision", { actions }, true);

  private leave = (): void => {
    if (this.waiting.length) this.heed(this.post(this.waiting));
  };

  destroy(): void {
    clearTimeout(this.timer);
    removeEventListener("pagehide", this.leave);
    this.root.remove();
  }
}

export default component(style, ReviewSheet);
