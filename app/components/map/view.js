// One map: its elements, what Python sent, what the person does, put together.
import { bus, page } from "../shared/bus.js";
import { classColours } from "../shared/palette.js";
import { Sprites } from "../shared/sprites.js";
import { stream } from "../shared/stream.js";
import { readTheme } from "../shared/theme.js";
import { Announcer, HELP, pinned, summary } from "./announce.js";
import { unpackBits } from "./bits.js";
import { Card } from "./card.js";
import { element, mark } from "./dom.js";
import { listen } from "./gestures.js";
import { meaningOf } from "./keys.js";
import { Legend } from "./legend.js";
import { Model } from "./model.js";
import { paintPoints } from "./paint.js";
import { Picture } from "./picture.js";
import { Playback } from "./playback.js";
import { PlayerBar } from "./playerbar.js";
import { Pointing } from "./pointing.js";
import { Scene } from "./scene.js";
import { loadLabels, loadNearest, loadWatched } from "./sources.js";
import { QueryStar } from "./star.js";
import { statusOf } from "./status.js";
import { Toolbar } from "./toolbar.js";

const WIDE = 620; // pixels from which the legend stands beside the points
let instances = 0;

export class MapView {
  constructor(parent, name, data) {
    this.id = ++instances;
    this.data = data;
    this.mode = "pan";
    this.markers = false;
    this.names = true;
    this.model = new Model([], null, 0);
    this.adopted = {};
    this.build(parent, name);
    this.star = new QueryStar();
    this.picture = new Picture(this);
    this.scene = new Scene({
      points: this.pointsCanvas,
      overlay: this.overlay,
      renderer: data.renderer,
      paintOver: (context, scene) => this.picture.paintOver(context, scene),
      onFrame: (seconds) => this.playback.tick(seconds),
    });
    this.pointing = new Pointing(this);
    this.playback = new Playback(this.scene, {
      change: () => this.changed(),
      frame: (a, b) => this.star.move(a, b, this.scene.t),
      ended: (state) => this.setTrigger?.("ended", state),
      trouble: (error) => this.say(error.message),
    }, () => this.theme.still);
    this.connect();
  }

  get thumbnail() {
    return this.picture.thumbnail;
  }

  // ---- elements

  build(parent, name) {
    page.mounts[name] = (page.mounts[name] ?? 0) + 1;
    this.pointsCanvas = element("canvas", { class: "points" });
    this.overlay = element("canvas", {
      class: "overlay",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "scatter map",
      "aria-describedby": `help-${this.id}`,
    });
    const act = (action) => (...rest) => this.act(action, ...rest);
    this.legend = new Legend({
      toggle: (c) => this.filter(() => this.model.toggleClass(c)),
      solo: (c) => this.filter(() => this.model.soloClass(c)),
      spotlight: (c) => this.setSpotlight(c),
    });
    this.toolbar = new Toolbar({
      mode: act("mode"), home: act("home"), markers: act("markers"), names: act("names"), fullscreen: act("fullscreen"),
    });
    this.card = new Card();
    this.caption = element("div", { class: "caption" });
    this.status = element("div", { class: "status" });
    this.bar = new PlayerBar({
      play: act("play"),
      step: act("step"),
      seek: (index) => this.playback.seek(index),
      speed: () => {
        this.playback.player.faster();
        this.changed();
      },
    });
    this.announcer = new Announcer();
    this.stage = element(
      "div", { class: "stage" },
      this.pointsCanvas, this.overlay, this.legend.node, this.toolbar.node, this.caption, this.status, this.card.node,
    );
    const help = element("div", { class: "spoken", id: `help-${this.id}` }, HELP);
    this.root = element(
      "div",
      { class: "map", "data-ready": "false", "data-mounts": page.mounts[name] },
      this.stage, this.bar.node, this.announcer.node, help,
    );
    this.root.map = this; // for tests in a browser: root.map.clientOf(item)
    const style = element("link", { rel: "stylesheet", href: new URL("map.css", import.meta.url).href });
    style.addEventListener("load", () => this.measure());
    parent.append(style, this.root);
    this.style = style;
  }

