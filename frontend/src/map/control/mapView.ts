// One map: its parts, and what each of them does when another has something new.
import { bus } from "../../lib/bus.ts";
import { scaleOf } from "../../lib/dom.ts";
import { messageOf } from "../../lib/format.ts";
import type { ComponentArguments } from "../../lib/mount.ts";
import { classColors } from "../../lib/palette.ts";
import { css, readTheme } from "../../lib/theme.ts";
import { expandProps, type MapInput } from "../data/expandProps.ts";
import type { Model } from "../data/model.ts";
import { MapState } from "../data/state.ts";
import type { Point } from "../math/camera.ts";
import { Orbit } from "../math/orbit.ts";
import { QueryMarker } from "../math/queryMarker.ts";
import { Playback } from "../playback/playback.ts";
import { OverlayRenderer } from "../render/overlayRenderer.ts";
import { Scene } from "../render/scene.ts";
import { buildLayout, type Layout } from "../ui/layout.ts";
import { ViewStore, ADDRESS, UNDO, pageStore, type Change } from "../../workbench/store.ts";
import { PropsReceiver, mapKey } from "./applyProps.ts";
import { connectGestures, connectPanels, layoutHooks } from "./input.ts";
import { Interaction } from "./interaction.ts";
import { LayoutMover } from "./layoutMover.ts";
import { Here } from "./here.ts";
import { isHeld, MapLink } from "./linkedMaps.ts";
import { MapActions } from "./mapActions.ts";
import { PointPainter } from "./pointPainter.ts";
import { StatePublisher } from "./publishState.ts";
import { Selection } from "./selection.ts";
import { boundsBeside, measureStage } from "./stageFit.ts";
import { Subset } from "./subset.ts";

let instances = 0;
let touched: HTMLElement | null = null; // the map that a person used last
const mounts = new Map<string, number>();
const CHOICE = Symbol("choice"); // of a person, in this map's menu
const STEP_ACTIONS = new Set(["play", "step", "seek", "seekStep", "scrub"]);

export type MapArguments = ComponentArguments<MapInput> & {
  /** The view; by default that of the page. */
  store?: ViewStore;
};

export class MapView {
  readonly id = ++instances;
  readonly state: MapState;
  readonly layout: Layout;
  readonly orbit = new Orbit();
  readonly marker: QueryMarker;
  readonly scene: Scene;
  readonly playback: Playback;
  readonly overlay: OverlayRenderer;
  readonly interaction: Interaction;
  readonly selection: Selection;
  readonly actions: MapActions;
  readonly painter: PointPainter;
  readonly mover: LayoutMover;
  private receiver: PropsReceiver;
  private publisher: StatePublisher;
  private link: MapLink;
  private host: Pick<MapArguments, "setTriggerValue"> | null = null;
  private ahead: string | null = null; // the view that is shown before the page knows of it
  private hasMoved = false; // whether the person has gone to a step of this run
  private observer: ResizeObserver;
  private offs: (() => void)[];
  private isDestroyed = false;

