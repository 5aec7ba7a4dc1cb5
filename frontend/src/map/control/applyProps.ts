// What Python sent, put into effect: everything is compared with what was sent before, nothing is built anew.
import { ROUTES } from "../../protocol.ts";
import { stream } from "../../lib/eventStream.ts";
import { messageOf } from "../../lib/format.ts";
import { groupColors } from "../../lib/palette.ts";
import { publishSelection } from "../../lib/publishedSelection.ts";
import { Sprites } from "../../lib/sprites.ts";
import type { MapData } from "../data/expandProps.ts";
import { loadLabels, loadNearest, loadWatched } from "../data/fetchItems.ts";
import { Model, type Nearest } from "../data/model.ts";
import type { MapState } from "../data/state.ts";
import type { Orbit } from "../math/orbit.ts";
import type { QueryMarker } from "../math/queryMarker.ts";
import type { Playback } from "../playback/playback.ts";
import type { Scene } from "../render/scene.ts";
import { pinSummary } from "../ui/ariaLive.ts";
import type { Layout } from "../ui/layout.ts";
import type { History } from "./history.ts";
import { restoreView } from "./savedView.ts";
import type { DisplaySync } from "./displaySync.ts";
import type { Selection } from "./selection.ts";
import type { SentState } from "./sentState.ts";
import type { StepPersistence } from "./stepPersistence.ts";
import type { Subset } from "./subset.ts";
import type { ViewChoice } from "./viewChoice.ts";

const SPRITES_AFTER_MS = 400; // they are wanted at the first hover, the frames go before

export interface ReceiverParts {
  state: MapState;
  layout: Pick<Layout, "legend" | "tooltip" | "announcer">;
  scene: Scene;
  playback: Playback;
  orbit: Orbit;
  marker: QueryMarker;
  selection: Selection;
  history: History;
  subset: Pick<Subset, "arrive">;
  view: ViewChoice;
  display: DisplaySync;
  sent: SentState;
  persistence: StepPersistence;
  sendState: (name: string, value: unknown) => void;
  /** One sentence on what the map shows. */
  summary: () => string;
  repaint: () => void;
  /** Points are colored by something else; the groups that are hidden, if it groups them. */
  recolor: (hidden?: Iterable<number>) => void;
  changed: () => void;
  /** Say what went wrong. */
  trouble: (text: string | null) => void;
}

/** What the person changes here and Python may change too. */
type Shared = "pinned" | "selected" | "subset" | "step" | "color" | "values" | "columns_url";

export class PropsReceiver {
  private before: MapData | null = null;
  /** What Python sent last, or what its echo will be. */
  private adopted: Partial<Record<Shared, string>> = {};
  private labeled: Promise<Uint16Array> = Promise.resolve(new Uint16Array());
  private known = false; // whether the items' labels are there
  private painted = ""; // what the points were last painted for
  private token: object | null = null; // of the newest run to follow
  private open: { run: string; pid: string | null } | null = null;
  private leave: (() => void) | null = null;
  private destroyed = false;

  constructor(private parts: ReceiverParts) {}

  apply(data: MapData): void {
    const { state } = this.parts;
    const { before } = this;
    const differ = (...names: (keyof MapData)[]) =>
      names.some((name) => JSON.stringify(data[name]) !== JSON.stringify(before?.[name]));
    const items = !before || differ("dataset", "labels_url", "n");
    this.followView(data, items);
    if (items) this.setItems(data);
    if (items || differ("sprites")) this.setSprites(data);
    if (items || differ("nearest_url")) this.setNearest(data);
    if (items || differ("run", "view", "begun")) {
      stream.renew({ run: data.run, pid: state.pid, begun: data.begun });
      void this.follow(data, state.pid);
    }
    this.before = data;
    this.syncControlled(data);
  }

  /** Python is told of a value; its echo is no wish of Python's. */
  expect(name: Shared, value: unknown): void {
    this.adopted[name] = JSON.stringify(value);
  }

  // A view that the person chose beside the map can be taken back, too.
  private followView({ run, view, projects }: MapData, items: boolean): void {
    const { view: choice, history } = this.parts;
    if (items || run !== this.before?.run) choice.clear();
    if (projects && choice.isChosen(view)) history.record();
    choice.arrive(view);
  }

  // Other items: everything the person did belongs to the old ones.
  private setItems(data: MapData): void {
    const { state, scene, playback, layout, history, display } = this.parts;
    const classes = (data.classes ?? []).map(String);
    if (state.model.selected) publishSelection(null);
    state.model = new Model(classes, null, data.n, data.noun);
    history.clear();
    state.colors = groupColors(classes, state.theme);
    this.adopted = {};
    display.clear();
    this.known = false;
    scene.setModel(state.model);
    playback.shown = null;
    layout.legend.setGroups("Classes", classes);
    this.labeled = loadLabels(data).then((labels) => {
      if (labels.length < data.n) throw new Error(`the labels are ${labels.length}; the map has ${data.n} items`);
      return labels;
    });
    this.labeled.catch(() => {}); // said by whoever waits for them
  }

