// One map: its parts, and what each of them does when another has something new.
import { bus, shared } from "../../lib/bus.ts";
import { messageOf } from "../../lib/format.ts";
import type { ComponentArguments } from "../../lib/mount.ts";
import { classColors } from "../../lib/palette.ts";
import { publishSelection } from "../../lib/publishedSelection.ts";
import { readTheme } from "../../lib/theme.ts";
import { expandProps, type MapInput } from "../data/expandProps.ts";
import type { Model } from "../data/model.ts";
import { MapState } from "../data/state.ts";
import { union, type Bounds, type Point } from "../math/camera.ts";
import { Orbit } from "../math/orbit.ts";
import { QueryMarker } from "../math/queryMarker.ts";
import { Playback } from "../playback/playback.ts";
import { OverlayRenderer } from "../render/overlayRenderer.ts";
import { computePointColors } from "../render/pointColors.ts";
import { Scene } from "../render/scene.ts";
import { buildLayout, type Layout } from "../ui/layout.ts";
import { PropsReceiver } from "./applyProps.ts";
import { listen } from "./gestures.ts";
import { Interaction } from "./interaction.ts";
import { keyAction, type Action } from "./keys.ts";
import { MapLink } from "./linkedMaps.ts";
import { StatePublisher } from "./publishState.ts";
import { saveView } from "./savedView.ts";
import { StepPersistence } from "./stepPersistence.ts";

