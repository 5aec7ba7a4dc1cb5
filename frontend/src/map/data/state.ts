// Shared state of a map's parts: the server's props, the items, and what is looked at. It has no behavior.
import type { PlacedBatch, PlacedGallery } from "../../lib/bus.ts";
import { readTheme, type Rgb, type Theme } from "../../lib/theme.ts";
import type { Sprites } from "../../lib/sprites.ts";
import type { LayoutSettings } from "../../projection/live.ts";
import type { ColumnInfo, LayoutSetting, Mixture } from "../../protocol.ts";
import type { MapData } from "./expandProps.ts";
import type { ShownImages, ViewStore } from "../../workbench/store.ts";
import type { Point } from "../math/camera.ts";
import { Model } from "./model.ts";

export type Mode = "pan" | "lasso" | "box" | "here";

/** State of the contours: drawn, not yet (points move), or the reason why there are none; empty if not requested. */
export type ContourState = "" | "drawn" | "moving" | "few points" | "one spot";

/** A place that a person asks about; `trouble`: why there is no answer. */
export interface Asked {
  at: Point;
  /** The images, and their shares of the mixture. */
  near: { item: number; share: number }[];
  width: number;
  frame: unknown;
  answer: Mixture | null;
  trouble: string;
}

export class MapState {
  model: Model;
  theme: Theme;
  /** Of the classes. */
  colors: Rgb[] = [];
  sprites: Sprites | null = null;
  mode: Mode = "pan";
  /** The columns that shapes can show. */
  shapeColumns: ColumnInfo[] = [];
  contours: ContourState = "";
  /** Training images on the stage. */
  trained = 0;
  /** How a projection stands that waits for a worker, in a sentence. */
  queued = "";
  /** The pictures that are kept with the run. */
  gallery: PlacedGallery | null = null;
  newBatch: PlacedBatch | null = null;
  /** Images that this page itself projects alone: packed bits, and how they are drawn. */
  alone: { bits: string; method: LayoutSettings["method"]; settings: LayoutSetting[] } | null = null;
  /** True if no point is in view. */
  astray = false;
  /** The error on this page, in a sentence. */
  trouble: string | null = null;

  constructor(
    public data: MapData,
    node: Element,
    /** The view of the page. */
    readonly store: ViewStore,
  ) {
    this.theme = readTheme(node);
    this.model = new Model([], null, 0, undefined, store);
  }

  /** The images that alone are on the map, as packed bits; null where all are. */
  get subset(): string | null {
    return this.alone?.bits ?? this.data.subset?.bits ?? null;
  }

  /** True if classes are named on the map. */
  get names(): boolean {
    return this.store.state.display.names;
  }

  get trails(): boolean {
    return this.store.state.display.trails;
  }

  /** True if contours show where points are dense. */
  get density(): boolean {
    return this.store.state.display.contours;
  }

  /** True if images are shown wherever there is room, and not only from near by. */
  get pictures(): boolean {
    return this.store.state.display.pictures;
  }

  get images(): ShownImages {
    return this.store.state.display.images;
  }

  /** Meaning of a marker's shape. */
  get markers(): string {
    return this.store.state.display.markers;
  }

  /** The projection that is shown, null for the run itself. */
  get pid(): string | null {
    return !this.data.view || this.data.view === "live" ? null : this.data.view;
  }
}
