// Beside the map: the pinned image or the query with the images nearest to it in the embedding, or the selection.
import { within } from "../../lib/boundary.ts";
import { bus, type MapRanks, type PinnedNeighbors } from "../../lib/bus.ts";
import { h, setData } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { momentOf } from "../../lib/neighbors.ts";
import { draw, TextButton } from "../../lib/panel.tsx";
import type { Selection } from "../../lib/selection.ts";
import { readTheme } from "../../lib/theme.ts";
import type { InspectorProps, ItemNeighbors, QueryAnswer, QuerySource } from "../../protocol.ts";
import { pinnedNeighbors } from "../followPins.ts";
import { QueryPanel } from "../query/queryPanel.tsx";
import { pageStore, type Metric, type ViewStore } from "../store.ts";
import { answerAt, type Inspected, type WithSubject } from "./captions.ts";
import { ContactSheet } from "./contactSheet.tsx";
import { Example, Why } from "./example.tsx";
import style from "./inspector.css";
import { LogitsView } from "./logits.tsx";
import { NeighborList } from "./subjectView.tsx";
import { NearestParts, PairView } from "./pairView.tsx";
import { HistoryButton, Key, KnownValues, Steps, SubjectHead } from "./subjectView.tsx";

const METRICS: Record<Metric, string> = { euclidean: "Euclidean", cosine: "Cosine" };

type Arguments = Pick<ComponentArguments<InspectorProps | null>, "parentElement" | "data"> & { store?: ViewStore };

export default function ({ parentElement, data, store = pageStore }: Arguments) {
  return mount(
    parentElement,
    style,
    (parent) => new Inspector(parent, store),
    (inspector) => inspector.update(data ?? {}),
  );
}

// Neighbors come as [item, label, distance], nearest first.
function decodeProps({
  near = [],
  ...data
}: InspectorProps & Pick<Inspected, "values" | "known" | "parts">): Inspected {
  return { ...data, neighbors: near.map(([item, label, distance]) => ({ item, label, distance })) };
}

/** The pinned image as inspected; without one, the props. */
function pinnedOf(props: InspectorProps, { item, found, trouble }: PinnedNeighbors): Inspected {
  if (item === null) return decodeProps(props);
  if (!found) return { ...props, subject: undefined, neighbors: [], placeholder: trouble };
  const { label, ...answer } = found;
  return decodeProps({ ...props, ...answer, subject: { item, label } });
}

/** The answer to a query as what is inspected. */
const inspectedOf = ({ near, ...answer }: QueryAnswer, { run, sprites }: QuerySource): Inspected =>
  decodeProps({ ...answer, near, run, sprites, subject: {} });

const subjectName = ({ subject }: Pick<Inspected, "subject">) => (subject ? String(subject.item ?? "query") : "");
const hasSubject = (data: Inspected): data is WithSubject => data.subject !== undefined;

class Inspector {
  private root = h("div", "inspector");
  private body = h("div", "answer");
  private queries = new QueryPanel(() => this.showTab());
  private lastAnswer: QueryAnswer | null = null; // what the map and the history were given last
  private shownAnswer: QueryAnswer | null = null; // that, as it was at the step that the map shows
  private example = new Example(() => this.show());
  private props: InspectorProps = {};
  private answer: PinnedNeighbors | null = null; // of the run in the props
  private data: Inspected = { neighbors: [] }; // both of them: the pinned image
  private view: Inspected = this.data; // that, or the answer to a query
  private selection: Selection | null = null;
  private hasProps = false; // whether there were props yet
  private sheet = false; // whether the selection is shown, or what is pinned
  private offs: (() => void)[];

  constructor(
    parent: ParentNode,
    private store: ViewStore,
  ) {
    this.root.append(this.queries.node, this.body);
    parent.append(this.root);
    this.offs = [
      bus.on("selection", (selection) => this.select(selection)),
      store.subscribe((change) => {
        // At once: when the neighbors come, the person may be drawing already.
        if (change.has("pinned") && store.state.pinned !== null) this.queries.open("Selected");
        if (change.has("metric") || change.has("partner")) this.combine();
      }),
      bus.on("ranks", () => this.ranks() && !this.sheet && this.show()),
      bus.on("neighbors", (answer) => answer.run === this.props.run && this.take(answer)),
      bus.on("frame", ({ run }) => run === this.props.run && this.queries.answer && this.showTab()),
    ];
    this.selection = bus.last("selection") ?? null;
    this.sheet = this.selection !== null;
  }

