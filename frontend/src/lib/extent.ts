// Extremes of any number of values: `Math.max(...values)` overflows the stack at some 125,000.

/** The largest value; `least` where none is larger. */
export function maxOf(values: Iterable<number>, least = -Infinity): number {
  let most = least;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** The smallest value; `most` where none is smaller. */
export function minOf(values: Iterable<number>, most = Infinity): number {
  let least = most;
  for (const value of values) least = Math.min(least, value);
  return least;
}
