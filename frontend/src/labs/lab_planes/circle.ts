// Drawing under the directions of a plane: wedges of the templates, the circle, the templates, a histogram outside.
import { maxOf } from "../../lib/extent.ts";
import { circle, line } from "../../lib/canvas.ts";
import { css, type Rgb, type Theme } from "../../lib/theme.ts";
import { histogram, wedges } from "./planeGeometry.ts";

export const RADIUS = 0.3; // of the circle, in sides of the canvas
const HISTOGRAM = 0.17; // its greatest height
const BINS = 180;

export interface Directions {
  angles: Float32Array;
  labels: Uint8Array;
  colors: Rgb[];
  centers: readonly (readonly number[])[];
  shows: (item: number) => boolean;
}

export function drawCircle(context: CanvasRenderingContext2D, theme: Theme, about: Directions): void {
  const { colors, centers } = about;
  wedges(centers).forEach(([from, to], label) => {
    context.fillStyle = css(colors[label], theme.dark ? 0.22 : 0.16);
    context.beginPath();
    context.moveTo(0.5, 0.5);
    context.arc(0.5, 0.5, RADIUS, -to, -from);
    context.fill();
  });
  context.strokeStyle = css(theme.muted, 0.6);
  context.lineWidth = 0.004;
  circle(context, 0.5, 0.5, RADIUS);
  context.stroke();
  drawTemplates(context, colors, centers, RADIUS);
  drawHistogram(context, about);
}

/** A spoke for each template, as long as `length`. */
export function drawTemplates(
  context: CanvasRenderingContext2D,
  colors: Rgb[],
  centers: readonly (readonly number[])[],
  length: number,
): void {
  centers.forEach(([x, y], label) => {
    const size = Math.hypot(x, y) || 1;
    context.strokeStyle = css(colors[label]);
    context.lineWidth = 0.012;
    context.lineCap = "round";
    line(context, [0.5, 0.5], [0.5 + (length * x) / size, 0.5 - (length * y) / size]);
  });
}

function drawHistogram(context: CanvasRenderingContext2D, { angles, labels, colors, centers, shows }: Directions) {
  const counts = histogram(angles, labels, centers.length, BINS, shows);
  const totals = counts[0].map((_, bin) => counts.reduce((sum, one) => sum + one[bin], 0));
  const highest = Math.sqrt(maxOf(totals, 1));
  const width = (2 * Math.PI) / BINS;
  for (let bin = 0; bin < BINS; bin++) {
    let below = 0;
    counts.forEach((one, label) => {
      if (!one[bin]) return;
      // Roots of the counts: a narrow bundle is a hundred times as high as a wide one, which should still be seen.
      const height = (count: number) => RADIUS + 0.015 + (HISTOGRAM * Math.sqrt(count)) / highest;
      const [inner, outer] = [height(below), height(below + one[bin])];
      below += one[bin];
      context.fillStyle = css(colors[label], 0.9);
      context.beginPath();
      context.arc(0.5, 0.5, outer, -(bin + 1) * width, -bin * width);
      context.arc(0.5, 0.5, inner, -bin * width, -(bin + 1) * width, true);
      context.fill();
    });
  }
}
