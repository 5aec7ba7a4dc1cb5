// The sentence under the picture. Pure: no DOM.

/** How many of the neighbours agree, with the image's class or, for a query, with each other. */
export function summaryOf({ subject, neighbours = [], vote, classes }) {
  if (!neighbours.length) return "";
  const truth = subject.label ?? vote?.label;
  const same = neighbours.filter((neighbour) => neighbour.label === truth).length;
  if (subject.label !== undefined) return `${same} of its ${neighbours.length} nearest are ${classes[truth]}`;
  return `${same} of the ${neighbours.length} nearest say ${classes[truth]}`;
}

/** Of which image, and nearest among which. */
export function captionOf({ subject, among }) {
  const where = among ? `${among.toLocaleString("en")} test images` : "those watched, at the last snapshot";
  const near = `nearest in the embedding among ${where}`;
  return subject.item === undefined ? near[0].toUpperCase() + near.slice(1) : `Test image ${subject.item.toLocaleString("en")}; ${near}`;
}
