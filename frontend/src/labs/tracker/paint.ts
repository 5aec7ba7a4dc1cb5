// Drawing of the tracker's two canvases.
import { circle, line } from "../../lib/canvas.ts";
import { context2d } from "../../lib/dom.ts";
import { type Box, heat, type Video } from "./videoState.ts";

/** A color for each method: learned, pixels, untrained. They stand out on the gray frames in both themes. */
export const COLORS = ["#ff7a3d", "#39b3ff", "#b9a2ff"];
const TRUE = "#ffffff";
const DRAWN = "#ffe14d";

/** A frame with the true box, those of the other methods thinly, that of the chosen one boldly. */
export function paintFrame(view: HTMLCanvasElement, video: Video, frame: number, index: number, box: Box | null): void {
  const { side } = video;
  const gray = video.frames.subarray(frame * side * side, (frame + 1) * side * side);
  paintPixels(view, side, (i) => [gray[i], gray[i], gray[i]], true);
  if (box) return outline(view, box, side, DRAWN, 3);
  outline(view, video.truth[frame], side, TRUE, 2, [7, 5]);
  video.followers.forEach((one, i) => {
    if (i !== index) outline(view, one.boxes[frame], side, COLORS[i], 1.5);
  });
  outline(view, video.followers[index].boxes[frame], side, COLORS[index], 4);
}

/** The score map of a frame; the true middle as a ring, the place that was chosen as a cross. */
export function paintMap(view: HTMLCanvasElement, video: Video, frame: number, index: number): void {
  const { mapSide, side } = video;
  const follower = video.followers[index];
  const scores = follower.maps.subarray(frame * mapSide ** 2, (frame + 1) * mapSide ** 2);
  paintPixels(view, mapSide, (i) => heat(scores[i]), true);
  const context = context2d(view);
  const scale = view.width / side;
  const [trueRow, trueColumn] = video.truth[frame];
  const [row, column] = follower.boxes[frame];
  context.lineWidth = 3;
  context.strokeStyle = TRUE;
  circle(context, trueColumn * scale, trueRow * scale, 14);
  context.stroke();
  context.strokeStyle = "#000000";
  context.lineWidth = 6;
  cross(context, column * scale, row * scale);
  context.strokeStyle = COLORS[index];
  context.lineWidth = 3;
  cross(context, column * scale, row * scale);
}

function cross(context: CanvasRenderingContext2D, x: number, y: number): void {
  line(context, [x - 10, y], [x + 10, y]);
  line(context, [x, y - 10], [x, y + 10]);
}

/** Square pixels, enlarged to the canvas. */
function paintPixels(
  view: HTMLCanvasElement,
  side: number,
  color: (i: number) => [number, number, number],
  smooth: boolean,
): void {
  const image = new ImageData(side, side);
  for (let i = 0; i < side * side; i++) image.data.set([...color(i), 255], 4 * i);
  const small = new OffscreenCanvas(side, side);
  small.getContext("2d")?.putImageData(image, 0, 0);
  const context = context2d(view);
  context.imageSmoothingEnabled = smooth;
  context.imageSmoothingQuality = "high";
  context.drawImage(small, 0, 0, view.width, view.height);
}

function outline(view: HTMLCanvasElement, box: Box, side: number, color: string, width: number, dash: number[] = []) {
  const context = context2d(view);
  const scale = view.width / side;
  const [row, column, size] = box;
  const corner = [(column - size / 2) * scale, (row - size / 2) * scale] as const;
  context.setLineDash([]);
  context.strokeStyle = "rgba(0, 0, 0, 0.5)";
  context.lineWidth = width + 2;
  context.strokeRect(...corner, size * scale, size * scale);
  context.setLineDash(dash);
  context.strokeStyle = color;
  context.lineWidth = width;
  context.strokeRect(...corner, size * scale, size * scale);
  context.setLineDash([]);
}
