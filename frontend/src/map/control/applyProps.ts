// What the server sent, put into effect: everything is compared with what was sent before, nothing is built anew.
import { heeding } from "../../lib/boundary.ts";
import { ROUTES } from "../../lib/server.ts";
import { bus, type PinnedNeighbors } from "../../lib/bus.ts";
import { stream, type StreamEvent } from "../../lib/eventStream.ts";
import { messageOf } from "../../lib/format.ts";
import { groupColors } from "../../lib/palette.ts";
import { Sprites } from "../../lib/sprites.ts";
import { queryOn, type MapData } from "../data/expandProps.ts";
import { loadLabels, loadNearest, loadWatched } from "../data/fetchItems.ts";
import type { Camera } from "../../workbench/store.ts";
import { Model, type Nearest } from "../data/model.ts";
import { pinSummary } from "../ui/words.ts";
import type { Selection } from "./selection.ts";
import { isHeld } from "./linkedMaps.ts";
import type { MapParts } from "./parts.ts";
import type { Subset } from "./subset.ts";

const SPRITES_AFTER_MS = 400; // they are wanted at the first hover, the frames go before

type Parts = MapParts & {
  selection: Selection;
  subset: Pick<Subset, "arrive">;
  /** One sentence on what the map shows. */
  summary: () => string;
  repaint: () => void;
  /** Points may be colored by something else. */
  recolor: () => void;
};

/** Key of the data on a map; a camera belongs to one key. */
export const mapKey = ({ run, view, begun }: MapData): string => [run, view, begun].join("/");

export class PropsReceiver {
  private readonly heed = heeding();
  private before: MapData | null = null;
  private labels: Promise<Uint16Array> = Promise.resolve(new Uint16Array());
  private hasLabels = false; // whether the items' labels are there
  private paintKey = ""; // what the points were last painted for
  private token: object | null = null; // of the newest run to follow
  private run: string | null = null; // that is followed
  private open: { run: string; pid: string | null } | null = null;
  private leave: (() => void) | null = null;
  private stopWaiting: (() => void) | null = null; // for a projection in the queue
  private isDestroyed = false;

  constructor(private parts: Parts) {}

  apply(data: MapData): void {
    const { state } = this.parts;
    const { before } = this;
    const differ = (...names: (keyof MapData)[]) =>
      names.some((name) => JSON.stringify(data[name]) !== JSON.stringify(before?.[name]));
    const items = !before || differ("dataset", "classes", "n");
    const labels = items || differ("labels_url"); // once the pictures are there, labels come with them: the map stays
    if (data.projects) this.followView(data, items);
    if (items) this.setItems(data);
    if (labels) this.fetchLabels(data);
    if (items || differ("sprites")) this.setSprites(data);
    if (items || differ("nearest_url")) this.setNearest(data);
    if (differ("run")) state.model.neighbors = [];
    if (items || differ("run", "view", "begun", "turn")) {
      this.parts.orbit.flat = data.turn ?? null;
      stream.renew({ run: data.run, pid: state.pid, begun: data.begun });
      this.heed(this.follow(data, state.pid, differ("replays")));
    } else {
      if (labels) this.heed(this.relabel());
      if (differ("replays")) this.parts.playback.restart();
    }
    if (differ("run", "awaits", "queued")) this.awaitProjection(data);
    if (differ("subset")) this.parts.subset.arrive(data.subset?.bits ?? null);
    this.placeQuery();
    if (items || differ("values", "columns_url")) this.parts.recolor();
    this.before = data;
    this.show();
  }

  // A view that the person chose beside the map can be taken back, too.
  private followView({ run, view }: MapData, items: boolean): void {
    const { store } = this.parts.state;
    const { before } = this;
    if (!items && run === before?.run && view === before.view) return;
    const isOwn = store.state.view === null || store.state.view === view; // by this map
    const isByPage = view === before?.awaits;
    if (!items && run === before?.run && !isOwn && !isByPage) store.record();
    store.set({ view });
  }

  private setItems(data: MapData): void {
    const { state, scene, playback, layout } = this.parts;
    const classes = (data.classes ?? []).map(String);
    if (state.model.selected) bus.emit("selection", null);
    state.model = new Model(classes, null, data.n, data.noun, state.store);
    state.colors = groupColors(classes, state.theme);
    this.hasLabels = false;
    scene.setModel(state.model);
    playback.forget(); // what it plays has not these items
    layout.legend.setGroups("Classes", classes);
  }

  private fetchLabels(data: MapData): void {
    this.labels = loadLabels(data).then((labels) => {
      if (labels.length < data.n) throw new Error(`the labels are ${labels.length}; the map has ${data.n} items`);
      return labels;
    });
    this.labels.catch(() => {}); // reported by the code that awaits them
  }

