// The words of a line of Python with their colors.

const TOKEN =
  /(#.*$)|("[^"]*"|'[^']*')|\b(and|as|class|def|else|False|for|from|if|import|in|is|lambda|None|not|or|return|True|while|yield)\b|\b(\d[\d_.]*(?:e-?\d+)?)\b/g;
const COLORS = ["comment", "text", "word", "number"];

/** Parts of a line, each with the class of its color or "". */
export function colored(line: string): [string, string][] {
  const parts: [string, string][] = [];
  let end = 0;
  for (const found of line.matchAll(TOKEN)) {
    if (found.index > end) parts.push([line.slice(end, found.index), ""]);
    parts.push([found[0], COLORS[found.slice(1).findIndex((group) => group !== undefined)]]);
    end = found.index + found[0].length;
  }
  return end < line.length ? [...parts, [line.slice(end), ""]] : parts;
}
