// Two pinned images: how far apart their pixels and their embeddings are, and what a threshold says of them.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { decodeBase64 } from "../../lib/base64.ts";
import { context2d } from "../../lib/dom.ts";
import { grouped, ITEM } from "../../lib/format.ts";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import type { ImagePair, OcclusionMaps, PairSpace, SpriteSheets } from "../../protocol.ts";
import { useAnswer } from "../../lib/hooks.ts";
import type { AskParts, WithSubject } from "./captions.ts";
import { TextButton } from "../../lib/panel.tsx";
import { Picture } from "./subjectView.tsx";

const PICTURE_PX = 48;
const MAP_PX = 112;
const [TOGETHER, APART] = [
  [38, 190, 165],
  [225, 60, 90],
];

/** The verdict of a threshold, and if it is right. */
export function verdict({ says_same }: Pick<PairSpace, "says_same">, same: boolean): string {
  return `${says_same ? "the same" : "different"}: ${says_same === same ? "right" : "wrong"}`;
}

/** Source of the thresholds. */
export const thresholdSentence = (pairs: number, given = false, curved = false): string =>
  `Each threshold is the one that gets most of ${grouped(pairs)} pairs of the test set right, half of them of one class. ` +
  `${curved ? "Hyperbolic distances, of pixels Euclidean ones" : "Euclidean distances"}, pixels from 0 to 1${given ? "" : ", at the end of the run"}.`;

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
  const { found, trouble } = useAnswer(url, (url) => fetchJson<ImagePair>(url, "The two"));
  if (!comparable || item === undefined) return null;
  if (partner === null)
    return (
      <TextButton title="Keep this one, then click another: same class or not?" onClick={() => compare(item)}>
        {`Compare with another ${data.noun ?? "image"}`}
      </TextButton>
    );
  return (
    <section class="pair" aria-label="Two compared">
      <div class="pairHead">
        {isPair && (
          <span class="pictures">
            {[partner, item].map((one) => (
              <span
                class="picture"
                title={`${data.noun ?? ITEM} ${grouped(one)}`}
                style={sprites && tileStyle(sprites, one, PICTURE_PX)}
              />
            ))}
          </span>
        )}
        <span class="words">
          {isPair ? found && pairName(found.classes) : "Now click another one, on the map or in the list."}
        </span>
        <TextButton title="End the comparison" onClick={() => compare(null)} children="End" />
      </div>
      {isPair && (
        <div class="table">
          {found ? <Table {...found} given={given} /> : <p class="quiet">{trouble ?? "Measuring …"}</p>}
          {found && sprites && !given && (
            <Parts
              key={url}
              label="Why are they this near?"
              ask={() =>
                fetchJson<OcclusionMaps>(`${ROUTES}/runs/${run}/occlusion/${partner}/${item}.json`, "The parts")
              }
              pictures={[partner, item].map((one) => (
                <Tile item={one} sprites={sprites} />
              ))}
            />
          )}
          {typeof found?.other === "number" && found.other !== partner && (
            <TextButton onClick={() => compare(found.other)} children="Compare with the nearest of another class" />
          )}
        </div>
      )}
    </section>
  );
}

interface PartsProps {
  /** Asks for the parts, and is another for other images. */
  ask(this: void): Promise<OcclusionMaps>;
  label: string;
  pictures: ComponentChildren[];
}

/** Which parts of two images hold them together for the net; asked for by a click. */
function Parts({ ask, label, pictures }: PartsProps) {
  const [isOpen, open] = useState(false);
  const { found, trouble } = useAnswer(isOpen ? label : null, ask);
  if (!isOpen) return <TextButton onClick={() => open(true)} children={label} />;
  if (!found) return <p class="quiet">{trouble ?? "Hiding one part after the other …"}</p>;
  return (
    <figure class="parts">
      {pictures.map((picture, i) => (
        <span class="part">
          {picture}
          <PartsMap side={found.side} map={found.maps[i]} />
        </span>
      ))}
      <figcaption class="quiet">
        Green parts hold the two together: hidden, they move the images apart. Red parts hold them apart.
      </figcaption>
    </figure>
  );
}

const Tile = ({ item, sprites }: { item: number; sprites: SpriteSheets }) => (
  <span class="picture" style={tileStyle(sprites, item, MAP_PX)} />
);

interface NearestPartsProps {
  data: WithSubject;
  ask: AskParts | null;
}

/** Why the subject is near to its nearest test image, by the final net: not at an earlier step. */
export function NearestParts({ data, ask }: NearestPartsProps) {
  const { step, steps, neighbors, sprites, subject, run } = data;
  const [ink, item, own] = [steps?.at(-1), neighbors[0]?.item, subject.item];
  if (!ask || step !== undefined || (own === undefined && !ink) || item === undefined || !sprites?.urls.length)
    return null;
  return (
    <Parts
      key={`${run} ${own ?? ink?.ink} ${item}`}
      ask={() => ask(item, own)}
      label="Why is it near to the nearest test image?"
      pictures={[
        own === undefined ? <Picture {...ink!} /> : <Tile item={own} sprites={sprites} />,
        <Tile {...{ item, sprites }} />,
      ]}
    />
  );
}

function PartsMap({ side, map }: { side: number; map: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const image = new ImageData(side, side);
    new Int8Array(decodeBase64(map).buffer).forEach((value, i) => {
      image.data.set([...(value > 0 ? TOGETHER : APART), 1.7 * Math.abs(value)], 4 * i);
    });
    context2d(canvas.current!).putImageData(image, 0, 0);
  }, [map]);
  return <canvas ref={canvas} width={side} height={side} role="img" aria-label="Parts that hold the images together" />;
}

/** The dimensions that make most of the squared distance. */
export function dimensionSentence({ dimensions, of }: Pick<ImagePair, "dimensions" | "of">): string {
  if (!dimensions.length) return "";
  const percent = (share: number) => `${(100 * share).toFixed(0)}%`;
  const parts = dimensions.map(([dimension, share]) => `dimension ${dimension + 1}: ${percent(share)}`);
  const rest = 1 - dimensions.reduce((sum, [, share]) => sum + share, 0);
  const others = of - dimensions.length;
  if (others > 0) parts.push(`${others === 1 ? "the other" : `the other ${others}`}: ${percent(rest)}`);
  return `Shares of their squared distance: ${parts.join(", ")}.`;
}

const pairName = ([first, second]: ImagePair["classes"]): string =>
  first === second ? `Both of class ${first}` : `${first} and ${second}`;

const Table = ({ spaces, same, pairs, given, curved, ...distance }: ImagePair & { given?: boolean }) => (
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
          <td title={`This threshold gets ${(100 * space.accuracy).toFixed(1)}% of the pairs right`}>
            {space.threshold.toPrecision(3)}
          </td>
          <td class={space.says_same === same ? "right" : "wrong"}>{verdict(space, same)}</td>
        </tr>
      ))}
    </table>
    <p class="quiet">{`${thresholdSentence(pairs, given, curved)} ${dimensionSentence(distance)}`}</p>
  </>
);
