// Free space on the stage for the points, and its other contents.
import { within } from "../../lib/boundary.ts";
import { scaleOf } from "../../lib/dom.ts";
import { union, type Bounds } from "../math/camera.ts";
import type { Playback } from "../playback/playback.ts";
import type { MapParts } from "./parts.ts";

const STRIP_PX = 34; // at the lower edge, for the caption and the tools that come and go
const WIDE_PX = 620; // from which the legend stands beside the points
const LEARNED_CIRCLE = 1.08;

/** Give the scene the size that its elements leave to it. */
export function measureStage({
  layout: { stage, root, legend, toolbar, bar, strip, caption, notices, alarm },
  scene,
  playback,
  state,
}: Pick<MapParts, "layout" | "scene" | "playback" | "state">): void {
  const scale = scaleOf(stage);
  const box = stage.getBoundingClientRect();
  const [width, height] = [box.width / scale, box.height / scale];
  const wide = width >= WIDE_PX;
  root.classList.toggle("narrow", !wide);
  root.classList.toggle("crowded", wide && legend.node.offsetWidth + toolbar.node.offsetWidth + 30 > width);
  // Where it is narrow they lie over the whole width: the points stand between them, and a phone's map is higher.
  const [above, below] = [notices, alarm.node].map(({ offsetHeight }) =>
    wide || !offsetHeight ? 0 : offsetHeight + 8,
  );
  root.style.setProperty("--said-height", `${above + below}px`); // to the map's height in the style
  const said = Math.max(notices.offsetHeight, alarm.node.offsetHeight);
  const line = Math.max(STRIP_PX, caption.offsetHeight + 14);
  const bottom = legend.node.offsetHeight + line + 18 + below;
  const insets = wide
    ? { left: legend.node.offsetWidth + 24, right: 26, top: 52, bottom: line + 12 + said }
    : { left: 18, right: 18, top: toolbar.node.offsetHeight + 20 + above, bottom };
  stage.style.setProperty("--strip-height", `${strip.offsetHeight}px`); // a long caption has two lines
  stage.style.setProperty("--legend-height", `${legend.node.offsetHeight}px`); // below the strip, where it is narrow
  stage.style.setProperty("--panel-height", `${Math.round(height) - 54}px`); // of the tools under "View"
  scene.resize(width, height, insets, scale);
  within(bar.node, "The player", () => bar.update(playback.timeline, playback.player, state.theme, playback.shown));
}

/** Bounds that Home shows beside the frame: the last frame of a replay, the query, a learned circle. */
export function boundsBeside({
  marker,
  orbit,
  scene,
  state,
  playback,
}: Pick<MapParts, "marker" | "orbit" | "scene" | "state"> & { playback: Playback | undefined }): Bounds | null {
  const place = marker.to && orbit.toPlane(marker.to, scene.frame?.pivot);
  const { kind = "plane", radius = 1 } = state.data.picture?.space ?? {};
  const reach = LEARNED_CIRCLE * radius;
  const round: Bounds | null = kind === "plane" || kind === "space" ? null : [-reach, -reach, reach, reach];
  return union(round, union(playback?.frameOfReference ?? null, place && [...place, ...place]));
}
