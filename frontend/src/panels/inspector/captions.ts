// @ts-nocheck
// The sentences of the inspector. Pure: no DOM.

const NEAR = 3; // a neighbour among the k nearest is near on the map when it is among the 3 k nearest there

/** How many of the neighbours agree, with the image's class or, for a query, with each other. */
export function summaryOf({ subject, neighbours = [], vote, classes }) {
  if (!neighbours.length) return "";
  const truth = subject.label ?? vote?.label;
  const same = neighbours.filter((neighbour) => neighbour.label === truth).length;
  if (subject.label !== undefined) return `${same} of its ${neighbours.length} nearest are ${classes[truth]}`;
  return `${same} of the ${neighbours.length} nearest say ${classes[truth]}`;
}

/** What its way on the map rests on; "" for what has none. */
export function wayOf({ subject, way }) {
  if (!subject || subject.item !== undefined || way === undefined) return "";
  if (!way) return "Its way over the training cannot be drawn: this run kept its net at the end only.";
  return `On the map it walks with the frames: embedded by the nets kept at ${way} of them, straight lines between.`;
}

/** Of which image, and nearest among which, when. */
export function captionOf({ subject, among }) {
  const where = among ? `${among.toLocaleString("en")} test images, at the end of the run` : "those watched, at the last snapshot";
  const near = `nearest in the embedding among ${where}`;
  return subject.item === undefined ? near[0].toUpperCase() + near.slice(1) : `Test image ${subject.item.toLocaleString("en")}; ${near}`;
}

/** How many of a class are selected, of how many. */
export const countOf = ({ items, of }) => `${items.length.toLocaleString("en")} of ${of.toLocaleString("en")}`;

/** Why these are selected, in a sentence; a lasso needs none but how to go on. */
export const reasonOf = ({ reason }) => reason ?? "By hand, on the map. Click a picture to pin it.";

/** Where a neighbour lies on the map: {near, words} from its rank there among all points; null where it is not drawn. */
export function placeOf(rank, k) {
  if (rank === null || rank === undefined) return null;
  const near = rank <= NEAR * k;
  return { near, words: `${near ? "Near on the map too" : "Far on the map"}: number ${rank.toLocaleString("en")} there` };
}
