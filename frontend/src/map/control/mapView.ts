// One map: its parts, and what each of them does when another has something new.
import { shared } from "../../lib/bus.ts";
import { messageOf } from "../../lib/format.ts";
import type { ComponentArguments } from "../../lib/mount.ts";
import { publishSelection } from "../../lib/publishedSelection.ts";
import { readTheme } from "../../lib/theme.ts";
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
import { PropsReceiver } from "./applyProps.ts";
import { connectGestures, connectPanels } from "./connectInput.ts";
import { DisplaySync } from "./displaySync.ts";
import { History } from "./history.ts";
import { Interaction } from "./interaction.ts";
import { layoutHooks } from "./layoutHooks.ts";
import { MapLink } from "./linkedMaps.ts";
import { MapActions } from "./mapActions.ts";
import { PointPainter } from "./pointPainter.ts";
import { StatePublisher } from "./publishState.ts";
import { saveView } from "./savedView.ts";
import { Selection } from "./selection.ts";
import { SentState } from "./sentState.ts";
import { boundsBeside, measureStage } from "./stageFit.ts";
import { StepPersistence } from "./stepPersistence.ts";
import { Subset } from "./subset.ts";
import { ViewChoice } from "./viewChoice.ts";

let instances = 0;

type MapArguments = ComponentArguments<MapInput>;

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
  readonly history: History;
  readonly actions: MapActions;
  readonly painter: PointPainter;
  private receiver: PropsReceiver;
  private publisher: StatePublisher;
  private persistence: StepPersistence;
  private display: DisplaySync;
  private link: MapLink;
  private host: Pick<MapArguments, "setStateValue" | "setTriggerValue"> | null = null;
  private observer: ResizeObserver;
  private offs: (() => void)[];
  private destroyed = false;

  constructor(parent: Node & ParentNode, name: string, input: MapInput) {
    shared.mounts[name] = (shared.mounts[name] ?? 0) + 1;
    this.layout = buildLayout(this.id, shared.mounts[name], layoutHooks(this));
    parent.append(this.layout.sheet, this.layout.root);
    const { layout, orbit } = this;
    const state = (this.state = new MapState(expandProps(input), layout.stage));
    const marker = (this.marker = new QueryMarker((place) => orbit.toPlane(place, this.scene.frame?.pivot)));
    const scene = (this.scene = new Scene(
      layout.points,
      layout.overlay,
      {
        drawOverlay: (context) => {
          const pictured = this.overlay.draw(context, scene);
          this.publisher.publishRanks();
          return pictured;
        },
        extraBounds: () => boundsBeside(this),
        onFrame: (seconds) => this.playback.tick(seconds),
        onRebase: (from, to) => marker.carry(from, to),
        onCamera: (gliding) => this.link?.onCamera(gliding),
      },
      input.renderer,
    ));
    const sendState = (key: string, value: unknown) => this.setStateValue(key, value);
    const sent = new SentState(sendState);
    const [repaint, changed] = [() => this.painter.repaint(), () => this.changed()];
    const trouble = (text: string | null) => this.setStatus(text);
    const playback = (this.playback = new Playback(
      scene,
      {
        change: changed,
        frame: (from, to) => marker.move(from, to, scene.t),
        ended: (how) => this.setTriggerValue("ended", how),
        trouble: (error) => this.setStatus(messageOf(error)),
      },
      () => state.theme.still,
    ));
    const history: History = (this.history = new History(
      () => {
        const { selected, pinned, hidden, isolated } = state.model;
        const color = state.data.color ?? "class";
        return { selected, pinned, hidden, isolated, reason: selection.reason, color, view: view.current };
      },
      ({ selected, pinned, hidden, isolated, reason, color, view: name }) => {
        state.model.hidden = new Set(hidden);
        state.model.isolated = isolated;
        if (color !== (state.data.color ?? "class")) this.chooseColor(color, hidden);
        selection.restore(selected, reason);
        interaction.pin(pinned, { record: false });
        view.restore(name);
      },
    ));
    const view = new ViewChoice((name) => this.setTriggerValue("view", { view: name }));
    const record = () => history.record();
    const selection = (this.selection = new Selection({
      state,
      record,
      scene,
      sent,
      repaint,
      step: () => playback.shown?.step ?? null,
      selected: (mask, reason) => this.link.onSelect(mask, reason),
    }));
    const subset: Subset = new Subset({
      state,
      selection,
      history,
      camera: scene.camera,
      ask: (wish) => {
        view.expect();
        this.setTriggerValue("subset", wish);
      },
    });
    const interaction = (this.interaction = new Interaction({
      state,
      record,
      scene,
      tooltip: layout.tooltip,
      selection,
      sent,
      changed,
      pictureReach: () => this.overlay.thumbnail / 2,
    }));
    this.overlay = new OverlayRenderer({
      state,
      playback,
      marker,
      orbit,
      pointed: () => interaction,
      lasso: () => selection.path,
      card: (item, place) =>
        item === null ? layout.tooltip.hide() : layout.tooltip.show(item, place, scene.port, state),
      changed: () => {
        scene.invalidate();
        changed();
      },
    });
    this.persistence = new StepPersistence(
      playback,
      () => state.pid,
      (step) => {
        this.receiver.expect("step", step);
        sendState("step", step);
      },
    );
    const display = (this.display = new DisplaySync({ state, sent }));
    this.link = new MapLink({
      state,
      camera: scene.camera,
      playback,
      hover: (item) => interaction.setHovered(item, { notify: false }),
      pin: (item) => interaction.pin(item, { notify: false }),
      select: (mask, reason) => selection.adoptLinked(mask, reason),
    });
    this.publisher = new StatePublisher({
      state,
      layout,
      scene,
      playback,
      orbit,
      marker,
      history,
      link: this.link,
      measure: () => measureStage(this),
    });
    this.painter = new PointPainter({
      state,
      scene,
      colorControl: layout.colorControl,
      spotlight: () => interaction.spotlight,
      regrouped: () => layout.legend.setGroups(state.model.grouping ? "Categories" : "Classes", state.model.groups),
      recount: () => this.publisher.recount(),
      changed,
      trouble,
    });
    const actions = (this.actions = new MapActions({
      state,
      root: layout.root,
      stage: layout.overlay,
      scene,
      playback,
      interaction,
      selection,
      history,
      subset,
      link: this.link,
      repaint,
      reshape: () => this.painter.reshape(),
      changed,
    }));
    this.receiver = new PropsReceiver({
      state,
      layout,
      scene,
      playback,
      orbit,
      marker,
      selection,
      history,
      subset,
      view,
      display,
      sent,
      persistence: this.persistence,
      sendState,
      repaint,
      changed,
      summary: () => this.publisher.summary(),
      recolor: (hidden) => this.painter.recolor(hidden),
      trouble,
    });
    this.observer = new ResizeObserver(() => {
      measureStage(this);
      this.changed();
    });
    this.observer.observe(layout.stage);
    layout.root.addEventListener("keydown", (event) => actions.onKey(event));
    const parts = { state, scene, orbit, playback, interaction, selection, actions, changed };
    this.offs = [connectGestures(parts), connectPanels(parts)];
    (layout.root as HTMLElement & { map?: MapView }).map = this; // for tests in a browser: root.map.clientOf(item)
  }

  get model(): Model {
    return this.state.model;
  }

  /** Color points by something else, at once; Python is told. Where that groups them anew, these groups are hidden. */
  chooseColor(name: string, hidden: Iterable<number> = []): void {
    this.receiver.expect("color", name);
    this.setStateValue("color", name);
    this.state.data = { ...this.state.data, color: name };
    this.painter.recolor(hidden);
  }

  /** Tell Python a value of the map's. */
  setStateValue(name: string, value: unknown): void {
    this.host?.setStateValue(name, value);
  }

  /** Tell Python once that something has happened. */
  setTriggerValue(name: string, value: unknown): void {
    this.host?.setTriggerValue(name, value);
  }

  /** Take what Python sent. */
  update({ data: input, setStateValue, setTriggerValue }: MapArguments): void {
    const {
      state,
      layout: { stage, root },
    } = this;
    this.host = { setStateValue, setTriggerValue };
    const data = (state.data = expandProps(input));
    state.theme = readTheme(stage);
    root.classList.toggle("dark", state.theme.dark);
    const height = typeof data.height === "number" ? `${data.height}px` : data.height === "fill" ? "100%" : "";
    if (root.style.height !== height) root.style.height = height;
    this.receiver.apply(data);
  }

  /** Bring everything around the points up to date. */
  changed(): void {
    if (!this.host || this.destroyed) return;
    this.publisher.publish();
    this.display.publish();
    this.persistence.schedule();
    this.scene.invalidate();
  }

  private setStatus(text: string | null): void {
    this.state.trouble = text;
    this.changed();
  }

  /** Where item i is in the window now, for tests in a browser. */
  clientOf(i: number): Point {
    const box = this.layout.overlay.getBoundingClientRect();
    const [x, y] = this.scene.screenOf(i);
    return [box.left + x, box.top + y];
  }

  destroy(): void {
    this.destroyed = true;
    saveView(this);
    publishSelection(null);
    this.persistence.setSaved(null);
    this.observer.disconnect();
    this.offs.forEach((off) => off());
    this.link.destroy();
    this.playback.destroy();
    this.receiver.destroy();
    this.interaction.destroy();
    this.layout.announcer.destroy();
    this.scene.destroy();
    this.layout.root.remove();
    this.layout.sheet.remove();
  }
}
