// Maps of the same images side by side: who points at an image in one of them sees it in all.
import { decodeBase64 } from "../../lib/base64.ts";
import { circle, line, loadImage } from "../../lib/canvas.ts";
import { context2d, pointerPlace } from "../../lib/dom.ts";
import { useAnswer, useParts, useSide } from "../../lib/hooks.ts";
import { classColors } from "../../lib/palette.ts";
import { type Hosted, panel, themeOf } from "../../lib/panel.tsx";
import { fetchJson, serverUrl } from "../../lib/server.ts";
import { css, type Rgb, type Theme } from "../../lib/theme.ts";
import type { LabPlanes, LabPlanesProps, PlanePoints } from "../../protocol.ts";
import style from "./labPlanes.css";
import {
  angleTo,
  directions,
  drawCircle,
  drawTemplates,
  fitOf,
  nearest,
  onCircle,
  place,
  type Points,
  RADIUS,
} from "./planeGeometry.ts";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

const REACH = 14; // pixels between the pointer and a point

/** The content of a canvas; `under` draws beneath the points, in a square of side 1. */
export interface Scene {
  label: string;
  places: Points;
  labels: Uint8Array;
  colors: Rgb[];
  shows: (item: number) => boolean;
  dims: (item: number) => boolean;
  hollow: (item: number) => boolean;
  radius: number;
  opacity: number;
  under?: (context: CanvasRenderingContext2D, theme: Theme) => void;
  /** Draw a line from the middle to the mark: only directions count. */
  spoke: boolean;
}

interface Pointed {
  scene: Scene;
  theme: Theme;
  item: number;
  point(this: void, item: number, event: PointerEvent): void;
}

/** The points are painted when they change, the mark on them with each item. */
function Plane({ scene, theme, item, point }: Pointed) {
  const [view, side] = useSide<HTMLCanvasElement>();
  const base = useMemo(() => (side ? paintBase(scene, theme, side) : null), [scene, side]);
  useLayoutEffect(() => {
    if (view.current && base) paint(view.current, base, scene, theme, item);
  }, [base, item]);
  const find = (event: PointerEvent) => {
    const isSeen = (item: number) => scene.shows(item) && !scene.dims(item);
    const node = event.currentTarget as HTMLElement;
    point(nearest(scene.places, ...pointerPlace(event, node), REACH / node.clientWidth, isSeen), event);
  };
  const listeners = {
    onPointerMove: find,
    onPointerDown: find,
    onPointerLeave: (event: PointerEvent) => point(-1, event),
  };
  const size = side ? { width: side, height: side } : {};
  return <canvas role="img" aria-label={scene.label} ref={view} {...size} {...listeners} />;
}

function paintBase(scene: Scene, theme: Theme, side: number): HTMLCanvasElement {
  const base = document.createElement("canvas");
  base.width = base.height = side;
  const context = context2d(base);
  context.save();
  context.scale(side, side);
  scene.under?.(context, theme);
  context.restore();
  const radius = scene.radius * devicePixelRatio;
  for (const dim of [true, false]) {
    for (let item = 0; item < scene.labels.length; item++) {
      if (!scene.shows(item) || scene.dims(item) !== dim) continue;
      const color = css(scene.colors[scene.labels[item]], dim ? 0.06 : scene.opacity);
      circle(context, scene.places[2 * item] * side, scene.places[2 * item + 1] * side, radius);
      if (scene.hollow(item)) {
        context.strokeStyle = color;
        context.lineWidth = devicePixelRatio;
        context.stroke();
      } else {
        context.fillStyle = color;
        context.fill();
      }
    }
  }
  return base;
}

function paint(node: HTMLCanvasElement, base: HTMLCanvasElement, scene: Scene, theme: Theme, item: number): void {
  const context = context2d(node);
  context.clearRect(0, 0, node.width, node.width);
  context.drawImage(base, 0, 0);
  if (item < 0 || !scene.shows(item)) return;
  const [x, y] = [scene.places[2 * item] * node.width, scene.places[2 * item + 1] * node.width];
  const ring = 7 * devicePixelRatio;
  context.lineWidth = 2 * devicePixelRatio;
  context.strokeStyle = css(theme.text);
  if (scene.spoke) {
    line(context, [node.width / 2, node.width / 2], [x, y]);
  }
  circle(context, x, y, ring);
  context.fillStyle = css(scene.colors[scene.labels[item]]);
  context.fill();
  context.strokeStyle = css(theme.background);
  context.lineWidth = 4 * devicePixelRatio;
  context.stroke();
  context.strokeStyle = css(theme.text);
  context.lineWidth = 2 * devicePixelRatio;
  context.stroke();
}

const TILE = 56; // pixels of the picture beside the pointer
const PARTS = ["Test images", "Training images", "Both"];
const HINT = "Point at an image: it is marked in every map. A click on a class leaves only that one.";

type Loaded = Omit<LabPlanes, "labels"> & { labels: Uint8Array };

/** Where the images of a net are, and where they point. */
interface Shown {
  plane: PlanePoints;
  points: Float32Array;
  angles: Float32Array;
}

