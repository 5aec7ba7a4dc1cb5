// A sheet of training images that may be wrong: a picture, the reason, and keys to decide. The server keeps decisions.
import type { Decision, NumberedAction, ReviewAction, ReviewAnswer, ReviewProps, ReviewRow } from "../../protocol.ts";
import { h, setData, textButton } from "../../lib/dom.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { component, type ComponentArguments } from "../../lib/mount.ts";
import { fetchServer } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { applied, buttonsOf, decisionOf, decisionText, KINDS, looked, nextRow, type Kind } from "./rows.ts";
import style from "./reviewSheet.css";

const POLL_MS = 500;
const ANSWER_MS = 5000; // time until a request to start or stop shows
const CONFIRM_MS = 2000; // time until decisions are sent again that the server has not confirmed; twice that the next time
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

type Host = Pick<ComponentArguments<ReviewProps>, "setTriggerValue">;

class ReviewSheet {
  private tabs = h("div", { class: "kinds", role: "tablist", "aria-label": "What may be wrong" });
  private words = h("span", { role: "status" });
  private bar = h("progress", { max: 1, "aria-label": "Search through the training images" });
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
  private props: ReviewProps | null = null;
  private answer: ReviewAnswer | null = null;
  private decisions: Record<string, Decision | undefined> = {};
  private kind: Kind = "suspect";
  private at = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private send: Host["setTriggerValue"] = () => {};
  private asked = 0; // when the server was last asked to start or stop
  private pending: NumberedAction[] = []; // that the server has not confirmed
  private number = 0;
  private delivery: ReturnType<typeof setTimeout> | undefined;
  private drawn = new WeakMap<ReviewRow, { decision: string; node: HTMLElement }>();

  constructor(parent: ParentNode) {
    parent.append(this.root);
    this.list.addEventListener("keydown", (event) => this.onKey(event));
  }

  update(props: ReviewProps, { setTriggerValue: send }: Host): void {
    const isNew = props.run !== this.props?.run;
    this.props = props;
    this.send = send;
    this.number = Math.max(this.number, props.received);
    this.pending = isNew ? [] : this.pending.filter(({ number }) => number > props.received);
    this.decisions = { ...props.decisions };
    for (const { action } of this.pending) this.decisions[action.image] = applied(this.decisions[action.image], action);
    if (isNew) {
      this.answer = null;
      this.at = this.asked = 0;
      void this.fetch(props.run);
    }
    if (isNew || !this.list.querySelector("input")) this.draw(); // a tag that is being typed stays
  }

  private async fetch(run: string): Promise<void> {
    clearTimeout(this.timer);
    const { props } = this;
    if (props?.run !== run) return;
    try {
      const response = await fetchServer(props.url);
      const answer = (await response.json()) as ReviewAnswer & { error?: string };
      if (this.props?.run !== run) return;
      if (answer.error) throw new Error(answer.error);
      this.show(answer);
    } catch (error) {
      this.words.textContent = messageOf(error);
    }
    if (this.waits) this.timer = setTimeout(() => void this.fetch(run), POLL_MS);
  }

  /** True if something may change by itself. */
  private get waits(): boolean {
    return UNDER_WAY.includes(this.answer?.state ?? "") || Date.now() - this.asked < ANSWER_MS;
  }

  /** Show how the search stands; rows that are there stay, with the current one, until there are others. */
  private show(answer: ReviewAnswer): void {
    const before = this.answer;
    const image = this.rows[this.at]?.image;
    if (answer.state !== before?.state) this.asked = 0;
    this.answer = answer;
    this.drawSearch();
    if (before && before.part === answer.part && before.state === answer.state) return;
    if (this.list.querySelector("input")) return; // a tag that is being typed stays; it is drawn after that
    this.at = Math.max(0, image === undefined ? 0 : this.rows.findIndex((row) => row.image === image));
    this.draw();
  }

  private drawSearch(): void {
    const { answer } = this;
    if (!answer) return;
    const underWay = UNDER_WAY.includes(answer.state);
    const texts = { unknown: "Look through the training images", finished: "" } as Record<string, string>;
    this.words.textContent = answer.words;
    this.bar.hidden = !underWay;
    if (answer.state === "running" || answer.state === "stopping") this.bar.value = answer.share || this.bar.value;
    else this.bar.value = 0;
    this.button.textContent = underWay ? "Cancel" : (texts[answer.state] ?? "Look again");
    this.button.hidden = !this.button.textContent;
    this.button.disabled = this.asked > 0 || answer.state === "stopping";
    this.button.classList.toggle("primary", !underWay);
    this.search.hidden = answer.state === "finished";
    setData(this.root, { state: answer.state, ready: answer.state === "finished", part: answer.part ?? 0 });
  }

  /** Ask the server to start, or to stop, the search. */
  private ask(): void {
    this.asked = Date.now();
    this.button.disabled = true;
    this.send("search", UNDER_WAY.includes(this.answer?.state ?? "") ? "stop" : "start");
    this.timer = setTimeout(() => void this.fetch(this.props!.run), POLL_MS);
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
      ...(answer.part === 1 ? KINDS.slice(0, 1) : KINDS).map(({ kind, title }) => {
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
    this.drawRows();
    this.mark();
  }

  /** Draw those rows whose decision has changed; the others stay where they are. */
  private drawRows(): void {
    const { rows } = this;
    rows.forEach((row, i) => {
      const decision = JSON.stringify(this.decisions[row.image] ?? null);
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
    const buttons = buttonsOf(row, classes).map(([key, verb, name]) => {
      const button = textButton(verb, () => this.decide(key, index));
      if (name) button.append(" ", h("span", { class: "class", title: name }, name));
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
    this.pending.push({ number: ++this.number, action });
    this.deliver();
  }

  /** Send the decisions until the server has confirmed them: a message may be lost on the way. */
  private deliver(pause = CONFIRM_MS): void {
    clearTimeout(this.delivery);
    if (!this.pending.length) return;
    this.send("actions", this.pending);
    this.delivery = setTimeout(() => this.deliver(2 * pause), pause);
  }

  destroy(): void {
    clearTimeout(this.timer);
    clearTimeout(this.delivery);
    this.root.remove();
  }
}

export default component(style, ReviewSheet);
