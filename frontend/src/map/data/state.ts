// What the parts of a map have in common: what Python sent, the items, and how the person wants them shown. It does nothing.
import { readTheme, type Rgb, type Theme } from "../../lib/theme.ts";
import type { Sprites } from "../../lib/sprites.ts";
import type { ColumnInfo } from "../../protocol.ts";
import type { MapData } from "./expandProps.ts";
import type { Markers } from "./markerShapes.ts";
import { Model } from "./model.ts";

export type Mode = "pan" | "lasso" | "box";

/** Which images a map shows; "train" keeps the test images as a shadow. */
export const SHOWN_IMAGES = ["test", "both", "train"] as const;
export type ShownImages = (typeof SHOWN_IMAGES)[number];

/** What became of the contours: drawn, not yet (points move), or why there are none; empty where none are asked for. */
export type ContourState = "" | "drawn" | "moving" | "few points" | "one spot";

export class MapState {
  model = new Model([], null, 0);
  theme: Theme;
  /** Of the classes. */
  colors: Rgb[] = [];
  sprites: Sprites | null = null;
  mode: Mode = "pan";
  /** What the shape of a marker tells. */
  markers: Markers = "plain";
  /** The columns that shapes can tell. */
  shapeColumns: ColumnInfo[] = [];
  /** Whether classes are named on the map. */
  names = true;
  trails = true;
  /** Whether contours show where points are dense. */
  density = false;
  contours: ContourState = "";
  /** Whether images are shown wherever there is room, and not only from near by. */
  pictures = false;
  images: ShownImages = "test";
  /** Training images on the stage. */
  trained = 0;
  /** Whether the eye looks where no point is. */
  astray = false;
  /** What went wrong on this page, in a sentence. */
  trouble: string | null = null;

  constructor(
    public data: MapData,
    node: Element,
  ) {
    this.theme = readTheme(node);
  }

  /** The projection that is shown, null for the run itself. */
  get pid(): string | null {
    return !this.data.view || this.data.view === "live" ? null : this.data.view;
  }
}
