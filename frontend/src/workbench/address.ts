// The store and the address of the page, kept equal: the browser writes what is looked at, and leaves what the server writes.
import { onAddressChange } from "../lib/router.ts";
import { ADDRESS, ADDRESSED, type Shown, type ViewStore } from "./store.ts";
import { decodeView, encodeView, isViewKey, type Query } from "./urlCodec.ts";

// Browsers take so many changes of the address a minute: some at once, so that a reload right after a choice keeps it,
// then one in so many milliseconds.
const AT_ONCE = 10;
const WRITE_MS = 200;

export class Address {
  private path = location.pathname; // that of the page
  private runs: string; // that the address named when the page showed them last
  private isNew: boolean; // whether what the address says has yet to be read
  private timer: ReturnType<typeof setTimeout> | undefined;
  private budgetedUntil = 0; // the time until which the changes so far would last at one in WRITE_MS
  private offs: (() => void)[];

  constructor(private store: ViewStore) {
    this.runs = this.runsNow();
    this.isNew = Object.keys(this.query()).some(isViewKey);
    this.offs = [
      onAddressChange((back) => (back ? this.take() : this.schedule())),
      store.subscribe(() => this.schedule()),
    ];
  }

  /** The page shows this run (of Compare, these): what the address says of it counts, where it has just been opened. */
  show(shown: Shown): void {
    const { isNew } = this;
    this.isNew = false;
    this.runs = this.runsNow();
    this.store.show(shown, (now) => decodeView(this.query(), now), isNew);
    this.write();
  }

  /** Back or Forward, or a link within the page: what the address says is what is looked at. */
  private take(): void {
    const { shown } = this.store;
    if (location.pathname !== this.path || !shown) return;
    this.isNew = this.runs !== this.runsNow(); // of another run: read when the server shows it
    if (!this.isNew) this.store.set({ ...ADDRESSED, ...decodeView(this.query(), shown) }, ADDRESS);
  }

  private schedule(): void {
    clearTimeout(this.timer);
    const wait = this.budgetedUntil - AT_ONCE * WRITE_MS - Date.now();
    this.timer = setTimeout(() => this.write(), Math.max(0, wait));
  }

  /** Write what is looked at, but not to the address of a run that the server has yet to show. */
  private write(): void {
    clearTimeout(this.timer);
    const { shown, state } = this.store;
    if (!shown || location.pathname !== this.path || this.runs !== this.runsNow()) return;
    const query = new URLSearchParams(location.search);
    const before = query.toString();
    for (const name of [...query.keys()]) if (isViewKey(name)) query.delete(name);
    for (const [name, text] of Object.entries(encodeView(state, shown.dataset))) query.set(name, text);
    const text = query.toString();
    if (text === before) return;
    this.budgetedUntil = Math.max(this.budgetedUntil, Date.now()) + WRITE_MS;
    history.replaceState(history.state, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
  }

  private query(): Query {
    return Object.fromEntries(new URLSearchParams(location.search));
  }

  private runsNow(): string {
    const query = this.query();
    return ["run", ..."abcdef"].map((name) => query[name] ?? "").join(" ");
  }

  destroy(): void {
    this.write();
    clearTimeout(this.timer);
    this.offs.forEach((off) => off());
  }
}
