// @ts-nocheck
// One map: its elements, what Python sent, what the person does, put together.
import { bus, page } from "../../lib/bus.ts";
import { classColours } from "../../lib/palette.ts";
import { tellSelection } from "../../lib/selection.ts";
import { readTheme } from "../../lib/theme.ts";
import { summary } from "../ui/ariaLive.ts";
import { union } from "../math/camera.ts";
import { buildElements } from "../ui/layout.ts";
import { listen } from "./gestures.ts";
import { Intake } from "./applyProps.ts";
import { meaningOf } from "./keys.ts";
import { Leaving } from "./stepPersistence.ts";
import { Link } from "./linkedMaps.ts";
import { keep } from "./savedView.ts";
import { Model } from "../data/model.ts";
import { paintPoints } from "../render/pointColors.ts";
import { Picture } from "../render/overlayRenderer.ts";
import { Orbit } from "../math/orbit.ts";
import { Playback } from "../playback/playback.ts";
import { Pointing } from "./interaction.ts";
import { report } from "./publishState.ts";
import { Scene } from "../render/scene.ts";
import { QueryStar } from "../math/queryMarker.ts";
import { told } from "../data/expandProps.ts";

const WIDE = 620; // pixels from which the legend stands beside the points
let instances = 0;

export class MapView {
  constructor(parent, name, data) {
    this.id = ++instances;
    this.data = {};
    this.mode = "pan";
    this.markers = false;
    this.names = true;
    this.trails = true;
    this.model = new Model([], null, 0);
    this.build(parent, name);
    this.orbit = new Orbit();
    this.star = new QueryStar((place) => this.flat(place));
    this.picture = new Picture(this);
    this.scene = new Scene({
      points: this.points,
      overlay: this.overlay,
      renderer: data.renderer,
      paintOver: (context, scene) => this.picture.paintOver(context, scene),
      alsoSee: () => this.alsoSee(),
      onFrame: (seconds) => this.playback.tick(seconds),
      onCarry: (from, to) => this.star.carry(from, to),
      onLook: (gliding) => this.link?.looked(gliding),
    });
    this.pointing = new Pointing(this);
    this.playback = new Playback(this.scene, {
      change: () => this.changed(),
      frame: (a, b) => this.star.move(a, b, this.scene.t),
      ended: (state) => this.setTrigger?.("ended", state),
      trouble: (error) => this.say(error.message),
    }, () => this.theme.still);
    this.intake = new Intake(this);
    this.leaving = new Leaving(this);
    this.link = new Link(this);
    this.connect();
  }

  // Home shows the last frame of a replay too, so that a play does not outgrow it, the query, and a learned circle.
  alsoSee() {
    const place = this.star.to && this.flat(this.star.to);
    const round = ["circle", "sphere"].includes(this.data.picture?.space?.kind) ? [-1.08, -1.08, 1.08, 1.08] : null;
    return union(round, union(this.playback?.frameOfReference ?? null, place && [...place, ...place]));
  }

  get thumbnail() {
    return this.picture.thumbnail;
  }

  // ---- elements

  build(parent, name) {
    page.mounts[name] = (page.mounts[name] ?? 0) + 1;
    const act = (action) => (argument) => this.act(action, argument);
    Object.assign(this, buildElements(this.id, page.mounts[name], {
      toggle: (c) => this.filter(() => this.model.toggleClass(c)),
      solo: (c) => this.filter(() => this.model.soloClass(c)),
      spotlight: (c) => this.setSpotlight(c),
      mode: act("mode"),
      home: act("home"),
      markers: act("markers"),
      names: act("names"),
      trails: act("trails"),
      refit: act("refit"),
      fullscreen: act("fullscreen"),
      play: act("play"),
      step: act("step"),
      seek: act("seek"),
      scrub: act("scrub"),
      remedy: (chosen) => this.setTrigger("remedy", chosen),
      speed: act("speed"),
      colour: (name) => this.setColour(name),
      changed: () => this.changed(),
    }));
    this.root.map = this; // for tests in a browser: root.map.clientOf(item)
    parent.append(this.style, this.root);
  }

  connect() {
    this.unlisten = listen(this.overlay, () => this.mode, {
      pan: (dx, dy) => (this.solid ? this.turn(dx, dy) : this.scene.pan(dx, dy)),
      zoom: (factor, x, y, gliding) => this.scene.zoom(factor, x, y, gliding && !this.theme.still),
      hover: (x, y) => this.pointing.hover(x, y),
      leave: () => this.pointing.leave(),
      click: (x, y, event) => this.pointing.click(x, y, event),
      home: () => this.scene.goHome(),
      lasso: (path) => this.pointing.lasso(path),
      lassoEnd: (path, box, event) => this.pointing.lassoEnd(path, box, event),
    });
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(() => {
      this.measure();
      this.changed();
    });
    this.observer.observe(this.stage);
    const elsewhere = (detail) => detail.source !== this && detail.run === this.data.run;
    this.offs = [
      bus.on("hover", (detail) => elsewhere(detail) && this.pointing.setHovered(detail.item, true)),
      bus.on("seek", (detail) => elsewhere(detail) && this.act(detail.scrub ? "scrub" : "seekStep", detail.step)),
      bus.on("select", (detail) => elsewhere(detail) && this.pointing.selectItems(detail.items, detail.reason)),
      bus.on("play", (detail) => elsewhere(detail) && this.act("play")),
    ];
  }