  /** A map without partner (`link` is null) has a store of its own: what is pinned on it is nothing to the other. */
  constructor(parent: Node & ParentNode, name: string, input: MapInput, store = pageStore) {
    mounts.set(name, (mounts.get(name) ?? 0) + 1);
    this.layout = buildLayout(this.id, mounts.get(name) as number, layoutHooks(this));
    parent.append(this.layout.sheet, this.layout.root);
    const { layout, orbit } = this;
    const state = (this.state = new MapState(
      expandProps(input),
      layout.stage,
      input.link === null ? new ViewStore() : store,
    ));
    const marker = (this.marker = new QueryMarker((place) => orbit.toPlane(place, this.scene.frame?.pivot)));
    const scene = (this.scene = new Scene(
      layout.ground,
      layout.points,
      layout.overlay,
      {
        drawOverlay: (context, ground) => {
          const hasPictures = this.overlay.draw(context, ground, scene);
          this.publisher.publishRanks();
          return hasPictures;
        },
        extraBounds: () => boundsBeside(this),
        still: () => state.theme.still,
        trains: () => state.data.running === true,
        onFrame: (seconds) => this.playback.tick(seconds),
        onRebase: (from, to) => marker.carry(from, to),
        onCamera: (gliding) => this.link?.onCamera(gliding),
      },
      input.renderer,
    ));
    const send = (name: string, value: unknown) => this.setTriggerValue(name, value);
    const trouble = (text: string | null) => this.setStatus(text);
    const [repaint, refresh] = [() => this.painter.repaint(), () => this.refresh()];
    const playback = (this.playback = new Playback(
      scene,
      {
        change: refresh,
        frame: (from, to) => marker.move(from, to, scene.t),
        ended: () => send("rerun", true),
        // The page turns it onto the map beside it.
        formed: () => state.data.link && state.data.follows && send("rerun", true),
        trouble: (error) => trouble(messageOf(error)),
      },
      () => state.theme.still,
    ));
    const parts = { state, layout, scene, playback, orbit, marker, refresh, trouble, send };
    const selection = (this.selection = new Selection(parts));
    const mover = (this.mover = new LayoutMover(parts));
    const subset = new Subset({ ...parts, mover });
    const here = new Here({ ...parts, atEnd: () => this.overlay.isAtEnd });
    const interaction = (this.interaction = new Interaction({
      ...parts,
      selection,
      here,
      pictureReach: () => this.overlay.thumbnail / 2,
      galleryPlaces: () => this.overlay.galleryPlaces(scene),
    }));
    this.overlay = new OverlayRenderer({
      ...parts,
      pointed: () => interaction,
      lasso: () => selection.path,
      asked: () => here.now,
      askedCard: (asked, place, landed) =>
        asked ? layout.hereCard.show(asked, place, landed, scene, state) : layout.hereCard.hide(),
      card: (item, place) =>
        item === null ? layout.tooltip.hide() : layout.tooltip.show(item, place, scene.port, state),
      refresh: () => {
        scene.invalidate();
        refresh();
      },
    });
    const link = (this.link = new MapLink({
      ...parts,
      camera: scene.camera,
      hover: (item) => interaction.setHovered(item, { notify: false }),
    }));
    this.publisher = new StatePublisher({ ...parts, link });
    this.painter = new PointPainter({
      ...parts,
      spotlight: () => interaction.spotlight,
      recount: () => this.publisher.recount(),
    });
    const actions = (this.actions = new MapActions({
      ...parts,
      interaction,
      subset,
      here,
      link: {
        onAction: (action) => {
          this.hasMoved ||= STEP_ACTIONS.has(action);
          link.onAction(action);
        },
      },
    }));
    this.receiver = new PropsReceiver({
      ...parts,
      selection,
      subset,
      repaint,
      summary: () => this.publisher.summary(),
      recolor: () => this.painter.recolor(),
    });
    this.observer = new ResizeObserver(() => {
      measureStage(this);
      this.refresh();
    });
    this.observer.observe(layout.stage);
    // Points make way for these.
    const { strip, notices, alarm, colorControl } = layout;
    for (const one of [colorControl.scale, strip, notices, alarm.node]) this.observer.observe(one);
    layout.root.addEventListener("keydown", (event) => actions.onKey(event));
    const touch = () => (touched = layout.root);
    for (const kind of ["focusin", "pointerdown"]) layout.root.addEventListener(kind, touch);
    // In the app the keys work wherever the focus is, for the map that was used last; a notebook's keys are its own.
    const onKey = (event: KeyboardEvent) => {
      if (!touched?.isConnected) touched = layout.root;
      if (touched === layout.root) actions.onKey(event);
    };
    if (state.store === pageStore && document.querySelector(".stApp")) document.addEventListener("keydown", onKey);
    const isOwn = ({ run }: { run: string }) => run === state.data.run;
    const redraw = () => {
      refresh();
      scene.invalidate();
    };
    state.gallery = bus.last("gallery") ?? null;
    state.newBatch = bus.last("new-batch") ?? null;
    this.offs = [
      connectGestures({ ...parts, interaction, selection, actions }),
      connectPanels({ ...parts, interaction, selection, actions }),
      bus.on("query", () => {
        this.receiver.placeQuery();
        refresh();
      }),
      bus.on("gallery", (placed) => {
        state.gallery = placed;
        redraw();
      }),
      bus.on("new-batch", (placed) => {
        state.newBatch = placed;
        redraw();
      }),
      bus.on("scored", (said) => isOwn(said) && this.sayScores()),
      bus.on("losses", (said) => isOwn(said) && this.sayScores()),
      bus.on("neighbors", (answer) => this.receiver.placeNeighbors(answer)),
      bus.on("look", (all) => all.push({ run: state.data.run, seen: this.seen() })),
      state.store.subscribe((change, source) => this.follow(change, source)),
      bus.on("map", (data) => {
        this.ahead = null;
        if (data?.run !== state.data.run || !this.host) return;
        this.update({ data: { ...data, replays: state.data.replays }, ...this.host });
        this.ahead = data.view;
      }),
      bus.on("open-outline", () => layout.outline.open()),
      () => document.removeEventListener("keydown", onKey),
    ];
    layout.toolbar.view.addEventListener("toggle", () => layout.toolbar.view.open && this.mover.ready());
    if (!input.link) this.offs.push(state.store.keepOpen(layout.toolbar.view, "view")); // of two maps each has its own
    this.offs.push(state.store.keepOpen(layout.footer.node, "quality"));
    (layout.root as HTMLElement & { map?: MapView }).map = this; // for tests in a browser: root.map.clientOf(item)
  }

