// What the map says about itself: legend counts, captions, attributes for tests, the bus, screen readers.
import { within } from "../../lib/boundary.ts";
import { bus, type BusEvents } from "../../lib/bus.ts";
import { updateAttribute } from "../../lib/dom.ts";
import { isOpen } from "../data/timeline.ts";
import { noticesOf, statusOf, summary } from "../ui/words.ts";
import { METHODS } from "./layoutMover.ts";
import { isHeld, type MapLink } from "./linkedMaps.ts";
import type { MapParts } from "./parts.ts";
import { measureStage } from "./stageFit.ts";

/** The rank of each of `items` by distance from `place` among the usable points, `itself` left out; null without a place. */
export function mapRanks(
  places: ArrayLike<number>,
  usable: Uint8Array,
  place: readonly number[],
  items: number[],
  itself = -1,
): Map<number, number | null> {
  const dims = place.length;
  const distanceTo = (i: number) => place.reduce((sum, v, axis) => sum + (places[dims * i + axis] - v) ** 2, 0);
  const rows = items.filter((item) => usable[item]).map((item) => ({ item, far: distanceTo(item), rank: 1 }));
  for (let i = 0; i < usable.length; i++) {
    if (!usable[i] || i === itself) continue;
    const far = distanceTo(i);
    for (const one of rows) if (far < one.far) one.rank++;
  }
  const ranks = new Map<number, number | null>(items.map((item) => [item, null]));
  for (const { item, rank } of rows) ranks.set(item, rank);
  return ranks;
}

const sum = (mask: Uint8Array) => mask.reduce((a, b) => a + b, 0);

export class StatePublisher {
  private counts: { present: Uint8Array | null; model: unknown } | null = null;
  private pinned: BusEvents["pinned"] | null = null;
  private frameKey = "";
  private ranking: { key: string; usable: Uint8Array } | null = null;

  constructor(private parts: MapParts & { link: Pick<MapLink, "leads" | "total"> }) {}

  /** Classes are to be counted anew: colors, the selection or hidden classes have changed. */
  recount(): void {
    this.counts = null;
  }

  /** One sentence on what the map shows. */
  summary(): string {
    const { state, scene, playback } = this.parts;
    return summary({
      model: state.model,
      present: scene.frame?.count ?? 0,
      timeline: playback.timeline,
      entry: playback.shown,
    });
  }

  /** Bring all that surrounds the points up to date. */
  publish(): void {
    const { state, layout, scene, playback } = this.parts;
    const { timeline, player, open } = playback;
    const shown = playback.moved ?? playback.shown;
    if (!playback.moved) state.alone = null; // the player was used
    const { alone } = state;
    const picture = alone && { method: alone.method, title: METHODS[alone.method], caution: "" };
    const data = picture ? { ...state.data, picture, settings: alone.settings } : state.data;
    this.countClasses();
    if (!data.small_map) {
      within(layout.toolbar.node, "The toolbar", () => layout.toolbar.update(state, Boolean(scene.frame?.xyz)));
      within(layout.settings.node, "The settings", () => layout.settings.update(data));
      within(layout.footer.node, "The quality", () => layout.footer.update(data, timeline, shown, open));
      within(layout.bar.node, "The player", () => layout.bar.update(timeline, player, state.theme, shown));
    }
    within(layout.outline.node, "The table", () => layout.outline.update(state));
    layout.alarm.update(state, timeline, shown);
    layout.headline.update(state.data.title ?? "", layout.bar.words);
    // Until a new run has a frame of its own, the stage still holds the one before, faded.
    const visible = shown && scene.frame ? sum(scene.usable) : 0;
    const [caption, note] = statusOf(state, timeline, shown && scene.frame, visible, playback.unplaced, shown?.note);
    layout.colorControl.update(state, layout.colorControl.name === "error" ? this.wrongItems() : 0);
    layout.caption.textContent = caption;
    layout.status.textContent = note;
    const notices = (
      (shown && scene.frame) || state.data.gone ? noticesOf(state, timeline, shown) : (state.data.notices ?? [])
    ).join("\n");
    if (layout.notices.textContent !== notices) layout.notices.textContent = notices;
    if (!player.playing) updateAttribute(layout.overlay, "aria-label", this.summary());
    for (const [name, value] of Object.entries(this.attributes(visible)))
      updateAttribute(layout.root, `data-${name}`, value);
    this.publishFrame();
    this.publishPinned();
  }

