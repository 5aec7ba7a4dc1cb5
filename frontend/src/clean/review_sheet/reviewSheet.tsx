// A sheet of images or own vectors that may be wrong: a picture, the reason, keys to decide. The server keeps decisions.
import { Component, createRef } from "preact";
import { heeding } from "../../lib/boundary.ts";
import type { Decision, ReviewAction, ReviewAnswer, ReviewSheetProps, ReviewRow } from "../../protocol.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { rerun, type ComponentArguments } from "../../lib/mount.ts";
import { dataOf, EditField, panel } from "../../lib/panel.tsx";
import { fetchJson } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { isLive, stopWork } from "../../lib/server.ts";
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
  said,
  type Kind,
} from "./rows.ts";
import { DataMap } from "./dataMap.tsx";
import style from "./reviewSheet.css";

const POLL_MS = 500;
const TILE_PX = 56;
const MAX_SENT = 100; // decisions at a time
const MOVES: Record<string, number | undefined> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
const KEYS = {
  "↑ ↓": "move",
  c: "keep the label",
  r: "change to the suggestion",
  "0–9": "another label",
  x: "exclude",
  t: "tag",
  u: "undo",
};

class Sheet extends Component<ReviewSheetProps & { host: ComponentArguments<ReviewSheetProps> }> {
  private readonly heed = heeding();
  private list = createRef<HTMLOListElement>();
  private answer: Partial<ReviewAnswer> = {};
  private asked = false;
  private decisions: Record<string, Decision | undefined> = {};
  private isLeft = false; // by the person: a request may fail for that alone
  private saved: Record<string, Decision | undefined> = {}; // those that the server has
  private waiting: ReviewAction[] = []; // that it does not have yet
  private refusals: Record<number, string | undefined> = {}; // by image
  private kind: Kind = "suspect";
  private at = 0;
  private tagging: ReviewRow | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  override componentDidMount(): void {
    addEventListener("pagehide", this.leave);
    this.heed(this.fetch());
  }

  override componentWillUnmount(): void {
    clearTimeout(this.timer);
    removeEventListener("pagehide", this.leave);
  }

  private get underWay(): boolean {
    return isLive(this.answer.state);
  }

  private get rows(): ReviewRow[] {
    return (this.answer.rows ?? []).filter(({ kind }) => kind === this.kind);
  }

  private draw(): void {
    this.setState({});
  }

  /** Show how the search stands, after it was begun or stopped where that is asked for, and follow it. */
  private async fetch(asked?: "begin" | "stop"): Promise<void> {
    clearTimeout(this.timer);
    const { url } = this.props;
    try {
      if (asked === "stop") await stopWork(this.answer.work);
      this.show(
        await (asked === "begin"
          ? fetchJson<ReviewAnswer>(`${url}/search`, "The search", {})
          : fetchJson<ReviewAnswer>(`${url}.json`, "The findings")),
      );
    } catch (error) {
      this.answer = { ...this.answer, words: messageOf(error) };
    }
    this.asked = false;
    this.draw();
    if (this.underWay && this.list.current) this.timer = setTimeout(() => this.heed(this.fetch()), POLL_MS);
  }

  /** Rows that are there stay, with the current one, until there are others, and while a tag is being typed. */
  private show(answer: ReviewAnswer): void {
    const { answer: before, rows } = this;
    const share = answer.share || (before.state === "running" ? before.share : 0);
    const { state, part, words } = answer;
    if (!before.state) {
      this.decisions = { ...Object.assign(this.saved, answer.decisions) };
      const left = JSON.parse(sessionStorage.getItem(this.outbox) ?? "[]") as ReviewAction[];
      for (const action of left) this.take(action); // which the page before sent, and had no answer to
    }
    if (this.tagging || (before.state === state && before.part === part)) {
      this.answer = { ...before, words, share };
      return;
    }
    this.answer = { ...answer, share };
    const image = rows[this.at]?.image;
    this.go(Math.max(0, image === undefined ? 0 : this.rows.findIndex((row) => row.image === image)));
  }