function LabPlanesView({ url, version, sheet, host }: Hosted<LabPlanesProps>) {
  const load = async (): Promise<Loaded> => {
    const data = await fetchJson<LabPlanes>(url, "The maps");
    return { ...data, labels: decodeBase64(data.labels) };
  };
  const { last: data, trouble } = useAnswer(`${url}?${version}`, load);
  // `only` is the class that is not dimmed, −1 for all; a sheet of pictures is loaded once an image is pointed at.
  const [{ part, only, item, pictures }, set] = useParts({ part: 0, only: -1, item: -1, pictures: "" });
  const tile = useRef<HTMLDivElement>(null);
  const root = useRef<HTMLElement>(null);
  const theme = themeOf(host);
  const colors = classColors(data?.names.length ?? 1, theme.dark);
  const planes = useMemo(() => data?.planes.map(shownOf) ?? [], [data]);
  const themeName = `${theme.dark} ${css(theme.background)} ${css(theme.text)}`;
  const scenes = useMemo(
    () => planes.map((shown) => data && scenesOf(shown, data, colors, part, only)),
    [data, part, only, themeName],
  );
  const address = sheet && `${serverUrl(sheet)}?${encodeURIComponent(version)}`;
  useEffect(() => {
    if (item >= 0 && address && pictures !== address) void loadImage(address).then(() => set({ pictures: address }));
  }, [item >= 0, address]);

  const point = (to: number, event: PointerEvent) => {
    if (to !== item) set({ item: to });
    const box = root.current?.getBoundingClientRect();
    if (to < 0 || !box || !tile.current) return;
    const left = Math.min(event.clientX - box.left + 16, box.width - TILE - 8);
    tile.current.style.translate = `${left}px ${event.clientY - box.top + 16}px`;
  };
  const label = data?.labels[item] ?? -1;
  const words =
    data && item >= 0
      ? `${data.names[label]}, ${item < data.tests ? "a test image" : "a training image"}: marked in all ${planes.length} maps.`
      : HINT;
  return (
    <section
      class="lab-planes"
      ref={root}
      {...(data && { "data-ready": true, "data-planes": planes.length, "data-part": PARTS[part], "data-only": only })}
      data-item={data && item}
    >
      <div class="head">
        <div class="parts" role="radiogroup" aria-label="Which images" hidden={data?.tests === data?.labels.length}>
          {PARTS.map((title, i) => (
            <button role="radio" aria-checked={i === part} onClick={() => set({ part: i, item: -1 })}>
              {title}
            </button>
          ))}
        </div>
        <div class="legend" role="group" aria-label="Classes">
          {data?.names.map((name, i) => (
            <button
              {...{ "aria-pressed": i === only, title: `Only ${name}`, style: `--color: ${css(colors[i])}` }}
              onClick={() => set({ only: i === only ? -1 : i })}
            >
              <i />
              {name}
            </button>
          ))}
        </div>
      </div>
      <div class="grid">
        {planes.map(({ plane, angles }, i) => {
          const own = item >= 0 && plane.centers?.[label];
          return (
            <figure>
              <b>{plane.title}</b>
              <span class="note">
                {own ? `${angleTo(angles[item], own).toFixed(1)}° from its template` : plane.note}
              </span>
              {scenes[i]?.map((scene) => (
                <Plane {...{ scene, theme, item, point }} />
              ))}
            </figure>
          );
        })}
      </div>
      <p class="reading" aria-live="polite">
        {trouble || (data ? words : "Loading…")}
      </p>
      <div
        class="tile"
        hidden={item < 0 || !address || pictures !== address}
        ref={tile}
        style={data && item >= 0 && address ? tileStyle(address, item, data) : undefined}
      />
    </section>
  );
}

export default panel(style, LabPlanesView);

function shownOf(plane: PlanePoints): Shown {
  const points = new Float32Array(decodeBase64(plane.points).buffer);
  return { plane, points, angles: directions(points) };
}

/** A map of a net, or two: the images in the plane, and where they point. */
function scenesOf({ plane, points, angles }: Shown, data: Loaded, colors: Scene["colors"], part: number, only: number) {
  const { labels, tests } = data;
  const { title, centers } = plane;
  const shows = (item: number) => part === 2 || item < tests === (part === 0);
  const circle = { angles, labels, colors, centers: centers ?? [], shows };
  const common = {
    ...{ labels, colors, shows, radius: 2, spoke: centers !== null },
    dims: (item: number) => only >= 0 && labels[item] !== only,
    hollow: (item: number) => part === 2 && item >= tests,
  };
  const plain: Scene = {
    ...common,
    label: `${title}: the images in the plane`,
    places: place(points, fitOf(points, centers !== null)),
    opacity: 0.7,
    under: centers ? (context) => drawTemplates(context, colors, centers, 0.1) : undefined,
  };
  const round: Scene = {
    ...common,
    label: `${title}: directions on a circle, with templates and a histogram`,
    places: onCircle(angles, RADIUS),
    opacity: 0.35,
    under: (context, theme: Theme) => drawCircle(context, theme, circle),
  };
  return centers ? [plain, round] : [plain];
}

function tileStyle(address: string, item: number, { columns, tile }: Loaded) {
  return {
    backgroundImage: `url("${address}")`,
    backgroundSize: `${(columns * tile * TILE) / tile}px auto`,
    backgroundPosition: `${-(item % columns) * TILE}px ${-Math.floor(item / columns) * TILE}px`,
  };
}
