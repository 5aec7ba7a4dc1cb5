// Everything that lies over the points, composed for one moment.
import { MANY_KEPT, MANY_NEW } from "../../lib/bus.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { momentOf } from "../../lib/neighbors.ts";
import type { Rgb } from "../../lib/theme.ts";
import type { NeighborLink } from "../data/model.ts";
import type { Asked, ContourState, MapState } from "../data/state.ts";
import type { Point } from "../math/camera.ts";
import { type ClassCenter, classCenters } from "../math/namePlaces.ts";
import type { Orbit } from "../math/orbit.ts";
import type { QueryMarker } from "../math/queryMarker.ts";
import { hermite, type PlacedFrame, type Tween } from "../math/tween.ts";
import { Density } from "./density.ts";
import { pictureOrder, drawThumbnails, MIN_ZOOM, thumbnailSize } from "./thumbnails.ts";
import type { Replay } from "./replay.ts";
import * as overlay from "./overlay.ts";
import { errorColor } from "./pointColors.ts";
import type { Scene } from "./scene.ts";
import { drawSpace, geodesic } from "./spaceOverlay.ts";
import { TrainPointsLoader } from "../data/trainPoints.ts";
import { Trails } from "./trails.ts";
import { drawTrainPoints } from "./trainOverlay.ts";

const NEAR_PX = 12; // beyond the stage's edge, where half of a point is still seen

/** True if a person looks where none of the points is, which stand still. It looks through them until one is seen. */
export function isAstray({ camera, tween, t, settled, usable, port }: Scene): boolean {
  const { view } = camera;
  if (camera.automatic || !view || !tween || !settled || !port.width) return false;
  const [x, y] = [(port.width / 2 + NEAR_PX) / view.k, (port.height / 2 + NEAR_PX) / view.k];
  const places = tween.moves && t < 1 ? tween.p0 : tween.p1;
  for (let i = 0; i < usable.length; i++) {
    if (usable[i] && Math.abs(places[2 * i] - view.x) < x && Math.abs(places[2 * i + 1] - view.y) < y) return false;
  }
  return usable.some(Boolean);
}

const NAMES_APART = 36; // pixels that the classes must span to be named
const [APART, KEPT_APART] = [7, 16]; // pixels between the marks of many, so that the points below stay in sight
const STAR_ANIMATION_S = 0.32;

const spanOf = (values: number[]) => maxOf(values) - minOf(values);

/** The target of the pointer. */
export interface Pointed {
  hovered: number | null;
  /** The item whose card is shown. */
  card: number | null;
  /** The kept picture under the pointer. */
  kept: number | null;
}

export interface OverlayParts {
  state: MapState;
  playback: Replay;
  marker: QueryMarker;
  orbit: Orbit;
  pointed: () => Pointed;
  /** The lasso or box while it is drawn. */
  lasso: () => readonly number[];
  /** Show the card of an item at its place, or (null) none. */
  card: (item: number | null, place: Point) => void;
  /** The place that a person asks about. */
  asked: () => Asked | null;
  /** Show the card of such a place, and where its mixture lands if it does; or (null) none. */
  askedCard: (asked: Asked | null, place: Point, landed: Point | null) => void;
  /** Training images have come, or cannot be had. */
  refresh: () => void;
}

type Context = CanvasRenderingContext2D;

export class OverlayRenderer {
  /** The side of the pictures on the stage; 0 while there are none. */
  thumbnail = 0;
  /** Items drawn as pictures. */
  readonly pictures = new Set<number>();
  private centers: { tween: Tween; usable: Uint8Array; of: Uint16Array; all: ClassCenter[] } | null = null;
  private order: { frame: PlacedFrame | null; usable: Uint8Array; of: Uint32Array } | null = null;
  private trails: Trails;
  private density = new Density();
  private trainPoints: TrainPointsLoader | null = null;

  constructor(private parts: OverlayParts) {
    this.trails = new Trails(parts.state, parts.playback);
  }