const WIDE_PX = 620; // from which the legend stands beside the points
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
  private receiver: PropsReceiver;
  private publisher: StatePublisher;
  private persistence: StepPersistence;
  private link: MapLink;
  private host: Pick<MapArguments, "setStateValue" | "setTriggerValue"> | null = null;
  private observer: ResizeObserver;
  private offs: (() => void)[];
  private destroyed = false;

  constructor(parent: Node & ParentNode, name: string, input: MapInput) {
    shared.mounts[name] = (shared.mounts[name] ?? 0) + 1;
    this.layout = this.buildLayout(shared.mounts[name]);
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
        extraBounds: () => this.extraBounds(),
        onFrame: (seconds) => this.playback.tick(seconds),
        onRebase: (from, to) => marker.carry(from, to),
        onCamera: (gliding) => this.link?.onCamera(gliding),
      },
      input.renderer,
    ));
    const sendState = (key: string, value: unknown) => this.host?.setStateValue(key, value);
    const [repaint, changed] = [() => this.repaint(), () => this.changed()];
    const playback = (this.playback = new Playback(
      scene,
      {
        change: changed,
        frame: (from, to) => marker.move(from, to, scene.t),
        ended: (how) => this.host?.setTriggerValue("ended", how),
        trouble: (error) => this.setStatus(messageOf(error)),
      },
      () => state.theme.still,
    ));
    const interaction = (this.interaction = new Interaction({
      state,
      scene,
      tooltip: layout.tooltip,
      sendState,
      repaint,
      changed,
      pictureReach: () => this.overlay.thumbnail / 2,
      step: () => playback.shown?.step ?? null,
      selected: (mask, reason) => this.link.onSelect(mask, reason),
    }));
    this.overlay = new OverlayRenderer({
      state,
      playback,
      marker,
      orbit,
      pointed: () => interaction,
      card: (item, place) =>
        item === null ? layout.tooltip.hide() : layout.tooltip.show(item, place, scene.port, state),
    });
    this.persistence = new StepPersistence(
      playback,
      () => state.pid,
      (step) => {
        this.receiver.expect("step", step);
        sendState("step", step);
      },
    );
    this.link = new MapLink({
      state,
      camera: scene.camera,
      playback,
      hover: (item) => interaction.setHovered(item, { notify: false }),
      pin: (item) => interaction.pin(item, { notify: false }),
      select: (mask, reason) => interaction.selectAlong(mask, reason),
    });
    this.publisher = new StatePublisher({
      state,
      layout,
      scene,
      playback,
      orbit,
      marker,
      link: this.link,
      measure: () => this.measure(),
    });
    this.receiver = new PropsReceiver({
      state,
      layout,
      scene,
      playback,
      orbit,
      marker,
      interaction,
      persistence: this.persistence,
      sendState,
      repaint,
      changed,
      summary: () => this.publisher.summary(),
      recolor: () => this.recolor(),
      trouble: (text) => this.setStatus(text),
    });
    this.observer = new ResizeObserver(() => {
      this.measure();
      this.changed();
    });
    this.observer.observe(layout.stage);
    this.offs = this.connect();
    (layout.root as HTMLElement & { map?: MapView }).map = this; // for tests in a browser: root.map.clientOf(item)
  }

  private buildLayout(mounts: number): Layout {
    const act = (action: Action) => () => this.runAction(action);
    return buildLayout(this.id, mounts, {
      toggle: (c) => this.filter(() => this.state.model.toggleClass(c)),
      solo: (c) => this.filter(() => this.state.model.soloClass(c)),
      spotlight: (c) => {
        this.interaction.spotlight = c;
        this.repaint();
      },
      mode: (mode) => this.runAction(["mode", mode]),
      home: act(["home"]),
      markers: act(["markers"]),
      names: act(["names"]),
      trails: act(["trails"]),
      refit: act(["refit"]),
      fullscreen: act(["fullscreen"]),
      play: act(["play"]),
      speed: act(["speed"]),
      step: (by) => this.runAction(["step", by]),
      seek: (index) => this.runAction(["seek", index]),
      scrub: (step) => this.runAction(["scrub", step]),
      remedy: (chosen) => this.host?.setTriggerValue("remedy", chosen),
      color: (name) => this.setColor(name),
      changed: () => this.changed(),
    });
  }

  private connect(): (() => void)[] {
    const { layout, state, scene, interaction, orbit } = this;
    layout.root.addEventListener("keydown", (event) => this.onKey(event));
    const isHere = ({ run }: { run: string }) => run === state.data.run;
    return [
      listen(layout.overlay, () => state.mode, {
        pan: (dx, dy) => {
          if (!scene.frame?.xyz) return scene.camera.pan(dx, dy);
          orbit.turn(dx, dy, Math.min(scene.port.width, scene.port.height));
          this.playback.rotated();
          this.changed();
        },
        zoom: (factor, x, y, gliding) => scene.camera.zoom(factor, x, y, gliding && !state.theme.still),
        hover: (x, y) => interaction.hover(x, y),
        leave: () => interaction.leave(),
        click: (x, y, event) => interaction.click(x, y, event),
        home: () => scene.camera.goHome(),
        lasso: (path) => interaction.lasso(path),
        lassoEnd: (path, box, event) => interaction.lassoEnd(path, box, event),
      }),
      bus.on(
        "hover",
        (detail) => detail.source !== state && isHere(detail) && interaction.setHovered(detail.item, { notify: false }),
      ),
      bus.on("seek", (detail) => isHere(detail) && this.runAction([detail.scrub ? "scrub" : "seekStep", detail.step])),
      bus.on("select", (detail) => isHere(detail) && interaction.selectItems(detail.items, detail.reason)),
      bus.on("pin-item", (detail) => isHere(detail) && interaction.pin(detail.item)),
      bus.on("play", (detail) => isHere(detail) && this.runAction(["play"])),
    ];
  }

  get model(): Model {
    return this.state.model;
  }

  // Home shows the last frame of a replay too, so that a play does not outgrow it, the query, and a learned circle.
  private extraBounds(): Bounds | null {
    const place = this.marker.to && this.orbit.toPlane(this.marker.to, this.scene.frame?.pivot);
    const kind = this.state.data.picture?.space?.kind;
    const round: Bounds | null = kind === "circle" || kind === "sphere" ? [-1.08, -1.08, 1.08, 1.08] : null;
    return union(round, union(this.playback?.frameOfReference ?? null, place && [...place, ...place]));
  }

  private measure(): void {
    const {
      layout: { stage, root, legend, bar },
      playback,
      state,
    } = this;
    const { width, height } = stage.getBoundingClientRect();
    const wide = width >= WIDE_PX;
    root.classList.toggle("narrow", !wide);
    const insets = wide
      ? { left: legend.node.offsetWidth + 24, right: 26, top: 52, bottom: 30 }
      : { left: 18, right: 18, top: 50, bottom: legend.node.offsetHeight + 36 };
    this.scene.resize(width, height, insets);
    bar.update(playback.timeline, playback.player, state.theme);
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

  // ---- from the person

  private onKey(event: KeyboardEvent): void {
    const action = keyAction(event);
    if (event.target !== this.layout.overlay && action?.[0] !== "clear") return;
    if (!action || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // single letters are Streamlit's shortcuts too
    this.runAction(action);
  }

  runAction(action: Action): void {
    const { scene, interaction, playback, state } = this;
    this.link.onAction(action[0]);
    switch (action[0]) {
      case "mode":
        state.mode = action[1];
        break;
      case "markers":
        state.markers = !state.markers;
        return this.repaint();
      case "names":
        state.names = !state.names;
        break;
      case "trails":
        state.trails = !state.trails;
        break;
      case "home":
        return scene.camera.goHome();
      case "zoom":
        return scene.camera.zoom(action[1], scene.port.width / 2, scene.port.height / 2, !state.theme.still);
      case "play":
        return playback.toggle();
      case "step":
        return playback.step(action[1]);
      case "seek":
        return playback.seek(action[1]);
      case "seekStep":
        return playback.seekStep(action[1]);
      case "scrub":
        return playback.scrub(action[1]);
      case "refit":
        return playback.refit();
      case "speed":
        playback.player.cycleSpeed();
        break;
      case "walk":
        return interaction.walk(action[1]);
      case "clear":
        return interaction.clear();
      case "fullscreen":
        if (document.fullscreenElement) void document.exitFullscreen();
        else this.layout.root.requestFullscreen?.().catch(() => {});
        return;
    }
    this.changed();
  }

  private filter(change: () => void): void {
    const count = () => this.model.selected?.reduce((a, b) => a + b, 0) ?? 0;
    const before = count();
    change();
    if (before !== count()) this.interaction.publishSelection();
    this.interaction.leave();
    this.repaint();
  }

  /** Color points by something else, at once; Python is told. */
  private setColor(name: string): void {
    this.host?.setStateValue("color", name);
    this.state.data = { ...this.state.data, color: name };
    this.recolor();
  }

  private recolor(): void {
    const { model, data } = this.state;
    this.layout.colorControl.setSource(data, model).then(
      () => {
        if (this.model === model) this.repaint();
      },
      (error: unknown) => this.setStatus(messageOf(error)),
    );
  }

  // ---- showing

  /** Colors, selection or hidden classes have changed. */
  repaint(): void {
    const {
      scene,
      state,
      state: { model, theme, markers: shapes },
      interaction,
    } = this;
    const colors = (state.colors = classColors(model.classes.length, theme.dark));
    const spotlight =
      interaction.spotlight !== null && model.hidden.has(interaction.spotlight) ? null : interaction.spotlight;
    if (scene.frame) scene.usable = model.usable(scene.frame.present);
    const colorBy = this.layout.colorControl.name;
    scene.setPaint(computePointColors({ model, colors, theme, shapes, colorBy, spotlight }), theme.background);
    this.publisher.recount();
    this.changed();
  }

  /** Bring everything around the points up to date. */
  private changed(): void {
    if (!this.host || this.destroyed) return;
    this.publisher.publish();
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
