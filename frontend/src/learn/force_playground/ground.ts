// The loss as the ground of the plane (or around the circle), for each place that the chosen point could have.
import { maxOf, minOf } from "../../lib/extent.ts";
import { context2d, h } from "../../lib/dom.ts";
import { css, type Rgb } from "../../lib/theme.ts";
import type { LossGround } from "../../protocol.ts";
import { ROUTES } from "../../lib/server.ts";
import { NewestQuestion } from "../newestQuestion.ts";
import { EXTENT, grid, places, questionOf, refine, ring, type Arrangement, type ForceQuestion } from "./arrangement.ts";

const CELLS = 22; // that are asked for, on a side
const FINER = 4; // as they are drawn
const SEGMENTS = 120;
const BANDS = 9;

type GroundQuestion = ForceQuestion & { index: number; places: [number, number][] };
type Values = (number | null)[];

export class Ground {
  readonly canvas = h("canvas");
  private values: Values = [];
  /** The last request: the ground changes with all points but the chosen one, which is moved over it. */
  private key = "";
  private questions: NewestQuestion<GroundQuestion, LossGround>;

  constructor(onchange: () => void, onerror: (why: string) => void) {
    this.questions = new NewestQuestion((answer: LossGround) => {
      this.values = answer.values.length === CELLS ** 2 ? refine(answer.values, FINER) : answer.values;
      onchange();
    }, onerror);
  }

  forget(): void {
    this.values = [];
    this.key = "";
  }

  close(): void {
    this.questions.close();
  }

  /** Ask for the ground unless it is known. */
  ask(loss: string, params: Record<string, unknown>, now: Arrangement, index: number): void {
    const others = places(now).filter((_, i) => i !== index);
    const key = JSON.stringify([loss, params, now.preset, now.circle, index, others]);
    if (key === this.key) return;
    this.key = key;
    const over = now.circle ? ring(SEGMENTS) : grid(CELLS);
    this.questions.ask(`${ROUTES}/losses/${loss}/ground.json`, {
      ...questionOf(now, params),
      index,
      places: over,
    });
  }

  /** Draw what is known, into a stage of `width` CSS pixels; nothing where it is not `shown`. */
  paint(isCircle: boolean, isShown: boolean, color: Rgb, width: number): void {
    const context = context2d(this.canvas);
    const size = isCircle ? 2 * Math.min(400, Math.max(160, width)) : CELLS * FINER;
    this.canvas.width = this.canvas.height = size;
    if (!isShown || this.values.length !== (isCircle ? SEGMENTS : (CELLS * FINER) ** 2)) return;
    if (isCircle) paintRing(context, this.values, size, color);
    else paintSquare(context, this.values, size, color);
  }
}

function paintSquare(context: CanvasRenderingContext2D, values: Values, size: number, color: Rgb): void {
  const shade = shades(values, color);
  values.forEach((value, i) => {
    context.fillStyle = shade(value);
    context.fillRect(i % size, Math.floor(i / size), 1, 1);
  });
}

function paintRing(context: CanvasRenderingContext2D, values: Values, size: number, color: Rgb): void {
  const shade = shades(values, color);
  context.lineWidth = size * 0.03;
  values.forEach((value, i) => {
    const [from, to] = [i - 0.5, i + 0.5].map((at) => (-2 * Math.PI * at) / SEGMENTS);
    context.strokeStyle = shade(value);
    context.beginPath();
    context.arc(size / 2, size / 2, (size / 2 / EXTENT) * 1.16, from, to, true);
    context.stroke();
  });
}

/** The shade of a value: one of a few bands, from the least value to the greatest. */
function shades(values: Values, color: Rgb): (value: number | null) => string {
  const finite = values.filter((value) => value !== null);
  const [low, high] = [minOf(finite), maxOf(finite)];
  return (value) => {
    const band = value !== null && high > low ? Math.floor(((value - low) / (high - low)) * BANDS) / BANDS : 0;
    return css(color, 0.3 * band);
  };
}
