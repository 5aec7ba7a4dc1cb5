// The nearest neighbors of an image, a button each: picture, class, distance, and whether it is near on the map too.
import { bus, type MapRanks } from "../../lib/bus.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { grouped, ITEM } from "../../lib/format.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { classOf, differs, mapRankCaption, type WithSubject } from "./captions.ts";

const TILE_PX = 32;
const BEFORE = 0.2; // of the range of the distances: the bar of the nearest

interface Props {
  data: WithSubject;
  /** Those of its neighbors on the map. */
  ranks?: MapRanks["of"];
  pin(this: void, item: number): void;
  /** Sends the hovered one to the map. */
  source: object;
}

export function NeighborList({ data, ranks, pin, source }: Props) {
  const { subject, neighbors, vote, run = "", sprites, classes, noun = ITEM, values } = data;
  const own = subject.label ?? vote?.label;
  const distances = neighbors.map((neighbor) => neighbor.distance);
  const [nearest, farthest] = [minOf(distances), maxOf(distances)];
  const begin = Math.max(0, nearest - BEFORE * (farthest - nearest)); // bars begin where the distances differ
  const wrong = subject.label === undefined ? " other" : " wrong";
  const hover = (target: number | null) => () => bus.emit("hover", { run, item: target, source });
  return (
    <ol class="list">
      {neighbors.map(({ item, label, distance }) => {
        const mark = differs(data, label, own) ? wrong : "";
        const text = values?.[String(item)];
        const place = mapRankCaption(ranks?.get(item), neighbors.length);
        const tile = sprites?.urls.length ? tileStyle(sprites, item, TILE_PX) : null;
        return (
          <li key={item}>
            <button
              class={`row ${mark ? "wrong" : "right"}${tile ? "" : " plain"}`}
              data-item={item}
              title={`Pin ${noun} ${grouped(item)}`}
              onClick={() => pin(item)}
              onPointerEnter={hover(item)}
              onFocus={hover(item)}
              onPointerLeave={hover(null)}
              onBlur={hover(null)}
            >
              {tile && <span class="tile" style={tile} />}
              <span class="name" title={text ?? ""}>
                {classOf({ classes }, label)}
                {mark && <span class="mark">{mark}</span>}
                {text && <span class="values">{text}</span>}
              </span>
              <span
                class="bar"
                title={`The bars begin at ${begin.toFixed(3)}`}
                style={{ "--share": String(farthest > begin ? (distance - begin) / (farthest - begin) : 1) }}
              />
              <span
                class={place ? `where ${place.near ? "near" : "off"}` : "where"}
                title={ranks && (place?.words ?? "Not in this frame")}
              />
              <span class="distance">{distance.toFixed(3)}</span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}