  /** Draw all of it, and on `ground` what lies below the points; says whether there are pictures among it. */
  draw(context: Context, ground: Context, scene: Scene): boolean {
    const { state, playback, orbit, lasso } = this.parts;
    this.tell("contours", this.drawDensity(context, scene));
    this.tell("astray", isAstray(scene));
    this.trails.draw(context, scene);
    drawSpace(context, ground, state, playback, orbit, scene);
    this.trainPoints ??= new TrainPointsLoader(state, this.parts.refresh);
    const count = drawTrainPoints(context, state, this.trainPoints, playback, orbit, scene);
    this.tell("trained", count);
    this.drawPictures(context, scene);
    this.drawNewBatch(context, scene);
    if (state.names) this.drawNames(context, scene);
    if (state.model.pinned !== null) this.drawPin(context, scene, state.model.pinned);
    this.drawGallery(context, scene);
    this.drawQuery(context, scene);
    this.drawHere(context, scene);
    this.drawHover(context, scene);
    overlay.drawLasso(context, lasso(), state.theme);
    return this.pictures.size > 0;
  }

  /** Set the content of the caption. */
  private tell<K extends "contours" | "astray" | "trained">(name: K, value: MapState[K]): void {
    const { state, refresh } = this.parts;
    if (state[name] === value) return;
    state[name] = value;
    queueMicrotask(refresh);
  }

  private drawDensity(context: Context, scene: Scene): ContourState {
    const { state, playback } = this.parts;
    if (!state.density || !scene.frame) {
      this.density.stop();
      return "";
    }
    return this.density.draw(context, scene, state.model, state.colors, state.theme, playback.player.playing);
  }

  private drawPictures(context: Context, scene: Scene): void {
    const { model, colors, sprites, pictures } = this.parts.state;
    this.thumbnail = 0;
    this.pictures.clear();
    const zoom = scene.camera.zoomed;
    if (!sprites || (zoom < MIN_ZOOM && !pictures)) return;
    const { width, height } = scene.port;
    const places = scene.places();
    const items: number[] = [];
    const at: number[] = [];
    const { k, x: cx, y: cy } = scene.view;
    for (const i of this.orderOf(scene, places)) {
      if (!scene.usable[i]) continue;
      const x = (places[2 * i] - cx) * k + width / 2;
      const y = height / 2 - (places[2 * i + 1] - cy) * k;
      if (x < -40 || y < -40 || x > width + 40 || y > height + 40) continue;
      items.push(i);
      at.push(x, y);
    }
    this.thumbnail = thumbnailSize(zoom, items.length, sprites.layout.tile, pictures);
    if (!this.thumbnail) return;
    const alphaOf = (i: number) => (model.selected && !model.selected[i] ? 0.3 : 1);
    const frameOf = (i: number) => colors[model.groupIds[i]];
    for (const i of drawThumbnails(context, sprites, items, at, this.thumbnail, frameOf, alphaOf)) this.pictures.add(i);
  }

  /** Items by their claim to room; while points move, as it was before. */
  private orderOf(scene: Scene, places: Float32Array): Uint32Array {
    const { frame, usable } = scene;
    const fits = this.order?.of.length === usable.length;
    if (!this.order || !fits || (scene.settled && (this.order.frame !== frame || this.order.usable !== usable))) {
      this.order = { frame, usable, of: pictureOrder(places, usable) };
    }
    return this.order.of;
  }

  private drawNames(context: Context, scene: Scene): void {
    const { model, colors, theme } = this.parts.state;
    const { tween, usable } = scene;
    if (!tween) return;
    if (this.centers?.tween !== tween || this.centers.usable !== usable || this.centers.of !== model.groupIds) {
      this.centers = { tween, usable, of: model.groupIds, all: classCenters(model, tween, usable) };
    }
    if (this.thumbnail) return;
    const weights = tween.moves ? hermite(Math.min(1, scene.t)) : [0, 1, 0, 0];
    const along = (at: Point[], axis: 0 | 1) => at.reduce((sum, place, part) => sum + weights[part] * place[axis], 0);
    const centers = this.centers.all.map(({ at, clear, spread }) => ({
      clear,
      spread,
      position: [along(at, 0), along(at, 1)] as Point,
    }));
    // If all classes are one spot, a name would only hide it.
    const places = centers.filter(({ clear }) => clear > 0).map(({ position }) => scene.toScreen(position));
    const apart = [spanOf(places.map(([x]) => x)), spanOf(places.map(([, y]) => y))];
    if (places.length > 2 && maxOf(apart) < NAMES_APART) return;
    overlay.drawNames(context, centers, model.groups, colors, theme, scene.toScreen, scene.port.width);
  }