  private attributes(visible: number): Record<string, string | number | boolean> {
    const {
      state: { model, data, pid, mode, images, trained, markers, contours },
      layout: { colorControl },
      scene,
      playback,
      orbit,
    } = this.parts;
    const { player, shown, timeline } = playback;
    return {
      run: data.run,
      view: pid ?? "live",
      frame: Math.floor(player.position),
      step: shown?.step ?? "",
      points: visible,
      pinned: model.pinned ?? "",
      selected: model.selected ? sum(model.selected) : 0,
      playing: player.playing,
      state: !playback.isOf(data.run, pid) ? "waiting" : timeline.queue?.phase === "queued" ? "queued" : timeline.state,
      mode,
      dims: scene.frame?.xyz ? 3 : 2,
      turned: orbit.version,
      images,
      trained,
      markers,
      contours,
      color: model.grades || model.grouping || colorControl.name === "error" ? colorControl.name : "class",
      renderer: scene.renderer.kind,
      ready: (playback.moved ?? shown) !== null && scene.frame !== null && scene.port.width > 0,
    };
  }

  private wrongItems(): number {
    const {
      state: { model },
      scene,
    } = this.parts;
    let wrong = 0;
    for (let i = 0; i < model.n; i++) if (scene.usable[i] && model.isWrong(i)) wrong++;
    return wrong;
  }

  // Counting goes through all items, so only when something that counts has changed.
  private countClasses(): void {
    const {
      state,
      state: { model },
      scene,
      layout,
    } = this.parts;
    const present = scene.frame?.present ?? null;
    if (this.counts?.present === present && this.counts.model === model) return;
    this.counts = { present, model };
    within(layout.legend.node, "The legend", () =>
      layout.legend.update(state, model.counts(present ?? new Uint8Array(model.n))),
    );
    // The legend may have grown; for a selection, which comes and goes, the points do not make way.
    if (!model.selected) measureStage(this.parts);
  }

  private publishPinned(): void {
    const {
      data: { run },
      model: { pinned: item },
    } = this.parts.state;
    if (this.pinned?.run === run && this.pinned.item === item) return;
    this.pinned = { run, item };
    bus.emit("pinned", this.pinned);
  }

  private publishFrame(): void {
    const {
      state,
      state: { data, pid },
      playback,
      playback: { player, shown, entries, timeline },
      link,
      layout,
    } = this.parts;
    if (isHeld(state)) return;
    if (!playback.isOf(data.run, pid)) return; // the last map of another run stands in, whose steps are not this one's
    const { playing } = player;
    const index = Math.floor(player.position);
    // A map that stopped following stands at its last layout, though the training goes on.
    const isWhole = timeline.follows ? timeline.state === "finished" : !isOpen(timeline);
    const ofEnd = data.follows || !pid ? index === entries.length - 1 && isWhole : true;
    const moment = ofEnd || !shown ? null : shown.step;
    const key = `${data.run} ${pid} ${index} ${shown?.step} ${moment} ${playing}`;
    if (key === this.frameKey || !shown) return;
    this.frameKey = key;
    bus.emit("frame", {
      run: data.run,
      view: data.follows ? "live" : (pid ?? "live"), // one that follows plays the steps of the run
      index,
      count: entries.length,
      step: shown.step,
      moment,
      playing,
      leads: link.leads,
      total: link.total,
      source: state,
    });
    if (!playing) layout.announcer.say(this.summary());
  }

  /** Send the neighbors' ranks on the map to the inspector, once the points stand still. */
  publishRanks(): void {
    const {
      state: { model, data, pid },
      scene,
      marker,
      orbit,
      playback,
    } = this.parts;
    if (!scene.settled || !scene.frame || !playback.shown || isHeld(this.parts.state)) return;
    const pinned = model.pinned !== null && scene.usable[model.pinned] ? model.pinned : null;
    const item = pinned ?? (marker.to ? "query" : null);
    const items = (pinned === null ? (marker.query?.neighbors ?? []) : model.neighbors).map(
      (neighbor) => neighbor.item,
    );
    if (item === null || !items.length) return;
    const key = [data.run, pid, playback.shown.frame.id, item, items].join();
    if (this.ranking?.key === key && this.ranking.usable === scene.usable) return;
    this.ranking = { key, usable: scene.usable };
    const { xyz } = scene.frame;
    const own =
      pinned === null
        ? marker.to && (xyz ? marker.to : orbit.toPlane(marker.to))
        : xyz
          ? [...xyz.subarray(3 * pinned, 3 * pinned + 3)]
          : scene.worldOf(pinned);
    if (!own) return;
    const of = mapRanks(xyz ?? scene.places(), scene.usable, own, items, pinned ?? -1);
    bus.emit("ranks", { run: data.run, item, of });
  }
}