  get model(): Model {
    return this.state.model;
  }

  /** Color points by something else. Where that groups them anew, all groups are shown. */
  chooseColor(name: string): void {
    this.state.store.set({ color: name }, CHOICE);
  }

  /** Show what is looked at now. */
  private follow(change: Change, source: unknown): void {
    if (change.size === 1 && (change.has("camera") || change.has("partner") || change.has("metric"))) return;
    const { state, playback, painter, interaction, receiver } = this;
    const { step, view } = state.store.state;
    if (change.has("pinned")) {
      state.model.neighbors = [];
      interaction.repinned();
    }
    if (change.has("selected") || change.has("reason")) receiver.publishSelection();
    if (change.has("view") && source === UNDO && state.data.projects) this.setTriggerValue("view", { view });
    if (change.has("step") && source === ADDRESS && this.hasSteps)
      playback.seekStep(step ?? playback.entries.at(-1)?.step ?? 0);
    if (change.has("color")) painter.recolor(source === CHOICE);
    if (change.has("display")) painter.reshape();
    else if (change.has("selected") || change.has("isolated") || change.has("hidden")) painter.repaint();
    else this.refresh();
  }

  /** True if this map's steps are those of the store: not a projection's iterations, not one of two runs. */
  private get hasSteps(): boolean {
    const { pid, data } = this.state;
    return (pid === null || data.follows === true) && !data.link;
  }

  /** Keep the step at which the person has paused the replay. */
  private keepStep(): void {
    const { shown, entries, open, player } = this.playback;
    if (!this.hasMoved || !this.hasSteps || open || player.playing || !shown || !entries.includes(shown)) return;
    this.state.store.set({ step: shown === entries.at(-1) ? null : shown.step }, this);
  }

  /** Send an event to the server, once. */
  setTriggerValue(name: string, value: unknown): void {
    this.host?.setTriggerValue(name, value);
  }

