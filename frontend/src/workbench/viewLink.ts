// The link between the server and what is looked at. It says which run the page shows and brings the server's commands;
// where the server shows something of the view (a table, curves), it hears one snapshot after a change.
import type { ViewProps } from "../protocol.ts";
import type { ComponentArguments } from "../lib/mount.ts";
import { Address } from "./address.ts";
import { START, type ViewState, type ViewStore } from "./store.ts";
import { decodeView, encodeView } from "./urlCodec.ts";

const SNAPSHOT_MS = 400; // without a further change
/** Fields that are sent to the server. */
const HEARD = ["pinned", "step", "selected"] as const;

type Snapshot = Pick<ViewState, (typeof HEARD)[number]>;

let done = 0; // number of the newest command: a page that comes again brings its last one

export class ViewLink {
  private address: Address;
  private tell: ComponentArguments<ViewProps>["setStateValue"] = () => {};
  private timer: ReturnType<typeof setTimeout> | undefined;
  private leave: () => void;

  constructor(
    private props: ViewProps,
    private store: ViewStore,
  ) {
    store.enter(props.page);
    this.address = new Address(store);
    this.leave = store.subscribe((change) => {
      if (HEARD.some((name) => change.has(name))) this.schedule();
    });
  }

  update(props: ViewProps, tell: ComponentArguments<ViewProps>["setStateValue"]): void {
    this.props = props;
    this.tell = tell;
    this.address.show(props);
    this.obey(props.command);
    this.schedule();
  }

  private obey(command: ViewProps["command"]): void {
    if (!command || command.number <= done) return;
    done = command.number;
    const reset: Partial<ViewState> = "select" in command.query ? { selected: null, reason: null } : {};
    this.store.record();
    this.store.set({ ...reset, ...decodeView(command.query, this.props) });
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.props.follows) this.timer = setTimeout(() => this.send(), SNAPSHOT_MS);
  }

  private send(): void {
    const { state } = this.store;
    const last: Snapshot = { ...START, ...decodeView(this.props.known, this.props) };
    if (HEARD.every((name) => String(last[name]) === String(state[name]))) return;
    const news = Object.fromEntries(HEARD.map((name) => [name, state[name]])) as unknown as Snapshot;
    this.tell("snapshot", encodeView({ ...START, ...news }, this.props.dataset));
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.leave();
    this.address.destroy();
  }
}
