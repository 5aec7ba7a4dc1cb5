// A sheet of training images that may be wrong: a picture, the reason, and keys to decide. The server keeps decisions.
import type { Decision, NumberedAction, ReviewAction, ReviewAnswer, ReviewProps, ReviewRow } from "../../protocol.ts";
import { h, setData, textButton } from "../../lib/dom.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { fetchServer } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { applied, decisionOf, decisionText, KINDS, looked, nextRow, type Kind } from "./rows.ts";
import style from "./reviewSheet.css";

const POLL_MS = 1500;
const TILE_PX = 56;

export default function ({ parentElement, data, setTriggerValue }: ComponentArguments<ReviewProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new ReviewSheet(parent),
    (sheet) => sheet.update(data, (actions) => setTriggerValue("actions", actions)),
  );
}

class ReviewSheet {
  private tabs = h("div", { class: "kinds", role: "tablist", "aria-label": "What may be wrong" });
  private note = h("p", "note");
  private list = h("ol", { class: "rows", tabindex: 0, "aria-label": "Images to review" });
  private keys = h(
    "p",
    "keys",
    ...[
      "↑ ↓ move",
      "c label is right",
      "r take the suggestion",
      "0–9 another label",
      "x exclude",
      "t tag",
      "u undo",
    ].map((text) =>
      h(
        "span",
        {},
        h("kbd", {}, text.slice(0, text.indexOf(" ", text.startsWith("↑") ? 2 : 0))),
        text.slice(text.indexOf(" ", text.startsWith("↑") ? 2 : 0)),
      ),
    ),
  );
  private root = h(
    "section",
    { class: "review", "aria-label": "Review sheet" },
    this.tabs,
    this.note,
    this.keys,
    this.list,
  );
  private props: ReviewProps | null = null;
  private answer: ReviewAnswer | null = null;
  private decisions: Record<string, Decision | undefined> = {};
  private kind: Kind = "suspect";
  private at = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private send: (actions: NumberedAction[]) => void = () => {};
  private pending: NumberedAction[] = []; // that the server has not confirmed
  private number = 0;

  constructor(parent: ParentNode) {
    parent.append(this.root);
    this.list.addEventListener("keydown", (event) => this.onKey(event));
  }

  update(props: ReviewProps, send: (actions: NumberedAction[]) => void): void {
    const isNew = props.run !== this.props?.run;
    this.props = props;
    this.send = send;
    this.number = Math.max(this.number, props.received);
    this.pending = isNew ? [] : this.pending.filter(({ number }) => number > props.received);
    this.decisions = { ...props.decisions };
    for (const { action } of this.pending) this.decisions[action.image] = applied(this.decisions[action.image], action);
    if (isNew) {
      clearTimeout(this.timer);
      this.answer = null;
      this.at = 0;
      void this.fetch(props.run);
    }
    if (isNew || !this.list.querySelector("input")) this.draw(); // a tag that is being typed stays
  }

  private async fetch(run: string): Promise<void> {
    const { props } = this;
    if (props?.run !== run) return;
    try {
      const response = await fetchServer(props.url);
      const answer = (await response.json()) as ReviewAnswer & { error?: string };
      if (this.props?.run !== run) return;
      if (answer.error) {
        this.note.textContent = answer.error;
        return;
      }
      this.answer = answer;
      if (answer.state === "working") this.timer = setTimeout(() => void this.fetch(run), POLL_MS);
    } catch (error) {
      this.note.textContent = messageOf(error);
      return;
    }
    this.draw();
  }

  private get rows(): ReviewRow[] {
    return (this.answer?.rows ?? []).filter(({ kind }) => kind === this.kind);
  }

  private draw(): void {
    const { answer, props } = this;
    if (!props) return;
    const found = answer?.state === "found";
    setData(this.root, { ready: found, run: props.run, kind: this.kind });
    this.keys.hidden = this.list.hidden = !found || !this.rows.length;
    if (!found) {
      this.note.textContent =
        "Embedding the training images with the nets of this run, and comparing them. This takes a minute or more …";
      return;
    }
    this.tabs.replaceChildren(
      ...KINDS.map(({ kind, title }) => {
        const count = (answer.rows ?? []).filter((row) => row.kind === kind).length;
        const tab = textButton(`${title} ${grouped(count)}`, () => this.choose(kind));
        tab.setAttribute("role", "tab");
        tab.setAttribute("aria-selected", String(kind === this.kind));
        return tab;
      }),
    );
    const meaning = KINDS.find(({ kind }) => kind === this.kind)?.meaning ?? "";
    const among = looked(this.kind, answer);
    this.note.textContent = this.rows.length ? `${meaning} ${among}` : `None found among ${among}`;
    this.list.replaceChildren(...this.rows.map((row, i) => this.row(row, i)));
    this.mark();
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
    const others =
      row.other_tile === null
        ? []
        : [this.picture(row.other_tile, `${row.kind === "leak" ? "test" : "training"} image ${row.other}`)];
    const node = h(
      "li",
      { class: decision ? `row ${decision.action}` : "row", "data-image": row.image },
      h("div", "pictures", this.picture(row.tile, `training image ${row.image}`), ...others),
      h(
        "div",
        "words",
        h("b", {}, classes[row.label]),
        row.suggestion === null ? null : h("span", "perhaps", ` perhaps ${classes[row.suggestion]}`),
        h("p", {}, row.reason),
        h("p", "decision", decisionText(decision, classes)),
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
    const labels: [string, string][] = [["c", "Right"]];
    if (row.suggestion !== null) labels.push(["r", `Is ${classes[row.suggestion]}`]);
    labels.push(["x", "Exclude"], ["u", "Undo"]);
    const buttons = labels.map(([key, text]) => {
      const button = textButton(text, () => this.decide(key, index));
      // It keeps its place where there is nothing to undo, so that the others stay under the pointer.
      if (key === "u" && !this.decisions[row.image]) button.style.visibility = "hidden";
      return button;
    });
    return h("div", "buttons", ...(read_only ? [] : buttons));
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
    this.pending.push({ number: ++this.number, action });
    this.send(this.pending);
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.root.remove();
  }
}
