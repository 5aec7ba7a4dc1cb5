// @ts-nocheck
// Everything that lies over the points, composed for one moment.
import * as overlay from "./overlay.ts";
import { classCentres } from "../math/centroids.ts";
import { wrongColour } from "./pointColors.ts";
import { tellRanks } from "../data/mapRanks.ts";
import { drawSpace } from "./spaceOverlay.ts";
import { drawThumbnails, LEAST_ZOOM, thumbnailSize } from "./thumbnails.ts";
import { Trails } from "./trails.ts";
import { hermite } from "../math/tween.ts";

const NAMES_APART = 36; // pixels that the classes must span to be named
const LANDING = 0.32; // seconds in which a query's star lands

const spanOf = (values) => Math.max(...values) - Math.min(...values);

export class Picture {
  constructor(view) {
    this.view = view;
    this.thumbnail = 0; // side of the pictures on the stage, 0 while there are none
    this.drawn = new Set(); // items drawn as pictures
    this.centres = null;
    this.trails = new Trails(view);
  }

  paintOver(context, scene) {
    const { view } = this;
    this.trails.draw(context, scene);
    drawSpace(context, view, scene);
    this.pictures(context, scene);
    if (view.names) this.classNames(context, scene);
    if (view.model.pinned !== null) this.pin(context, scene);
    this.query(context, scene);
    this.hover(context, scene);
    overlay.drawLasso(context, view.pointing.path, view.theme);
    tellRanks(view);
    return this.drawn.size > 0;
  }

  pictures(context, scene) {
    const { view } = this;
    this.thumbnail = 0;
    this.drawn.clear();
    const zoom = scene.zoomed;
    if (!view.sprites || zoom < LEAST_ZOOM) return;
    const { width, height } = scene.port;
    const places = scene.places();
    const items = [];
    const at = [];
    const { k, x: cx, y: cy } = scene.view;
    for (let i = 0; i < view.model.n; i++) {
      if (!scene.usable[i]) continue;
      const x = (places[2 * i] - cx) * k + width / 2;
      const y = height / 2 - (places[2 * i + 1] - cy) * k;
      if (x < -40 || y < -40 || x > width + 40 || y > height + 40) continue;
      items.push(i);
      at.push(x, y);
    }
    this.thumbnail = thumbnailSize(zoom, items.length, view.sprites.layout.tile);
    if (!this.thumbnail) return;
    const { model, colours } = view;
    const alphaOf = (i) => (model.selected && !model.selected[i] ? 0.3 : 1);
    const frameOf = (i) => colours[model.labels[i]];
    for (const i of drawThumbnails(context, view.sprites, items, at, this.thumbnail, frameOf, alphaOf)) this.drawn.add(i);
  }

  classNames(context, scene) {
    const { view } = this;
    const { tween } = scene;
    if (this.centres?.tween !== tween || this.centres.model !== view.model) {
      this.centres = { tween, model: view.model, all: classCentres(view.model, tween) };
    }
    if (this.thumbnail) return;
    const weights = scene.tween.moves ? hermite(Math.min(1, scene.t)) : [0, 1, 0, 0];
    const centres = this.centres.all.map(({ at, clear }, c) => ({
      clear: view.model.hidden.has(c) ? 0 : clear,
      position: [0, 1].map((axis) => at.reduce((sum, place, s) => sum + weights[s] * place[axis], 0)),
    }));
    // Where all classes are one spot, a name would only hide it.
    const shown = centres.filter(({ clear }) => clear > 0).map(({ position }) => scene.toScreen(position));
    const apart = [0, 1].map((axis) => spanOf(shown.map((place) => place[axis])));
    if (shown.length > 2 && Math.max(...apart) < NAMES_APART) return;
    overlay.drawNames(context, centres, view.model.classes, view.colours, view.theme, scene.toScreen);
  }

  /** Make an item stand out: drawn again larger with a ring about it; a picture gets a second frame. */
  single(context, scene, item, place, { colour = this.view.theme.text, grow = 1, clear = 3.5, width = 1.75, dashed = false } = {}) {
    const { model, theme, colours } = this.view;
    if (this.drawn.has(item)) return overlay.drawFrame(context, place, this.thumbnail / 2 + 2 + width, colour, theme, width + 0.75);
    const radius = scene.look.radius;
    if (!dashed) overlay.drawDisc(context, place, radius + grow, colours[model.labels[item]]);
    overlay.drawRing(context, place, Math.max(radius + clear, clear + 2.5), colour, theme, { width, dashed });
  }

  /** Rings and links from a place to neighbours; those of hidden classes are dashed, those without a place left out. */
  links(context, scene, from, neighbours, colourOf) {
    const { model, theme } = this.view;
    const there = neighbours.filter(({ item }) => scene.frame.present[item]);
    const ends = there.map(({ item }) => ({ item, to: scene.screenOf(item), colour: colourOf(item), dashed: !model.shows(item) }));
    overlay.drawLinks(context, from, ends, theme);
    for (const { item, to, colour, dashed } of ends) this.single(context, scene, item, to, { colour, dashed, width: 1.5 });
  }

  pin(context, scene) {
    const { model, theme } = this.view;
    const item = model.pinned;
    if (!scene.frame.present[item]) return;
    const from = scene.screenOf(item);
    const right = (other) => (model.labels[other] === model.labels[item] ? theme.text : wrongColour(theme));
    this.links(context, scene, from, model.neighbours, right);
    this.single(context, scene, item, from, { grow: 2, clear: 6, width: 2.25, dashed: !model.shows(item) });
  }

  query(context, scene) {
    const { star, theme, playback, still } = this.view;
    const place = star.at(scene.tween.moves ? scene.t : 1);
    if (!place) return;
    const from = scene.toScreen(place);
    // Only frames on a common basis make a way of its places.
    const trail = playback.common ? star.trail(playback.entries, playback.shown) : [];
    overlay.drawTrail(context, trail.map(scene.toScreen), theme);
    this.links(context, scene, from, star.query.neighbours ?? [], () => theme.primary);
    if (star.age < 1 && !still) {
      star.age = Math.min(1, star.age + 1 / 60 / LANDING);
      scene.invalidate();
    }
    overlay.drawStar(context, from, theme, 1 + 0.9 * (1 - star.age) ** 2);
  }

  hover(context, scene) {
    const { view } = this;
    const { hovered, carded } = view.pointing;
    const item = hovered ?? carded;
    if (item === null || !scene.usable[item]) return view.card.hide();
    const place = scene.screenOf(item);
    if (hovered !== null) this.single(context, scene, item, place, { grow: 1.5 });
    if (carded !== item) return;
    const [x, y] = place;
    const { model, sprites, colours } = view;
    view.card.show({ item, model, sprites, colours, x, y, port: scene.port });
  }
}
