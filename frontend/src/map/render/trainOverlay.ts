// Images that the run has trained on, as rings between the test images' discs.
import { css } from "../../lib/theme.ts";
import { placesAt, type TrainPointsLoader } from "../data/trainPoints.ts";
import type { MapState } from "../data/state.ts";
import type { Orbit } from "../math/orbit.ts";
import type { Replay } from "./replay.ts";
import type { Scene } from "./scene.ts";

/** Draw them at the step that is shown; how many there are, 0 where none are to be drawn. */
export function drawTrainPoints(
  context: CanvasRenderingContext2D,
  { model, colors, images, theme }: MapState,
  loader: TrainPointsLoader,
  playback: Replay,
  orbit: Orbit,
  scene: Scene,
): number {
  const { shown, entries, player } = playback;
  if (images === "test" || !shown || playback.unplaced) return 0;
  const points = loader.get();
  if (!points) return 0;
  const low = entries.indexOf(shown);
  const next = entries[low + 1]?.step ?? shown.step;
  const share = Math.max(0, player.position - Math.floor(player.position));
  const places = placesAt(points, shown.step + share * (next - shown.step));
  const radius = Math.max(2.5, scene.style.radius);
  context.save();
  context.lineWidth = 1.5;
  places.forEach((place, i) => {
    const label = points.labels[i];
    const color = model.grouping ? theme.muted : colors[label]; // a column knows the test images only
    if ((!model.grouping && model.hidden.has(label)) || !color) return;
    const [x, y] = scene.toScreen(orbit.toPlane(place, scene.frame?.pivot));
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.strokeStyle = css(color);
    context.stroke();
  });
  context.restore();
  return places.length;
}
