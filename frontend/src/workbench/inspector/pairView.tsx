// Two pinned images: how far apart their pixels and their embeddings are, and what a threshold says of them.
import { grouped } from "../../lib/format.ts";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import type { ImagePair, PairSpace } from "../../protocol.ts";
import { useAnswer } from "../../lib/hooks.ts";
import type { WithSubject } from "./captions.ts";
import { TextButton } from "../../lib/panel.tsx";

const PICTURE_PX = 48;

/** The verdict of a threshold, and if it is right. */
export function verdict({ says_same }: Pick<PairSpace, "says_same">, same: boolean): string {
  return `${says_same ? "the same" : "different"}: ${says_same === same ? "right" : "wrong"}`;
}

/** Source of the thresholds. */
export const thresholdSentence = (pairs: number, given = false): string =>
  `Each threshold is the one that gets most of ${grouped(pairs)} pairs of test images right, half of them of one class. ` +
  `Euclidean distances, pixels from 0 to 1${given ? "" : ", at the end of the run"}.`;

interface Props {
  data: WithSubject;
  /** Begins the comparison with an image, or ends it (null). */
  compare(this: void, partner: number | null): void;
}

/** The part below the pinned image: a button, or two images and their distances. */
export function PairView({ data, compare }: Props) {
  const { partner = null, run, given, comparable, subject, sprites } = data;
  const { item } = subject;
  const isPair = comparable && item !== undefined && partner !== null && partner !== item;
  const url = isPair ? `${ROUTES}/runs/${run}/pair/${partner}/${item}.json` : null;
  const { found, trouble } = useAnswer(url, (url) => fetchJson<ImagePair>(url, "The two images"));
  if (!comparable || item === undefined) return null;
  if (partner === null)
    return (
      <TextButton title="Keep this image, then click another one: same class or not?" onClick={() => compare(item)}>
        Compare with another image
      </TextButton>
    );
  return (
    <section class="pair" aria-label="Two images compared">
      <div class="pairHead">
        {isPair && (
          <span class="pictures">
            {[partner, item].map((one) => (
              <span
                class="picture"
                title={`test image ${grouped(one)}`}
                style={sprites && tileStyle(sprites, one, PICTURE_PX)}
              />
            ))}
          </span>
        )}
        <span class="words">
          {isPair ? found && pairName(found.classes) : "Now click another image, on the map or in the list."}
        </span>
        <TextButton title="End the comparison" onClick={() => compare(null)} children="End" />
      </div>
      {isPair && (
        <div class="table">
          {found ? <Table {...found} given={given} /> : <p class="quiet">{trouble ?? "Measuring …"}</p>}
        </div>
      )}
    </section>
  );
}

const pairName = ([first, second]: ImagePair["classes"]): string =>
  first === second ? `Both of class ${first}` : `${first} and ${second}`;

const Table = ({ spaces, same, pairs, given }: ImagePair & { given?: boolean }) => (
  <>
    <table>
      <tr>
        {["space", "distance", "threshold", "verdict"].map((title) => (
          <th>{title}</th>
        ))}
      </tr>
      {spaces.map((space) => (
        <tr data-space={space.name}>
          <th>{space.name}</th>
          <td>{space.distance.toPrecision(3)}</td>
          <td title={`This threshold gets ${(100 * space.accuracy).toFixed(1)} % of the pairs right`}>
            {space.threshold.toPrecision(3)}
          </td>
          <td class={space.says_same === same ? "right" : "wrong"}>{verdict(space, same)}</td>
        </tr>
      ))}
    </table>
    <p class="quiet">{thresholdSentence(pairs, given)}</p>
  </>
);