  update(props: InspectorProps): void {
    const { run = "", among } = props;
    const before = this.props;
    this.props = props;
    this.hasProps = true;
    if (run !== before.run) this.answer = pinnedNeighbors(run);
    else if (among !== before.among) bus.emit("embedded", { run });
    this.combine();
  }

  // A new pin comes before the selection it was picked from, to which a link leads back.
  private take(answer: PinnedNeighbors): void {
    if (answer.item !== null && answer.item !== (this.answer?.item ?? null)) this.sheet = false;
    this.answer = answer;
    this.combine();
  }

  private combine(): void {
    const { props, answer } = this;
    this.data = answer ? pinnedOf(props, answer) : decodeProps(props);
    const { metric, partner } = this.store.state;
    Object.assign(this.data, props.metrics ? { metric, partner } : { partner });
    const asked = within(this.queries.node, "The query", () =>
      this.queries.update(props.query ?? null, props.query ?? props.map ?? null),
    );
    if (!asked) this.showTab(); // else the query has called it
  }

  private showTab(): void {
    const { answer } = this.queries;
    const source = this.data.query;
    const now = answer && source ? answerAt(answer, momentOf(source.run)) : answer;
    const shown = now && now.step === this.shownAnswer?.step && answer === this.lastAnswer ? this.shownAnswer : now;
    this.view = this.queries.tab === "Selected" ? this.data : this.ofQuery(shown, source);
    const isNew = answer !== this.lastAnswer;
    if (isNew || shown !== this.shownAnswer) {
      [this.lastAnswer, this.shownAnswer] = [answer, shown];
      if (answer && shown && source) this.publish(answer, shown, source, isNew);
      else bus.emit("query", null);
    }
    this.show();
  }

  private ofQuery(answer: QueryAnswer | null, source?: QuerySource): Inspected {
    return answer && source ? inspectedOf(answer, source) : { neighbors: [], placeholder: "" };
  }

  private publish(
    { places, history, step }: QueryAnswer,
    { near }: QueryAnswer,
    { run }: QuerySource,
    isNew: boolean,
  ): void {
    bus.emit("query", { run, places, neighbors: near.map(([item]) => item), open: step !== undefined });
    if (isNew && history?.steps) bus.emit("query-history", { run, history });
  }

  private select(selection: Selection | null): void {
    const isNew = selection !== null && String(selection.items) !== String(this.selection?.items ?? "");
    this.selection = selection;
    if (isNew && this.hasProps) this.queries.open("Selected");
    this.setTab(selection !== null);
  }

  private pin(item: number): void {
    if (String(item) === subjectName(this.data)) {
      this.queries.open("Selected");
      this.setTab(false); // pinned already: nothing new will come
    } else bus.emit("pin-item", { run: this.props.run ?? "", item });
  }

  private setTab(sheet: boolean): void {
    this.sheet = sheet;
    this.show();
  }