  /** Make an item stand out: drawn again larger with a ring about it; a picture gets a second frame. */
  private drawHighlight(
    context: Context,
    scene: Scene,
    item: number,
    place: Point,
    {
      color = this.parts.state.theme.text,
      grow = 1,
      clear = 3.5,
      width = 1.75,
      dashed = false,
    }: { color?: Rgb; grow?: number; clear?: number; width?: number; dashed?: boolean } = {},
  ): void {
    const { model, theme, colors } = this.parts.state;
    if (this.pictures.has(item)) {
      overlay.drawFrame(context, place, this.thumbnail / 2 + 2 + width, color, theme, width + 0.75);
      return;
    }
    const { radius } = scene.style;
    if (!dashed) overlay.drawDisc(context, place, radius + grow, colors[model.groupIds[item]]);
    overlay.drawRing(context, place, Math.max(radius + clear, clear + 2.5), color, theme, { width, dashed });
  }

  /**
   * Rings and links from a place to neighbors; those of hidden classes are dashed, those without a place left out.
   * `solid` is the place in three dimensions.
   */
  private drawLinks(
    context: Context,
    scene: Scene,
    from: Point,
    neighbors: NeighborLink[],
    colorOf: (item: number) => Rgb,
    solid: ArrayLike<number> | null = null,
  ): void {
    const { orbit, state } = this.parts;
    const { model, theme, data } = state;
    const { kind, radius = 1 } = data.picture?.space ?? {};
    const { xyz, pivot } = scene.frame ?? {};
    const wayTo = (item: number) => {
      if (kind === "disk")
        return geodesic(scene.toWorld(...from), scene.worldOf(item), radius).map((point) =>
          scene.toScreen(point as Point),
        );
      if (kind !== "ball" || !xyz || solid?.length !== 3) return undefined;
      const way = geodesic(Array.from(solid), [...xyz.subarray(3 * item, 3 * item + 3)], radius);
      return way.map((point) => scene.toScreen(orbit.toPlane(point, pivot)));
    };
    const ends = neighbors
      .filter(({ item }) => scene.frame?.present[item])
      .map(({ item }) => ({
        item,
        to: scene.screenOf(item),
        color: colorOf(item),
        dashed: !model.isVisible(item),
        way: wayTo(item),
      }));
    overlay.drawLinks(context, from, ends, theme);
    for (const { item, to, color, dashed } of ends)
      this.drawHighlight(context, scene, item, to, { color, dashed, width: 1.5 });
  }

  private drawPin(context: Context, scene: Scene, item: number): void {
    const { model, theme } = this.parts.state;
    if (!scene.frame?.present[item]) return;
    const from = scene.screenOf(item);
    const right = (other: number) => (model.labels[other] === model.labels[item] ? theme.text : errorColor(theme));
    const solid = scene.frame.xyz?.subarray(3 * item, 3 * item + 3);
    this.drawLinks(context, scene, from, model.neighbors, right, solid);
    this.drawHighlight(context, scene, item, from, { grow: 2, clear: 6, width: 2.25, dashed: !model.isVisible(item) });
  }

  private drawGallery(context: Context, scene: Scene): void {
    const { state, pointed } = this.parts;
    const places = this.galleryPlaces(scene);
    const { kept } = pointed();
    const reach = places.length > MANY_KEPT ? 4 : 7;
    const marks = this.sparse(scene, places, MANY_KEPT, KEPT_APART).map(([, place]) => place);
    if (marks.length) overlay.drawDiamonds(context, marks, state.theme, reach);
    if (kept === null || !places[kept]) return;
    const { names } = state.gallery!; // on some maps only the newest have a place
    overlay.drawDiamonds(context, [places[kept]], state.theme, reach + 2, names[names.length - places.length + kept]);
  }