  /** Ask the server to start, or to stop, the search. */
  private ask(): void {
    this.asked = true;
    this.draw();
    this.heed(this.fetch(this.underWay ? "stop" : "begin"));
  }

  render() {
    const { run, items } = this.props;
    const { answer, kind, rows, underWay } = this;
    const { state = "queued", rows: all } = answer;
    const { meaning = "", ofVectors = "" } = KINDS.find((one) => one.kind === kind) ?? {};
    const among = looked(kind, answer);
    const text = { unknown: `Look through the ${items}`, finished: "" } as Record<string, string>;
    const facts = answer.state ? { state, ready: state === "finished", part: answer.part ?? 0 } : {};
    return (
      <section class="review" aria-label="Review sheet" {...dataOf({ run, kind, ...facts })}>
        <p class="search" hidden={state === "finished"}>
          <span role="status">{answer.words}</span>
          <progress max={1} aria-label="Search" hidden={!underWay} value={answer.share} />
          <button
            class={underWay ? "" : "primary"}
            hidden={!answer.state}
            disabled={this.asked || state === "stopping"}
            onClick={() => this.ask()}
          >
            {underWay ? "Cancel" : (text[state] ?? "Look again")}
          </button>
        </p>
        <div class="kinds" role="tablist" aria-label="What may be wrong" hidden={!all}>
          {kindsOf(answer).map(({ kind: one, title }) => (
            <button class="link" role="tab" aria-selected={one === kind} onClick={() => this.choose(one)}>
              {`${title} ${grouped((all ?? []).filter((row) => row.kind === one).length)}`}
            </button>
          ))}
        </div>
        <p class="note" hidden={!all}>
          {rows.length
            ? `${isOfVectors(answer) ? ofVectors : said(meaning, answer.noun)} ${among}`
            : `None found among ${among}`}
        </p>
        {kind === "ambiguous" && !!answer.cells?.length && <DataMap {...answer} cells={answer.cells} />}
        <p class="keys" hidden={!rows.length}>
          {Object.entries(KEYS).map(([key, does]) => (
            <span>
              <kbd>{key}</kbd> {does}
            </span>
          ))}
        </p>
        <ol
          class="rows"
          tabIndex={0}
          aria-label="What to review"
          hidden={!rows.length}
          ref={this.list}
          onKeyDown={this.onKey}
        >
          {rows.map((row, i) => this.row(row, i))}
        </ol>
      </section>
    );
  }

  private row(row: ReviewRow, index: number) {
    const { classes, read_only } = this.props;
    const { image, suggestion } = row;
    const decision = this.decisions[image];
    const values = this.answer.values?.[image];
    const names = ["row", decision?.action, index === this.at && "current"];
    const go = ({ target }: Event) => {
      if (!(target as Element).closest("button")) this.go(index); // a button has decided, and gone on
    };
    const end = (tag: string | null) => this.tag(image, tag);
    const field = () => <EditField label="Tag" placeholder="tag" maxLength={30} before={decision?.tag} end={end} />;
    return (
      <li key={`${image} ${row.other}`} class={names.filter(Boolean).join(" ")} data-image={image} onClick={go}>
        <div class="pictures">{this.pictures(row)}</div>
        <div class="words">
          <b>{classes[row.label]}</b>
          {suggestion !== null && <span class="perhaps"> perhaps {classes[suggestion]}</span>}
          <p>{row.reason}</p>
          {values && <p class="values">{values}</p>}
          <p class="decision">{row === this.tagging ? field() : decisionText(decision, classes)}</p>
          <p class="refusal" role="alert" children={this.refusals[image]} />
        </div>
        <div class="buttons">
          {(read_only ? [] : buttonsOf(row, classes)).map(([key, verb, name]) => (
            <button
              class="link"
              // It keeps its place where there is nothing to undo, so that the others stay under the pointer.
              style={{ visibility: key === "u" && !decision ? "hidden" : "" }}
              onClick={() => this.decide(key, index)}
            >
              {verb} {name && <span class="class" title={name} children={name} />}
            </button>
          ))}
        </div>
      </li>
    );
  }