  private show(): void {
    const { root, view: data, queries, props } = this;
    const selection = this.data.sheet === false || queries.tab !== "Selected" ? null : this.selection;
    const sheet = this.sheet && selection !== null;
    // Nothing is pinned: an example, or words.
    const isFree = !hasSubject(data) && queries.tab === "Selected" && (this.answer?.item ?? null) === null;
    const example = isFree && !sheet ? this.example.of(props) : null;
    setData(root, {
      tab: queries.tab,
      subject: subjectName(data),
      neighbors: data.neighbors.length,
      sheet,
      selected: this.selection?.items.length ?? 0,
      metric: data.metric ?? "",
      step: (example ?? data).step ?? "",
      example: example?.item ?? "",
    });
    this.showBelowMap(sheet || hasSubject(data) || queries.tab !== "Selected");
    const { noun, columns } = data;
    const pin = (item: number) => this.pin(item);
    const ranks = this.ranks();
    draw(
      this.body,
      sheet ? (
        <ContactSheet {...{ selection, noun, columns, pin }} pinned={data.subject?.item} theme={readTheme(root)} />
      ) : (
        <>
          {selection && (
            <TextButton title="Back to the selection" onClick={() => this.setTab(true)}>
              {`‹ ${grouped(selection.items.length)} selected`}
            </TextButton>
          )}
          {hasSubject(data) ? (
            <>
              <SubjectHead {...data} />
              {data.known && data.known.length > 0 && <KnownValues known={data.known} />}
              {data.steps && data.steps.length > 0 && <Steps steps={data.steps} />}
              {data.far && <p class="far">{`${data.far} ${data.basis ?? ""}`}</p>}
              {this.queries.keepLine}
              <NearestParts data={data} ask={data.parts ?? this.queries.askParts} />
              <PairView data={data} compare={(partner) => this.store.set({ partner })} />
              {data.metric && this.metricTabs(data)}
              <NeighborList {...{ data, pin, ranks }} source={this} />
              <Key data={data} ranked={this.isRanked(ranks)} />
              {this.queries.galleryList}
              {this.data.logits && this.data.subject?.item !== undefined && (
                <LogitsView run={data.run} item={this.data.subject.item} names={this.data.logits} store={this.store} />
              )}
            </>
          ) : example ? (
            this.exampleView(example)
          ) : (
            <>
              {data.placeholder && <p class="quiet">{data.placeholder}</p>}
              {this.queries.keepLine}
              {this.queries.galleryList}
            </>
          )}
        </>
      ),
    );
    root.dataset.ready = "true";
  }

  /** Say to the workbench whether there is an answer, which on a phone is a sheet; the map comes to stand above it. */
  private showBelowMap(answers: boolean): void {
    const { host } = this.root.getRootNode() as ShadowRoot;
    if (!host || host.hasAttribute("data-answers") === answers) return;
    host.toggleAttribute("data-answers", answers);
    if (answers && this.root.dataset.ready === "true" && matchMedia("(max-width: 640px)").matches)
      host.parentElement?.querySelector(".map-part")?.scrollIntoView({ block: "start" });
  }

  private exampleView({ item, label, ...neighbors }: ItemNeighbors) {
    const data = { ...decodeProps({ ...this.props, ...neighbors }), subject: { item, label } };
    return (
      <>
        <SubjectHead {...data} />
        <Why data={data} store={this.store} look={(other) => this.lookAt(item, other)} />
        <NeighborList data={data} pin={(other) => this.pin(other)} source={this} />
      </>
    );
  }

  // The example becomes the pinned image: beside another one, or where two cannot be compared, that one alone.
  private lookAt(item: number, other: number): void {
    this.store.record();
    this.store.set(this.props.comparable ? { pinned: other, partner: item } : { pinned: other });
  }

  // Which distance is meant, and the way to the same question over the whole training.
  private metricTabs(data: WithSubject) {
    return (
      <div class="choices">
        <span class="metrics" role="group" aria-label="Distance">
          {Object.entries({ ...METRICS, ...(this.data.curved && { euclidean: "Hyperbolic" }) }).map(([name, title]) => (
            <button
              class="link"
              aria-pressed={name === data.metric}
              title={`Nearest by ${title} distance`}
              onClick={() => this.store.set({ metric: name as Metric })}
            >
              {title}
            </button>
          ))}
        </span>
        {data.history && <HistoryButton run={data.run} />}
      </div>
    );
  }

  /** Ranks on the map of what is shown. */
  private ranks(): MapRanks["of"] | undefined {
    const ranks = bus.last("ranks");
    return ranks?.run === this.view.run && String(ranks?.item) === subjectName(this.view) ? ranks?.of : undefined;
  }

  private isRanked(ranks: MapRanks["of"] | undefined): boolean {
    return this.view.neighbors.some(({ item }) => (ranks?.get(item) ?? null) !== null);
  }

  destroy(): void {
    this.offs.forEach((off) => off());
    draw(this.body, null);
    this.example.destroy();
    this.queries.destroy();
    if (this.lastAnswer) bus.emit("query", null);
    this.root.remove();
  }
}
