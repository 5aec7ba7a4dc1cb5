// Size and opacity of points: enough ink for a few hundred, no mush for sixty thousand.

import type { Port } from "../math/camera.ts";

export interface PointStyle {
  radius: number;
  opacity: number;
  halo: number;
}

/**
 * Radius (CSS pixels), opacity and width of the halo for `count` points on a stage, `zoom` times closer than
 * Home; smaller again among pictures.
 */
export function pointStyle(count: number, port: Port, zoom: number, pictured = false): PointStyle {
  const area = Math.sqrt((port.width * port.height) / (760 * 520));
  const crowd = Math.max(count, 150) / 10000;
  const base = 2.15 * crowd ** -0.27 * Math.min(1.25, Math.max(0.7, area ** 0.6));
  const close = Math.max(zoom, 1) ** 0.42;
  const radius = Math.min(pictured ? 4.5 : 8, Math.max(1.1, Math.min(base, 5.2) * close));
  const opacity = Math.min(0.95, 0.86 - 0.13 * Math.log10(Math.max(crowd, 0.1) * 10) + 0.1 * Math.log2(close + 1e-9));
  return { radius, opacity: Math.max(0.45, opacity), halo: Math.min(1, Math.max(0, (radius - 2.2) * 0.6)) };
}
