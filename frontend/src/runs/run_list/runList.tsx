// The cards of all runs, with search and order. What a person does with a run is sent to the server.
import { Component, createRef } from "preact";
import { counted, grouped, messageOf } from "../../lib/format.ts";
import { rerun, type ComponentArguments } from "../../lib/mount.ts";
import { dataOf, panel } from "../../lib/panel.tsx";
import { addressOf, compareQuery, exploreQuery, navigate } from "../../lib/router.ts";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import { readTheme } from "../../lib/theme.ts";
import type { Changed, DeletedRun, DiskUse, RunChange, RunListOrder, RunListProps } from "../../protocol.ts";
import { filterAndSort, GROUPS, groupsOf, readable, SORTS } from "./model.ts";
import { RunCard, type Acts } from "./runCard.tsx";
import style from "./runList.css";

const DEFAULT: RunListOrder = { sort: "newest", search: "", group: "all" };
const ROOM =
  "At the disk limit, runs of people beyond their room are removed first, then those of guests, then the oldest, " +
  "unless pinned, shown or training. For an hour they can be restored.";

interface State {
  order: RunListOrder;
  note: string;
  deleted?: DeletedRun | null;
}

const orderOf = ({ sort, search, group }: RunListProps): RunListOrder => ({ sort, search, group });
const differ = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other);

class RunList extends Component<RunListProps & { host: ComponentArguments<RunListProps> }, State> {
  private file = createRef<HTMLInputElement>();
  override state: State = { order: orderOf(this.props), note: "" };

  override componentWillReceiveProps(next: RunListProps): void {
    if (differ(orderOf(next), orderOf(this.props))) this.setState({ order: orderOf(next) });
    if (differ(next.disk.gone, this.props.disk.gone)) this.say("");
  }

  private acts: Acts = {
    open: (run) => navigate(addressOf("", exploreQuery(this.props.explore, run), location, "runs")),
    compare: (run) => navigate(addressOf("compare", compareQuery(this.props.compare, run), location, "runs")),
    change: (request) => void this.change(request),
  };

  private async change(request: RunChange): Promise<void> {
    const deleted = request.deleted ? this.props.cards.find(({ run }) => run === request.run) : null;
    try {
      const { fits } = await fetchJson<Changed>(`${ROUTES}/runs/change`, "The run", request, { keepalive: true });
      if (deleted && !fits) this.say(`Deleted ${deleted.title}. It cannot be brought back: the others take all room.`);
      else this.say("", deleted);
    } catch (error) {
      this.say(messageOf(error));
    }
    rerun(this.props.host);
  }

  /** Show a sentence, or offer what was deleted; otherwise what was removed to make room. */
  private say(note: string, deleted?: DeletedRun | null): void {
    this.setState({ note, deleted });
  }

  private async importFile(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    if (!file) return;
    input.value = "";
    this.say(`Importing ${file.name} …`);
    try {
      const init = { method: "POST", body: file, headers: { "content-type": "application/zip" } };
      const { title } = await fetchJson<{ title: string }>(`${ROUTES}/runs/import`, file.name, undefined, init);
      this.say(`Imported ${title}.`);
      rerun(this.props.host);
    } catch (error) {
      this.say(messageOf(error));
    }
  }

  private setOrder(change: Partial<RunListOrder>): RunListOrder {
    const order = { ...this.state.order, ...change };
    this.setState({ order });
    return order;
  }

  /** Write the order to the address. */
  private writeOrder(change: Partial<RunListOrder>): void {
    const query = Object.entries(this.setOrder(change)).filter(
      ([key, value]) => value !== DEFAULT[key as keyof RunListOrder],
    );
    navigate(addressOf("runs", Object.fromEntries(query), location, "runs"));
  }

  private notice() {
    const { note, deleted } = this.state;
    const offer = (said: string, { run, title }: DeletedRun, action: string) => [
      `${said} ${title}. `,
      <button onClick={() => this.acts.change({ run, deleted: false })}>{action}</button>,
      " ",
    ];
    if (deleted) return offer("Deleted", deleted, "Undo");
    if (note) return note;
    return this.props.disk.gone.flatMap((run) =>
      run.lost
        ? `Removed to make room, for good, since the trash has no room for it: ${run.title}. `
        : offer("Removed to make room:", run, "Restore"),
    );
  }

  render() {
    const { cards, disk, host } = this.props;
    const { order } = this.state;
    const matches = filterAndSort(cards, order);
    const groups = groupsOf(cards);
    const among = matches.length === cards.length ? "" : `${grouped(matches.length)} of `;
    const theme = readTheme(host.parentElement.lastElementChild!).dark ? "dark" : "light";
    const notice = this.notice();
    return (
      <section class="run-list" aria-label="Runs" {...dataOf({ ready: true, shown: matches.length })}>
        <div class="tools">
          <div class="sorts groups" role="group" aria-label="Whose" hidden={!groups.length}>
            {Object.entries(GROUPS).map(([group, label]) => (
              <button
                data-group={group}
                hidden={!groups.includes(group)}
                aria-pressed={group === order.group}
                onClick={() => this.writeOrder({ group })}
                children={label}
              />
            ))}
          </div>
          <input
            type="search"
            placeholder="Search titles, settings, tags"
            aria-label="Search"
            value={order.search}
            onInput={({ currentTarget: { value: search } }) => this.setOrder({ search })}
            onChange={({ currentTarget: { value: search } }) => this.writeOrder({ search })}
          />
          <div class="sorts" role="group" aria-label="Sort by">
            {Object.entries(SORTS).map(([sort, label]) => (
              <button data-sort={sort} aria-pressed={sort === order.sort} onClick={() => this.writeOrder({ sort })}>
                {label}
              </button>
            ))}
          </div>
          <span class="count">
            <span role="status">{`${among}${counted(cards.length, "run")}`}</span>
            <DiskMeter {...disk} />
            <button class="import" title="Import a run (zip)" onClick={() => this.file.current?.click()}>
              Import
            </button>
            <input
              ref={this.file}
              type="file"
              accept=".zip"
              hidden
              onChange={({ currentTarget }) => this.importFile(currentTarget)}
            />
          </span>
        </div>
        <p class="notice" role="status" hidden={!notice.length} children={notice} />
        <ul class="list">
          {matches.map((card) => (
            <RunCard key={card.run} card={card} theme={theme} acts={this.acts} />
          ))}
        </ul>
      </section>
    );
  }
}

const DiskMeter = ({ used, limit }: DiskUse) => (
  <span class="disk-use" title={ROOM} data-used={used}>
    <span class="meter">
      <i style={{ width: `${Math.min(100, (100 * used) / limit).toFixed(1)}%` }} />
    </span>
    <span>{`${readable(used)} of ${readable(limit)}`}</span>
  </span>
);

export default panel<RunListProps>(style, (props) => <RunList {...props} />);