  /** Take what the server sent. */
  update({ data: input, setTriggerValue }: Pick<MapArguments, "data" | "setTriggerValue">): void {
    if (this.ahead !== null && input.run === this.state.data.run && input.view !== this.ahead) return;
    const {
      state,
      layout,
      layout: { stage, root },
    } = this;
    this.host = { setTriggerValue };
    const { run, view } = state.data;
    const data = (state.data = expandProps(input));
    if (data.run !== run) {
      this.hasMoved = false;
      this.sayScores(); // those of the run before go, also where this one has none
    }
    if (data.view === view && !state.alone) this.mover.release();
    state.theme = readTheme(stage);
    root.classList.toggle("dark", state.theme.dark);
    root.classList.toggle("small", Boolean(data.small_map));
    layout.title.textContent = data.small_map?.title ?? "";
    const chip = data.small_map?.nth ?? null;
    layout.title.style.setProperty("--chip", chip === null ? null : css(classColors(chip + 1, state.theme.dark)[chip]));
    const height = typeof data.height === "number" ? `${data.height}px` : data.height === "fill" ? "100%" : "";
    if (root.style.height !== height) root.style.height = height;
    this.receiver.apply(data);
  }

  /** Bring everything around the points up to date. */
  refresh(): void {
    if (!this.host || this.isDestroyed) return;
    this.publisher.publish();
    this.keepStep();
    this.scene.invalidate();
  }

  /** Say how the run scores, and draw its course into the player; nothing where nobody has said so of this run. */
  private sayScores(): void {
    const { state, layout } = this;
    const of = <T extends { run: string }>(said: T | undefined) => (said?.run === state.data.run ? said : undefined);
    const { scores = "", note = "", sentence = "", course = [] } = of(bus.last("scored")) ?? {};
    layout.headline.score(scores, note);
    layout.bar.follow("score", course);
    if (!isHeld(state)) [layout.moment.textContent, layout.moment.title] = [sentence, note];
    layout.bar.follow("loss", of(bus.last("losses"))?.course ?? []);
  }

  private setStatus(text: string | null): void {
    this.state.trouble = text;
    this.refresh();
  }

  /** Position of item i in the window, for tests in a browser. */
  clientOf(i: number): Point {
    const box = this.layout.overlay.getBoundingClientRect();
    const scale = scaleOf(this.layout.overlay);
    const [x, y] = this.scene.screenOf(i);
    return [box.left + scale * x, box.top + scale * y];
  }

  /** What is seen of the map: its rotation, or the part to which a person has gone, where its frame goes from −1 to 1. */
  private seen(): Record<string, string> {
    const { scene, orbit, playback } = this;
    const { camera, port, frame } = scene;
    const text = (numbers: number[]) => numbers.map((value) => value.toFixed(4)).join();
    if (frame?.xyz) return { turn: text(orbit.matrix) };
    if (camera.automatic || !camera.view || !playback.shown) return {};
    const { center, scale } = playback.shown.frame;
    const { x, y, k } = camera.view;
    const [wide, high] = [port.width / 2 / k, port.height / 2 / k];
    const [left, low] = [x - center[0], y - center[1]];
    return { area: text([left - wide, low - high, left + wide, low + high].map((value) => value / scale)) };
  }

  /** Remember where the camera is, for when this map comes back from another page. */
  private saveCamera(): void {
    const { scene, state, playback } = this;
    const { camera } = scene;
    if (!scene.frame) return;
    const view = camera.automatic ? null : (camera.target ?? camera.view);
    const { playing } = playback.player;
    state.store.set({ camera: { of: mapKey(state.data), view, size: camera.size, playing } });
  }

  destroy(): void {
    this.isDestroyed = true;
    this.saveCamera();
    bus.emit("selection", null);
    this.observer.disconnect();
    this.offs.forEach((off) => off());
    this.link.destroy();
    this.playback.destroy();
    this.mover.destroy();
    this.receiver.destroy();
    this.interaction.destroy();
    this.layout.announcer.destroy();
    this.scene.destroy();
    this.layout.root.remove();
    this.layout.sheet.remove();
  }
}