  connect() {
    this.unlisten = listen(this.overlay, () => this.mode, {
      pan: (dx, dy) => this.scene.pan(dx, dy),
      zoom: (factor, x, y, gliding) => this.scene.zoom(factor, x, y, gliding && !this.theme.still),
      hover: (x, y) => this.pointing.hover(x, y),
      leave: () => this.pointing.leave(),
      click: (x, y, event) => this.pointing.click(x, y, event),
      home: () => this.scene.goHome(),
      lasso: (path) => this.pointing.lasso(path),
      lassoEnd: (path, box, event) => this.pointing.lassoEnd(path, box, event),
    });
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(this.stage);
    const elsewhere = (detail) => detail.source !== this && detail.run === this.data.run;
    this.offs = [
      bus.on("hover", (detail) => elsewhere(detail) && this.pointing.setHovered(detail.item, true)),
      bus.on("seek", (detail) => elsewhere(detail) && this.playback.seekStep(detail.step)),
    ];
  }

  measure() {
    const { width, height } = this.stage.getBoundingClientRect();
    const wide = width >= WIDE;
    this.root.classList.toggle("narrow", !wide);
    const legend = this.legend.node;
    const insets = wide
      ? { left: legend.offsetWidth + 24, right: 26, top: 26, bottom: 30 }
      : { left: 18, right: 18, top: 50, bottom: legend.offsetHeight + 22 };
    this.scene.resize(width, height, insets);
    if (this.theme) this.bar.update(this.playback.timeline, this.playback.player, this.theme);
  }

  // ---- from Python

  /** Take what Python sent: everything is compared with what is shown, nothing is built anew. */
  update({ data, setStateValue, setTriggerValue }) {
    this.setState = setStateValue;
    this.setTrigger = setTriggerValue;
    const before = this.first ? {} : this.data;
    this.data = data;
    this.readTheme();
    const height = typeof data.height === "number" ? `${data.height}px` : data.height === "fill" ? "100%" : "";
    if (this.root.style.height !== height) this.root.style.height = height;
    const other = (...names) => this.first !== false || names.some((name) => data[name] !== before[name]);
    if (other("dataset", "labels_url", "n")) this.meetItems();
    if (other("nearest_url")) this.meetNearest();
    if (other("run", "view", "watched_url")) this.followData();
    this.first = false;
    if (data.fallback) stream.feed({ run: data.run, pid: this.pid, ...data.fallback });
    this.adopt();
  }

  get pid() {
    return !this.data.view || this.data.view === "live" ? null : this.data.view;
  }

  readTheme() {
    this.theme = readTheme(this.stage);
    this.root.classList.toggle("dark", this.theme.dark);
  }

  // Other items: everything the person did belongs to the old ones.
  meetItems() {
    const { data } = this;
    const classes = (data.classes ?? []).map(String);
    this.model = new Model(classes, null, data.n);
    this.adopted = {};
    this.scene.setModel(this.model);
    this.playback.shown = null;
    this.sprites = data.sprites?.urls?.length ? new Sprites(data.sprites, () => this.scene.invalidate()) : null;
    this.legend.setClasses(classes);
    this.labelled = loadLabels(data).then((labels) => {
      if (labels.length < data.n) throw new Error(`the labels are ${labels.length}; the map has ${data.n} items`);
      return labels;
    });
  }

  meetNearest() {
    const { data, model } = this;
    model.nearest = null;
    loadNearest(data, data.n).then((nearest) => {
      if (this.model !== model || this.data.nearest_url !== data.nearest_url) return;
      model.nearest = nearest;
      this.card.refresh();
      if (this.labels) this.repaint();
    }, (error) => this.say(error.message));
  }

  async followData() {
    const { data, model, labelled, pid } = this;
    const token = (this.following = {});
    try {
      const [labels, watched] = await Promise.all([labelled, loadWatched(data)]);
      if (this.following !== token) return;
      model.labels = labels;
      this.scene.automatic = true;
      this.repaint();
      const base = data.api ?? "/api";
      const at = pid ? `${data.run}/${pid}` : data.run;
      this.playback.follow({
        run: data.run,
        pid,
        url: data.frames_url ?? `${base}/frames/${at}/{id}.i16`,
        watched,
        total: data.n,
        running: data.running ?? Boolean(data.events_url && !data.autoplay),
        autoplay: data.autoplay,
        step: data.step,
      });
      this.listenToServer();
    } catch (error) {
      this.say(error.message);
    }
  }

