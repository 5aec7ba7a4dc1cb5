// Balanced batches of all classes, as dmlviz/training/sampling.py draws them. Pure: no DOM.
import { maxOf } from "../lib/extent.ts";

function shuffled(items: number[], random: () => number): number[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

/**
 * Endless batches with `images` of each class, ordered by class: indices into `labels`. An epoch visits every image,
 * smaller classes again.
 */
export function* balanced(
  labels: ArrayLike<number>,
  classes: number,
  images: number,
  random: () => number,
): Generator<number[]> {
  const members = Array.from({ length: classes }, (): number[] => []);
  for (let i = 0; i < labels.length; i++) members[labels[i]].push(i);
  const batches = maxOf(members.map((own) => Math.ceil(own.length / images)));
  for (;;) {
    const orders = members.map((own) => shuffled(own, random));
    for (let batch = 0; batch < batches; batch++)
      yield orders.flatMap((order) =>
        Array.from({ length: images }, (_, i) => order[(batch * images + i) % order.length]),
      );
  }
}