  private async relabel(): Promise<void> {
    const { state, repaint, trouble } = this.parts;
    const { model } = state;
    try {
      const labels = await this.labels;
      if (state.model !== model || this.isDestroyed) return;
      model.labels = labels;
      repaint();
      this.publishSelection();
    } catch (error) {
      trouble(messageOf(error));
    }
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

  private async follow(data: MapData, pid: string | null, again: boolean): Promise<void> {
    const { state, playback, orbit, repaint, trouble } = this.parts;
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
      const labels = await this.labels;
      if (this.token !== token || this.isDestroyed || !data.n) return;
      model.labels = labels;
      this.hasLabels = true;
      const left = this.restoreCamera(data);
      repaint();
      const at = pid ? `${data.run}/${pid}` : data.run;
      const isReturn = this.run === data.run && !again; // from another view of the run, which has been seen
      this.run = data.run;
      playback.follow({
        run: data.run,
        pid,
        url: data.frames_url ?? (data.events_url ? `${ROUTES}/frames/${at}/{id}.i16` : null),
        tracked: () => loadWatched(state.data),
        total: data.n,
        orbit,
        pivot: data.picture?.space ? [0, 0, 0] : undefined, // a learned space has an origin
        running: data.running ?? Boolean(data.events_url && !data.autoplay),
        autoplay: Boolean(data.autoplay) && !isReturn && (left?.playing ?? true),
        step: isHeld(state)
          ? 0
          : (pid === null || data.follows) && !data.link
            ? (state.store.state.step ?? undefined)
            : undefined,
      });
      this.publishSelection();
      this.listen(data, pid);
      if (data.follows) loadWatched(state.data).catch(() => {}); // before its first frame
    } catch (error) {
      trouble(messageOf(error));
    }
  }

  /** Say how the projection stands that this map stands in for, and have it shown once it has a layout. */
  private awaitProjection({ run, awaits: pid, queued, events_url: url }: MapData): void {
    const { state, refresh, send } = this.parts;
    this.stopWaiting?.();
    this.stopWaiting = null;
    state.queued = "";
    if (!queued || !pid || !url) return;
    const listener = (event: StreamEvent) => {
      if (event.event === "queue") {
        const place = event.position ? ` (${event.position} of ${event.of})` : "";
        state.queued = `No worker is free for ${queued}${place}: until one is, this is the linear view`;
        refresh();
      } else if (["frame", "failed", "end"].includes(event.event)) setTimeout(() => send("rerun", true), 0);
    };
    this.stopWaiting = stream.subscribe(run, listener, pid);
    stream.open({ run, pid, events_url: url.replace(/\/events(?=$|\?)/, `/projections/${pid}/events`) });
  }

  private listen(data: MapData, pid: string | null): void {
    if (!data.events_url) return;
    const own = pid && !data.events_url.includes(`/projections/${pid}/`);
    const url = own ? data.events_url.replace(/\/events(?=$|\?)/, `/projections/${pid}/events`) : data.events_url;
    if (this.open && this.open.run !== data.run) stream.close(this.open.run, this.open.pid);
    this.open = { run: data.run, pid };
    stream.open({ run: data.run, pid, events_url: url });
  }

  /** The camera of this map as it was left, once; by default it follows the data. */
  private restoreCamera(data: MapData): Camera | null {
    const {
      state: { store },
      scene: { camera },
    } = this.parts;
    const left = store.state.camera?.of === mapKey(data) ? store.state.camera : null;
    camera.automatic = !left?.view;
    if (!left) return null;
    store.set({ camera: null });
    if (left.view) {
      camera.view = { ...left.view, k: (left.view.k * (camera.size || left.size)) / left.size };
      camera.size ||= left.size;
    }
    return left;
  }

  private show(): void {
    const {
      state: { model, theme },
      layout,
      repaint,
      refresh,
      summary,
    } = this.parts;
    layout.tooltip.refresh();
    layout.announcer.say(pinSummary(model) || summary());
    const paint = JSON.stringify([theme, model.n]);
    if (paint !== this.paintKey) repaint();
    else refresh();
    this.paintKey = paint;
  }

  /** Say to the parts beside the map what is selected, once the classes of the items are known. */
  publishSelection(): void {
    if (this.hasLabels) this.parts.selection.publish();
  }

  /** Link what is pinned with its neighbors, where the answer is about that. */
  placeNeighbors({ run, item, found }: PinnedNeighbors): void {
    const {
      state: { model, data },
      layout,
      refresh,
      summary,
    } = this.parts;
    if (run !== data.run || item !== model.pinned) return;
    model.neighbors = (found?.near ?? []).map(([other, , distance]) => ({ item: other, distance }));
    layout.tooltip.refresh();
    layout.announcer.say(pinSummary(model) || summary());
    refresh();
  }

  /** Show the picture that the page has asked about where it lies here. */
  placeQuery(): void {
    const { state, scene, marker, playback } = this.parts;
    const { data, theme } = state;
    const query = queryOn(bus.last("query"), data.run, data.view) ?? data.query;
    if (marker.set(query, playback.shown, theme.still)) scene.camera.refit();
  }

  destroy(): void {
    this.isDestroyed = true;
    this.leave?.();
    this.stopWaiting?.();
  }
}