  /** The pictures of a row and of what it is compared with; the name of what has none. */
  private pictures({ kind, image, tile, other, other_tile: second }: ReviewRow) {
    const { noun = "training image", sheet } = this.answer;
    const picture = (item: number, title: string) => (
      <span class="tile" title={title} role="img" aria-label={title} style={sheet && tileStyle(sheet, item, TILE_PX)} />
    );
    if (tile === null) return `${noun} ${image}`;
    const others = second !== null && picture(second, `${kind === "leak" ? said("test image", noun) : noun} ${other}`);
    return [picture(tile, `${noun} ${image}`), others];
  }

  /** Go to a row of those that are shown. */
  private go(index: number, focus = false): void {
    this.at = index;
    this.setState({}, () => {
      this.list.current?.querySelector(".current")?.scrollIntoView({ block: "nearest" });
      if (focus) this.list.current?.focus();
    });
  }

  private choose(kind: Kind): void {
    this.kind = kind;
    this.at = 0;
    this.setState({}, () => this.list.current?.focus({ preventScroll: true })); // what stands above it stays in sight
  }

  private tag(image: number, tag: string | null): void {
    this.tagging = null;
    if (tag !== null) this.take({ image, action: "tag", label: null, tag });
    this.go(this.at, true);
  }

  private onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.list.current) return;
    const step = MOVES[event.key];
    if (step) this.go(Math.max(0, Math.min(this.rows.length - 1, this.at + step)));
    else if (event.key === "t") {
      if (!this.props.read_only) this.tagging = this.rows[this.at] ?? null;
      this.draw();
    } else if (!this.decide(event.key, this.at)) return;
    event.preventDefault();
  };

  private decide(key: string, index: number): boolean {
    const row = this.rows[index];
    const action = row && !this.props.read_only ? decisionOf(key, row, this.props.classes) : null;
    if (!action) return false;
    this.take(action);
    this.go(action.action === "undo" ? index : nextRow(this.rows, this.decisions, index), true);
    return true;
  }

  private take(action: ReviewAction): void {
    this.decisions[action.image] = applied(this.decisions[action.image], action);
    this.refusals[action.image] = undefined;
    this.waiting.push(action);
    this.keep();
    if (this.waiting.length === 1 || this.isLeft) this.heed(this.send()); // a page that came back sends what it kept, too
    this.isLeft = false;
  }

  /** Send what was decided, in its order: what is decided meanwhile goes with the next request. */
  private async send(): Promise<void> {
    const { waiting, saved } = this;
    while (waiting.length) {
      const sent = waiting.slice(0, MAX_SENT);
      try {
        await this.post(sent);
        waiting.splice(0, sent.length);
        this.keep();
        for (const action of sent) saved[action.image] = applied(saved[action.image], action);
      } catch (error) {
        if (this.isLeft) return; // what may not have arrived is sent from the outbox by the page that comes next
        for (const { image } of waiting.splice(0)) this.refusals[image] = `Not saved: ${messageOf(error)}`;
        this.keep();
        this.decisions = { ...saved };
        this.draw();
      }
    }
    rerun(this.props.host); // for what stands beside the sheet
  }

  private get outbox(): string {
    return `dmlviz.decisions.${this.props.url}`;
  }

  /** Keep in the tab what the server does not have yet, for a page that is loaded anew before there is an answer. */
  private keep(): void {
    sessionStorage.setItem(this.outbox, JSON.stringify(this.waiting));
  }

  private post = (actions: ReviewAction[]): Promise<unknown> =>
    fetchJson(`${this.props.url}/decisions`, "The decision", { actions }, { keepalive: true });

  private leave = (): void => {
    this.isLeft = true;
    if (this.waiting.length) this.heed(this.post(this.waiting));
  };
}

export default panel<ReviewSheetProps>(style, (props) => <Sheet key={props.run} {...props} />);
