// How sure an answer is, by the rule of dmlviz/runs/query_confidence.py and its calibration. Pure: no DOM.

/** `Calibration.packed` in Python, with its sentences. */
export interface PackedCalibration {
  distances: number[];
  limit: number;
  unlike: number;
  needed: number;
  disagreement: string[];
  short: string;
  basis: string;
}

export interface Confidence {
  level: "sure" | "unsure" | "unlike";
  title: string;
  sentence: string;
  basis: string;
}

/** Confidence that an image is of the class `name`, of which `agreeing` of its neighbors are. */
export function confidenceOf(
  { distances, limit, unlike, needed, disagreement, short, basis }: PackedCalibration,
  { distance, agreeing, name }: { distance: number; agreeing: number; name: string },
): Confidence {
  const strange = distances.filter((each) => each < distance).length / distances.length;
  const share = strange >= 1 ? "all" : `${Math.floor(100 * strange + 1e-9)} % of the`;
  const farther = `Farther from its neighbors than ${share} ${short}`;
  if (strange > unlike)
    return {
      level: "unlike",
      title: "Unlike anything here",
      sentence: `${farther}: these neighbors mean little.`,
      basis,
    };
  const reasons = [
    ...(strange > limit ? [`${farther}.`] : []),
    ...(agreeing < needed ? [disagreement[agreeing - 1]] : []),
  ];
  if (reasons.length) return { level: "unsure", title: `Perhaps ${name}`, sentence: reasons.join(" "), basis };
  return { level: "sure", title: `Surely ${name}`, sentence: "", basis };
}
