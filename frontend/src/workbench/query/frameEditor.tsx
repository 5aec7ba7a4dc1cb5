// A picture with the frame that is cut out of it: moved, resized and turned by pointer, finger and keyboard. What else
// was found in it is outlined, and taken by a click.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { pathOf } from "../../charts/svg.ts";
import { useSide } from "../../lib/hooks.ts";
import {
  afterKey,
  centeredAt,
  cornersOf,
  DEFAULT_FRAME,
  facing,
  isSame,
  pointOf,
  withCorner,
  type Frame,
  type Point,
  type Size,
} from "./frameGeometry.ts";

const STEM = 26; // pixels of the screen from the frame to the handle that turns it
const HANDLE = 6; // radius of a handle as it is seen
const FINGER = [10, 20]; // radius of what is hit, in a small frame and in a large one
const SIDES: readonly Point[] = [
  [0, -1],
  [0, 1],
  [1, 0],
  [-1, 0],
];
const KEYS = "Arrows move it, + and - resize it, [ and ] turn it.";

/** A picture, what was found in it, and what is cut out; null: nothing, the picture is taken as it is. */
export interface FramedPicture {
  url: string;
  frames: Frame[];
  frame: Frame | null;
}

type Move = (to: Point) => Frame;

interface Props {
  picture: FramedPicture;
  /** Keeps a frame that a person makes or takes in `picture`. */
  reframe(this: void, frame: Frame): void;
}

export function FrameEditor({ picture, reframe }: Props) {
  const [image, side] = useSide<HTMLImageElement>();
  const canvas = useRef<SVGSVGElement>(null);
  const box = useRef<SVGPolygonElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  const [, setCount] = useState(0);
  const drag = useRef<Move | null>(null);
  const pressed = useRef<string | null>(null); // the part that the pointer went down on
  const focuses = useRef(false); // the frame, once it is drawn
  useLayoutEffect(() => {
    if (focuses.current) box.current?.focus({ preventScroll: true });
    focuses.current = false;
  });
  const frame = picture.frame ?? DEFAULT_FRAME;
  const change = (next: Frame) => {
    if (picture.frame && isSame(next, picture.frame)) return;
    reframe(next);
    setCount((count) => count + 1);
  };
  const take = (index: number) => {
    focuses.current = true;
    setCount((count) => count + 1);
    change(picture.frames[index]);
  };
  const place = (event: MouseEvent, { width, height }: Size): Point => {
    const box = image.current!.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.height) * height];
  };
  const press = (event: PointerEvent) => {
    const part = (pressed.current = partOf(event));
    if (!part || !size || event.button !== 0) return;
    event.preventDefault();
    const begin = place(event, size);
    const [kind, number] = part.split(" ");
    if (kind === "found") return take(Number(number));
    const center = pointOf(frame, size, 0, 0);
    canvas.current!.setPointerCapture(event.pointerId);
    const moves: Record<string, Move> = {
      frame: ([x, y]) => centeredAt(frame, size, [center[0] + x - begin[0], center[1] + y - begin[1]]),
      corner: (to) => withCorner(frame, size, Number(number), to),
      turn: (to) => facing(frame, size, SIDES[Number(number)], to),
    };
    drag.current = moves[kind];
    box.current?.focus({ preventScroll: true });
  };
  const lift = () => {
    drag.current = null;
  };
  return (
    <div
      class="framed"
      title={`Drag the frame, its corners or its handle. ${KEYS}`}
      data-frame={picture.frame ? [frame.x, frame.y, frame.width, frame.height, frame.angle].join(" ") : ""}
    >
      <img
        ref={image}
        alt="Your picture"
        src={picture.url}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
          setSize({ width: naturalWidth, height: naturalHeight })
        }
      />
      <svg
        ref={canvas}
        class="overlay"
        viewBox={`0 0 ${size?.width ?? 1} ${size?.height ?? 1}`}
        onPointerDown={press}
        onPointerMove={(event) => size && drag.current && change(drag.current(place(event, size)))}
        onPointerUp={lift}
        onPointerCancel={lift}
        // A finger on the frame moves it; anywhere else on the picture it scrolls the page.
        onTouchStart={(event) => void (partOf(event) && event.preventDefault())}
        onClick={(event) => size && !pressed.current && change(centeredAt(frame, size, place(event, size)))}
      >
        {size && side > 0 && picture.frame && <Shade frame={frame} size={size} />}
        <g>
          {size &&
            picture.frames.map(
              (other, index) =>
                !(picture.frame && isSame(other, frame)) && (
                  <polygon
                    key={index}
                    class="found"
                    points={cornersOf(other, size).join(" ")}
                    tabindex={0}
                    role="button"
                    aria-label={`Take this one (${index + 1} of ${picture.frames.length} found)`}
                    data-part={`found ${index}`}
                    onKeyDown={(event) => {
                      if (event.key !== "Enter" && event.key !== " ") return;
                      event.preventDefault();
                      take(index);
                    }}
                  />
                ),
            )}
        </g>
        {size && side > 0 && picture.frame && (
          <>
            <polygon
              ref={box}
              class="frame"
              points={cornersOf(frame, size).join(" ")}
              tabindex={0}
              role="application"
              aria-label={`Frame: what is cut out of your picture. ${KEYS}`}
              data-part="frame"
              onKeyDown={(event) => {
                const next = event.ctrlKey || event.metaKey ? null : afterKey(frame, size, event.key);
                if (!next) return;
                event.preventDefault();
                event.stopPropagation();
                change(next);
              }}
            />
            <Handles frame={frame} size={size} pixel={(size.width * devicePixelRatio) / side} />
          </>
        )}
      </svg>
    </div>
  );
}