  private setSprites({ sprites }: MapData): void {
    const { state, scene, layout } = this.parts;
    state.sprites = sprites?.urls?.length ? new Sprites(sprites, () => scene.invalidate()) : null;
    layout.tooltip.refresh();
    setTimeout(() => state.sprites?.image(0), SPRITES_AFTER_MS);
  }

  private setNearest(data: MapData): void {
    const { state, layout, repaint, trouble } = this.parts;
    const { model } = state;
    model.nearest = null;
    model.searching = data.nearest_url !== undefined;
    const put = (nearest: Nearest | null) => {
      if (state.model !== model || state.data.nearest_url !== data.nearest_url) return;
      model.nearest = nearest;
      model.searching = false;
      layout.tooltip.refresh();
      repaint();
    };
    loadNearest(data, data.n).then(put, (error: unknown) => {
      put(null);
      trouble(messageOf(error));
    });
  }

  private async follow(data: MapData, pid: string | null): Promise<void> {
    const { state, scene, playback, orbit, selection, repaint, trouble } = this.parts;
    const { model } = state;
    const token = (this.token = {});
    state.trouble = null;
    this.leave?.();
    // Without items there is nothing to draw, but a run that cannot fetch them says why.
    this.leave = data.n
      ? null
      : stream.subscribe(
          data.run,
          (event) => {
            if (event.event === "failed") trouble(event.reason ?? null);
          },
          pid,
        );
    try {
      const labels = await this.labeled;
      if (this.token !== token || this.destroyed || !data.n) return;
      model.labels = labels;
      this.known = true;
      scene.camera.automatic = true;
      const saved = restoreView({ state, scene, selection });
      repaint();
      const at = pid ? `${data.run}/${pid}` : data.run;
      playback.follow({
        run: data.run,
        pid,
        url: data.frames_url ?? (data.events_url ? `${ROUTES}/frames/${at}/{id}.i16` : null),
        tracked: () => loadWatched(state.data),
        total: data.n,
        orbit,
        raw: saved?.raw,
        pivot: data.picture?.space ? [0, 0, 0] : undefined, // a learned space has an origin
        running: data.running ?? Boolean(data.events_url && !data.autoplay),
        autoplay: Boolean(data.autoplay) && (saved?.playing ?? true),
        step: data.step,
      });
      if (model.selected) selection.publish();
      this.listen(data, pid);
    } catch (error) {
      trouble(messageOf(error));
    }
  }

  private listen(data: MapData, pid: string | null): void {
    if (!data.events_url) return;
    const own = pid && !data.events_url.includes(`/projections/${pid}/`);
    const url = own ? data.events_url.replace(/\/events(?=$|\?)/, `/projections/${pid}/events`) : data.events_url;
    if (this.open && this.open.run !== data.run) stream.close(this.open.run, this.open.pid);
    this.open = { run: data.run, pid };
    stream.open({ run: data.run, pid, events_url: url });
  }

  // Values that the person changes here and Python may change too: taken when Python's has changed.
  private syncControlled(data: MapData): void {
    const {
      state: { model, theme },
      layout,
      scene,
      playback,
      marker,
      selection,
      subset,
      display,
      sent,
      persistence,
      repaint,
      recolor,
      changed,
      summary,
    } = this.parts;
    const differs = (name: Shared) => {
      const now = JSON.stringify(data[name] ?? null);
      const is = now !== (this.adopted[name] ?? "null");
      this.adopted[name] = now;
      return is;
    };
    const isItem = (item: unknown): item is number =>
      typeof item === "number" && Number.isInteger(item) && item >= 0 && item < model.n;
    const pinned = isItem(data.pinned) ? data.pinned : null;
    if (differs("pinned") && sent.isExternalChange("pinned", pinned)) model.pinned = pinned;
    // Neighbors belong to the pin that Python knows of, which a newer click may have left behind.
    if (pinned === model.pinned) model.neighbors = data.neighbors.filter(({ item }) => isItem(item));
    const bits = data.selected?.bits ?? null;
    const reselected = differs("selected") && sent.isExternalChange("selected", bits) && selection.adopt(bits);
    if (reselected && this.known) selection.notifyPanels();
    const redisplayed = display.adopt(data);
    if (differs("subset")) subset.arrive(data.subset?.bits ?? null);
    if (differs("step")) {
      persistence.setSaved(data.step);
      if (typeof data.step === "number" && Number.isFinite(data.step)) playback.seekStep(data.step);
    }
    if (marker.set(data.query, playback.shown, theme.still)) scene.camera.refit();
    layout.tooltip.refresh();
    layout.announcer.say(pinSummary(model) || summary());
    const recolored = [differs("color"), differs("values"), differs("columns_url")].some(Boolean);
    if (recolored || redisplayed) recolor(data.display?.hidden); // its markers may be of a column
    const paint = JSON.stringify([theme, model.n]);
    if (reselected || redisplayed || paint !== this.painted) repaint();
    else changed();
    this.painted = paint;
  }

  destroy(): void {
    this.destroyed = true;
    this.leave?.();
  }
}
