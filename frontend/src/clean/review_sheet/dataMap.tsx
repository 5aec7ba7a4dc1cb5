// The training images by what they went through: how sure of their label the nets were, and how much that changed.
import { maxOf } from "../../lib/extent.ts";
import { grouped } from "../../lib/format.ts";
import { tileStyle } from "../../lib/sprites.ts";
import type { ReviewAnswer } from "../../protocol.ts";
import { said } from "./rows.ts";

type Cell = NonNullable<ReviewAnswer["cells"]>[number];

const RANGES = 10; // of confidence and of variability
const [SMALLEST_PX, LARGEST_PX] = [12, 26];

const REGIONS: Record<string, (cell: Cell) => boolean> = {
  easy: ({ confidence, variability }) => confidence >= 5 && variability < 5,
  ambiguous: ({ variability }) => variability >= 5,
  hard: ({ confidence, variability }) => confidence < 5 && variability < 5,
};

const total = (cells: Cell[]): number => cells.reduce((sum, { images }) => sum + images, 0);

/** How many images were easy, ambiguous and hard, in words. */
export const regionsText = (cells: Cell[]): string =>
  Object.entries(REGIONS)
    .map(([name, holds]) => `${grouped(total(cells.filter(holds)))} ${name}`)
    .join(", ");

/** A picture in each range that has images: the larger, the more they are. */
export function DataMap({ cells, sheet, noun }: Pick<ReviewAnswer, "sheet" | "noun"> & { cells: Cell[] }) {
  const most = Math.log(1 + maxOf(cells.map(({ images }) => images)));
  const picture = ({ confidence, variability, images, tile }: Cell) => {
    const title =
      `${grouped(images)}: ${10 * confidence} to ${10 * confidence + 10}% of their neighbors have their label, ` +
      `with a deviation of ${5 * variability} to ${5 * variability + 5}%`;
    const size = SMALLEST_PX + Math.round(((LARGEST_PX - SMALLEST_PX) * Math.log(1 + images)) / most);
    const place = { gridRow: RANGES + 1 - confidence, gridColumn: variability + 1 };
    return (
      <span class="cell" title={title} style={place}>
        <span class="tile" style={sheet && tileStyle(sheet, tile ?? 0, size)} />
      </span>
    );
  };
  return (
    <figure class="data-map">
      <div class="cells" role="img" aria-label={said(`Training images over the training: ${regionsText(cells)}`, noun)}>
        {Object.keys(REGIONS).map((name) => (
          <>
            <span class={`region ${name}`} />
            <span class={`name ${name}`}>{name}</span>
          </>
        ))}
        {cells.map(picture)}
      </div>
      <figcaption>
        {said(
          `${regionsText(cells)}. Up: more of an image's neighbors had its label (confidence). To the right: that ` +
            "changed more over the training (variability). Larger pictures stand for more images.",
          noun,
        )}
      </figcaption>
    </figure>
  );
}
