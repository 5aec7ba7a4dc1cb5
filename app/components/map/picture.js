// Everything that lies over the points, composed for one moment.
import * as overlay from "./overlay.js";
import { classCentres } from "./centroids.js";
import { wrongColour } from "./paint.js";
import { drawThumbnails, thumbnailSize } from "./thumbnails.js";
import { hermite } from "./tween.js";

const LANDING = 0.32; // seconds in which a query's star lands

export class Picture {
  constructor(view) {
    this.view = view;
    this.thumbnail = 0;
    this.centres = null;
  }

  paintOver(context, scene) {
    const { view } = this;
    this.pictures(context, scene);
    if (view.names) this.classNames(context, scene);
    if (view.model.pinned !== null) this.pin(context, scene);
    this.query(context, scene);
    this.hover(context, scene);
    overlay.drawLasso(context, view.pointing.path, view.theme);
  }

  pictures(context, scene) {
    const { view } = this;
    this.thumbnail = 0;
    const zoom = scene.zoomed;
    if (!view.sprites || zoom < 2.5) return;
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
    drawThumbnails(context, view.sprites, items, at, this.thumbnail, (i) => colours[model.labels[i]], alphaOf);
  }

  classNames(context, scene) {
    const { view } = this;
    if (this.centres?.tween !== scene.tween) this.centres = { tween: scene.tween, all: classCentres(view.model, scene.tween) };
    if (this.thumbnail) return;
    const weights = scene.tween.moves ? hermite(Math.min(1, scene.t)) : [0, 1, 0, 0];
    const centres = this.centres.all.map(({ at, clear }, c) => ({
      clear: view.model.hidden.has(c) ? 0 : clear,
      position: [0, 1].map((axis) => at.reduce((sum, place, s) => sum + weights[s] * place[axis], 0)),
    }));
    overlay.drawNames(context, centres, view.model.classes, view.colours, view.theme, scene.toScreen);
  }

  // A ring that stands clear of the point or of its picture.
  ring(scene) {
    return Math.max(scene.look.radius + 3.5, 6);
  }

  /** Rings and links from a place to neighbours; those of hidden classes are dashed, those without a place left out. */
  links(context, scene, from, neighbours, colourOf) {
    const { model, theme } = this.view;
    const there = neighbours.filter(({ item }) => scene.frame.present[item]);
    const ends = there.map(({ item }) => ({ item, to: scene.screenOf(item), colour: colourOf(item), dashed: !model.shows(item) }));
    overlay.drawLinks(context, from, ends, theme);
    for (const { item, to, colour, dashed } of ends) {
      if (!dashed) overlay.drawDisc(context, to, scene.look.radius + 1, this.view.colours[model.labels[item]]);
      overlay.drawRing(context, to, this.ring(scene), colour, theme, { width: 1.5, dashed });
    }
  }

  pin(context, scene) {
    const { model, theme, colours } = this.view;
    const item = model.pinned;
    if (!scene.frame.present[item]) return;
    const from = scene.screenOf(item);
    const right = (other) => (model.labels[other] === model.labels[item] ? theme.text : wrongColour(theme));
    this.links(context, scene, from, model.neighbours, right);
    overlay.drawDisc(context, from, scene.look.radius + 2, colours[model.labels[item]]);
    overlay.drawRing(context, from, this.ring(scene) + 3, theme.text, theme, { width: 2.25 });
  }

  query(context, scene) {
    const { star, theme, playback, still } = this.view;
    const place = star.at(scene.tween.moves ? scene.t : 1);
    if (!place) return;
    const from = scene.toScreen(place);
    overlay.drawTrail(context, star.trail(playback.entries, playback.shown).map(scene.toScreen), theme);
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
    if (hovered !== null) {
      overlay.drawDisc(context, place, scene.look.radius + 1.5, view.colours[view.model.labels[item]]);
      overlay.drawRing(context, place, this.ring(scene), view.theme.text, view.theme);
    }
    if (carded !== item) return;
    const [x, y] = place;
    const { model, sprites, colours } = view;
    view.card.show({ item, model, sprites, colours, x, y, port: scene.port });
  }
}