  measure() {
    const { width, height } = this.stage.getBoundingClientRect();
    const wide = width >= WIDE;
    this.root.classList.toggle("narrow", !wide);
    const legend = this.legend.node;
    const insets = wide
      ? { left: legend.offsetWidth + 24, right: 26, top: 52, bottom: 30 }
      : { left: 18, right: 18, top: 50, bottom: legend.offsetHeight + 36 };
    this.scene.resize(width, height, insets);
    if (this.theme) this.bar.update(this.playback.timeline, this.playback.player, this.theme);
  }

  // ---- from Python

  /** Take what Python sent. */
  update({ data, setStateValue, setTriggerValue }) {
    this.setState = setStateValue;
    this.setTrigger = setTriggerValue;
    const before = this.data;
    this.data = told(data);
    this.theme = readTheme(this.stage);
    this.root.classList.toggle("dark", this.theme.dark);
    const height = typeof data.height === "number" ? `${data.height}px` : data.height === "fill" ? "100%" : "";
    if (this.root.style.height !== height) this.root.style.height = height;
    this.intake.take(this.data, before);
  }

  // ---- three dimensions

  /** Whether what is on the stage has three dimensions. */
  get solid() {
    return Boolean(this.scene.frame?.xyz);
  }

  turn(dx, dy) {
    const { width, height } = this.scene.port;
    this.orbit.turn(dx, dy, Math.min(width, height));
    this.playback.turned();
    this.changed();
  }

  /** Where a place of two or three coordinates is in the flat world. */
  flat(place) {
    return place.length === 3 ? this.orbit.see(place, this.scene.frame?.pivot).slice(0, 2) : place;
  }

  /** The projection that is shown, null for the run itself. */
  get pid() {
    return !this.data.view || this.data.view === "live" ? null : this.data.view;
  }

  // ---- from the person

  key(event) {
    const meaning = meaningOf(event);
    if (event.target !== this.overlay && meaning?.[0] !== "clear") return;
    if (!meaning || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // single letters are Streamlit's shortcuts too
    this.act(...meaning);
  }

  act(action, argument) {
    const { scene, pointing, playback } = this;
    this.link.acted(action);
    switch (action) {
      case "mode": this.mode = argument; break;
      case "markers": this.markers = !this.markers; return this.repaint();
      case "names": this.names = !this.names; break;
      case "trails": this.trails = !this.trails; break;
      case "home": return scene.goHome();
      case "zoom": return scene.zoom(argument, scene.port.width / 2, scene.port.height / 2, !this.theme.still);
      case "play": return playback.toggle();
      case "step": return playback.step(argument);
      case "seek": return playback.seek(argument);
      case "seekStep": return playback.seekStep(argument);
      case "scrub": return playback.scrub(argument);
      case "refit": return playback.refit();
      case "speed": playback.player.faster(); break;
      case "walk": return pointing.walk(argument);
      case "clear": return pointing.clear();
      case "fullscreen":
        if (document.fullscreenElement) document.exitFullscreen();
        else this.root.requestFullscreen?.().catch(() => {});
        return;
    }
    this.changed();
  }

  filter(change) {
    const before = this.model.selected?.reduce((a, b) => a + b, 0) ?? 0;
    change();
    const after = this.model.selected?.reduce((a, b) => a + b, 0) ?? 0;
    if (before !== after) this.pointing.tellSelection();
    this.pointing.leave();
    this.repaint();
  }

  /** Colour points by something else, at once; Python is told. */
  setColour(name) {
    this.setState?.("colour", name);
    this.data = { ...this.data, colour: name };
    this.recolour();
  }

  recolour() {
    const { model, data } = this;
    this.colouring.take(data, model).then(() => this.model === model && this.repaint(), (error) => this.say(error.message));
  }

  setSpotlight(c) {
    this.pointing.spotlight = c;
    this.repaint();
  }

  // ---- showing

  /** Colours, selection or hidden classes have changed. */
  repaint() {
    const { model, theme, scene } = this;
    this.colours = classColours(model.classes.length, theme.dark);
    const spotlight = model.hidden.has(this.pointing.spotlight) ? null : this.pointing.spotlight;
    const { colours, markers: shapes } = this;
    if (scene.frame) scene.usable = model.usable(scene.frame.present);
    scene.setPaint(paintPoints({ model, colours, theme, shapes, colour: this.colouring.name, spotlight }), theme.background);
    this.counted = null;
    this.changed();
  }

  /** Bring everything around the points up to date. */
  changed() {
    if (!this.theme || this.gone) return;
    report(this);
    this.scene.invalidate();
  }

  summary() {
    const present = this.scene.frame?.count ?? 0;
    return summary({ model: this.model, present, timeline: this.playback.timeline, entry: this.playback.shown });
  }

  say(text) {
    this.trouble = text;
    this.changed();
  }

  /** Where item i is in the window now: [x, y], for tests in a browser. */
  clientOf(i) {
    const box = this.overlay.getBoundingClientRect();
    const [x, y] = this.scene.screenOf(i);
    return [box.left + x, box.top + y];
  }

  destroy() {
    this.gone = true;
    keep(this);
    tellSelection(null);
    this.leaving.know(null);
    this.unlisten();
    this.observer.disconnect();
    this.offs.forEach((off) => off());
    this.link.destroy();
    this.playback.leave();
    this.intake.leave?.();
    this.pointing.destroy();
    this.announcer.destroy();
    this.scene.destroy();
    this.root.remove();
    this.style.remove();
  }
}