  listenToServer() {
    const { data, pid } = this;
    if (data.fallback || !data.events_url) return;
    const own = pid && !data.events_url.includes(pid);
    const url = own ? data.events_url.replace(/\/events(?=$|\?)/, `/projections/${pid}/events`) : data.events_url;
    if (this.open && this.open.run !== data.run) stream.close(this.open.run, this.open.pid);
    this.open = { run: data.run, pid };
    stream.open({ run: data.run, pid, events_url: url });
    stream.probe(`${data.api ?? "/api"}/health`).then((here) => {
      if (here || this.gone) return;
      stream.close(data.run, pid);
      this.setState("routes", "blocked");
    });
  }

  // Values that the person changes here and Python may change too: taken when Python's has changed.
  adopt() {
    const { data, model, adopted } = this;
    const changed = (name) => {
      const now = JSON.stringify(data[name] ?? null);
      const is = now !== (adopted[name] ?? "null");
      adopted[name] = now;
      return is;
    };
    if (changed("pinned")) model.pinned = data.pinned ?? null;
    changed("neighbours");
    if ((data.pinned ?? null) === model.pinned) model.neighbours = data.neighbours ?? [];
    if (changed("selected")) model.selected = data.selected ? unpackBits(data.selected.bits ?? data.selected, model.n) : null;
    if (changed("step") && data.step !== undefined && data.step !== null) this.playback.seekStep(data.step);
    if (this.star.set(data.query ?? null, this.playback.shown, this.theme.still)) this.scene.invalidate();
    this.card.refresh();
    this.announcer.say(pinned(model) || this.summary());
    this.repaint();
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
    switch (action) {
      case "mode": this.mode = argument; break;
      case "markers": this.markers = !this.markers; return this.repaint();
      case "names": this.names = !this.names; break;
      case "home": return scene.goHome();
      case "zoom": return scene.zoom(argument, scene.port.width / 2, scene.port.height / 2, !this.theme.still);
      case "play": return playback.toggle();
      case "step": return playback.step(argument);
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
    const { colours, markers: shapes, data } = this;
    if (scene.frame) scene.usable = model.usable(scene.frame.present);
    scene.setPaint(paintPoints({ model, colours, theme, shapes, colour: data.colour, spotlight }), theme.background);
    this.counted = null;
    this.changed();
  }

  /** Bring everything around the points up to date. */
  changed() {
    const { model, scene, playback, theme, data, root } = this;
    if (!theme || this.gone) return;
    const present = scene.frame?.present ?? new Uint8Array(model.n);
    if (this.counted?.present !== present || this.counted.model !== model) {
      this.counted = { present, model, ...model.counts(present) };
      const [shapes, colours] = [this.markers, this.colours];
      this.legend.update({ model, counts: this.counted, colours, shapes, theme });
    }
    this.toolbar.update(this);
    this.bar.update(playback.timeline, playback.player, theme);
    const visible = scene.frame ? scene.usable.reduce((a, b) => a + b, 0) : 0;
    const [quiet, note] = statusOf(this, visible);
    this.caption.textContent = quiet;
    this.status.textContent = note;
    mark(this.overlay, "aria-label", this.summary());
    const index = Math.floor(playback.player.head);
    const attributes = {
      ready: scene.frame !== null, run: data.run, view: this.pid ?? "live", frame: index,
      step: playback.shown?.step ?? "", points: visible, pinned: model.pinned ?? "", playing: playback.player.playing,
      selected: model.selected ? model.selected.reduce((a, b) => a + b, 0) : 0, renderer: scene.renderer.kind,
      state: playback.timeline.state, mode: this.mode,
    };
    for (const [name, value] of Object.entries(attributes)) mark(root, `data-${name}`, value);
    this.tellFrame(index);
    scene.invalidate();
  }

  tellFrame(index) {
    const { playback, data } = this;
    const { playing } = playback.player;
    const key = `${data.run} ${this.pid} ${index} ${playback.shown?.step} ${playing}`;
    if (key === this.told || !playback.shown) return;
    this.told = key;
    bus.emit("frame", {
      run: data.run, view: this.pid ?? "live", index, count: playback.entries.length, step: playback.shown.step,
      playing, source: this,
    });
    if (!playing) this.announcer.say(this.summary());
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
    this.unlisten();
    this.observer.disconnect();
    this.offs.forEach((off) => off());
    this.playback.leave();
    this.pointing.destroy();
    this.announcer.destroy();
    this.scene.destroy();
    this.root.remove();
    this.style.remove();
  }
}

