// What the terms of several losses are made of.

export const hinge = (x) => Math.max(0, x);

/** log(1 + eˣ) without overflow. */
export const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

/** log Σ eˣ; −∞ of nothing. */
export function logsumexp(values) {
  const most = Math.max(...values);
  if (most === -Infinity) return most;
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
}

/** The mean, the mean of those above zero, or the sum, as the loss's `reduction` has it. */
export function mean(values, b) {
  const sum = values.reduce((total, value) => total + value, 0);
  const how = b.params.reduction ?? "mean";
  if (how === "sum") return sum;
  const count = how === "nonzero" ? values.filter((value) => value > 0).length : values.length;
  return sum / Math.max(1, count);
}

/** The numbers of one of the loss's learned weights. */
export const weight = (b, name) => b.learned[name]?.values;

/**
 * The partners that count for image `a`: {positives, negatives}. Of a selection of pairs those it lists, otherwise the
 * whole batch.
 */
export function partners(b, a) {
  b.partners ??= listed(b);
  if (b.partners) return b.partners[a];
  const others = b.labels.map((_, i) => i).filter((i) => i !== a);
  const same = (i) => b.labels[i] === b.labels[a];
  return { positives: others.filter(same), negatives: others.filter((i) => !same(i)) };
}

function listed(b) {
  if (b.seen.by !== "selection" || b.seen.kind !== "pairs") return false;
  const found = b.labels.map(() => ({ positives: [], negatives: [] }));
  const add = (i, j) => (b.labels[i] === b.labels[j] ? found[i].positives : found[i].negatives).push(j);
  for (const [i, j] of b.rows) {
    add(i, j);
    if (!b.anchored) add(j, i);
  }
  return found;
}