  /** Where the kept pictures are on the stage: at the end of the run, where the map stands still. */
  galleryPlaces(scene: Scene): Point[] {
    const { gallery, data } = this.parts.state;
    return this.atEnd(scene, gallery?.run === data.run ? (gallery.places[data.view] ?? []) : []);
  }

  /** True where the map stands at the end of its run. */
  get isAtEnd(): boolean {
    const { state, playback } = this.parts;
    const entry = playback.shown;
    return Boolean(entry && !entry.provisional && !entry.own && momentOf(state.data.run) === null);
  }

  private atEnd(scene: Scene, places: number[][]): Point[] {
    const { orbit } = this.parts;
    if (!this.isAtEnd) return [];
    return places.map((place) => scene.toScreen(orbit.toPlane(place, scene.frame?.pivot)));
  }

  /** Where the new images over the map are on the stage. */
  newBatchPlaces(scene: Scene): Point[] {
    const { newBatch, data } = this.parts.state;
    return this.atEnd(scene, newBatch?.run === data.run && newBatch.view === data.view ? newBatch.places : []);
  }

  private drawNewBatch(context: Context, scene: Scene): void {
    const { newBatch, colors, theme } = this.parts.state;
    const places = this.newBatchPlaces(scene);
    const areMany = places.length > MANY_NEW;
    for (const [i, place] of this.sparse(scene, places, MANY_NEW, APART))
      overlay.drawCross(context, place, colors[newBatch?.labels?.[i] ?? -1] ?? theme.text, theme, areMany);
  }

  /** The marks to draw, with their numbers: of more than `most` the last in each square of a side, the same wherever the map is moved. */
  private sparse(scene: Scene, places: Point[], most: number, side: number): [number, Point][] {
    const all = [...places.entries()];
    if (all.length <= most) return all;
    const [left, top] = scene.toScreen([0, 0]);
    const cellOf = ([x, y]: Point) => Math.floor((x - left) / side) * 65_536 + Math.floor((y - top) / side);
    return [...new Map(all.map((mark) => [cellOf(mark[1]), mark])).values()];
  }

  private drawQuery(context: Context, scene: Scene): void {
    const {
      marker,
      playback,
      state: { theme },
    } = this.parts;
    const place = marker.at(scene.tween?.moves ? scene.t : 1);
    if (!place) return;
    const from = scene.toScreen(place);
    // Only frames on a common basis make a way of its places.
    const trail = playback.sharesBasis ? marker.trail(playback.entries, playback.shown) : [];
    overlay.drawTrail(context, trail.map(scene.toScreen), theme);
    this.drawLinks(context, scene, from, marker.query?.neighbors ?? [], () => theme.primary, marker.to);
    if (marker.age < 1 && !theme.still) {
      marker.age = Math.min(1, marker.age + 1 / 60 / STAR_ANIMATION_S);
      scene.invalidate();
    }
    overlay.drawStar(context, from, theme, 1 + 0.9 * (1 - marker.age) ** 2);
  }

  /** The place that a person asks about, the images that are mixed, and where the mixture lands. */
  private drawHere(context: Context, scene: Scene): void {
    const {
      asked,
      askedCard,
      state: { theme },
    } = this.parts;
    const now = asked();
    if (!now) return askedCard(null, [0, 0], null);
    const from = scene.toScreen(now.at);
    const place = now.answer?.place;
    const landed = (place && this.atEnd(scene, [place])[0]) ?? null;
    this.drawLinks(context, scene, from, now.near, () => theme.text);
    if (landed) {
      overlay.drawLinks(context, from, [{ to: landed, color: theme.primary, dashed: false }], theme);
      overlay.drawRing(context, landed, 8, theme.primary, theme, { width: 3 });
    }
    overlay.drawCross(context, from, theme.primary, theme, false);
    askedCard(now, from, landed);
  }

  private drawHover(context: Context, scene: Scene): void {
    const { pointed, card } = this.parts;
    const { hovered, card: carded } = pointed();
    const item = hovered ?? carded;
    if (item === null || !scene.usable[item]) {
      card(null, [0, 0]);
      return;
    }
    const place = scene.screenOf(item);
    if (hovered !== null) this.drawHighlight(context, scene, item, place, { grow: 1.5 });
    if (carded === item) card(item, place);
  }
}