interface PlacedFrame {
  frame: Frame;
  size: Size;
}

const Shade = ({ frame, size }: PlacedFrame) => (
  <path
    class="shade"
    fill-rule="evenodd"
    d={`M0 0H${size.width}V${size.height}H0Z${pathOf(cornersOf(frame, size))}Z`}
  />
);

/** Dots at the corners and at the stem, and around each what a finger hits; `pixel` of the screen, in those of the picture. */
function Handles({ frame, size, pixel }: PlacedFrame & { pixel: number }) {
  const shorter = Math.min(frame.width * size.width, frame.height * size.height) / pixel;
  const finger = Math.max(FINGER[0], Math.min(FINGER[1], 0.3 * shorter)) * pixel;
  const [turn, side] = turnPoint(frame, size, pixel);
  const dot = (name: string, [cx, cy]: Point, part: string) => (
    <g class={name}>
      <circle class="dot" cx={cx} cy={cy} r={HANDLE * pixel} />
      <circle class="hit" cx={cx} cy={cy} r={finger} data-part={part} />
    </g>
  );
  return (
    <>
      <path class="stem" d={pathOf([pointOf(frame, size, ...SIDES[side]), turn])} />
      {cornersOf(frame, size).map((corner, index) => dot("corner", corner, `corner ${index}`))}
      {dot("turn", turn, `turn ${side}`)}
    </>
  );
}

/** Position of the handle that turns the frame: beyond a side that leaves it inside the picture. */
function turnPoint(frame: Frame, size: Size, pixel: number): [Point, number] {
  const beyond = ([across, down]: Point): Point => {
    const half = (across ? frame.width * size.width : frame.height * size.height) / 2;
    const reach = 1 + (STEM * pixel) / half;
    return pointOf(frame, size, across * reach, down * reach);
  };
  const margin = HANDLE * pixel;
  const within = ([x, y]: Point) => x >= margin && y >= margin && x <= size.width - margin && y <= size.height - margin;
  const side = SIDES.findIndex((one) => within(beyond(one)));
  if (side >= 0) return [beyond(SIDES[side]), side];
  return [pointOf(frame, size, 0, -0.5), 0]; // a frame as large as the picture
}

/** Part under the pointer: "frame", "corner 2", "turn 0", "found 1"; null on the bare picture. */
const partOf = (event: Event): string | null =>
  (event.target as Element).closest("[data-part]")?.getAttribute("data-part") ?? null;
