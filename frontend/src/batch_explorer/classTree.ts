// The class tree of a hierarchical loss: a line for each class, which begins at its spread; where two lines meet, the
// classes are merged, and the margin between them follows from that threshold.
import { maxOf } from "../lib/extent.ts";
import { svg } from "../charts/svg.ts";
import { digits } from "../lib/format.ts";
import { css, type Rgb } from "../lib/theme.ts";
import type { TreeNode } from "../protocol.ts";

const MAX_CLASSES = 60; // more are no picture
const [LEFT, WIDTH, ROW, TOP] = [92, 440, 16, 18];

/** The classes of each node, in the order in which they are drawn; the last node is the root. */
export function leavesOf(tree: TreeNode[]): number[][] {
  const leaves: number[][] = [];
  for (const { label, children } of tree)
    leaves.push(children.length ? children.flatMap((child) => leaves[child]) : [label]);
  return leaves;
}

/** Draw the tree; `chosen` are the classes of an anchor and a negative, whose meeting is marked. */
export function drawTree(tree: TreeNode[], names: string[], colors: Rgb[], labels: number[]): SVGSVGElement | null {
  const leaves = leavesOf(tree);
  const order = leaves.at(-1) ?? [];
  if (order.length < 2 || order.length > MAX_CLASSES) return null;
  const end = maxOf(tree.map(({ height }) => height)) * 1.08;
  const x = (height: number) => LEFT + (height / end) * (WIDTH - LEFT - 4);
  const meeting =
    new Set(labels).size > 1 ? leaves.findIndex((own) => labels.every((label) => own.includes(label))) : -1;
  const y: number[] = [];
  const parts: SVGElement[] = [];
  tree.forEach(({ label, height, children }, index) => {
    const rows = children.length ? children.map((child) => y[child]) : [TOP + (order.indexOf(label) + 0.5) * ROW];
    y.push((rows[0] + rows[rows.length - 1]) / 2);
    if (!children.length) {
      parts.push(
        svg("text", { x: LEFT - 10, y: y[index] + 4, "text-anchor": "end" }, names[label]),
        svg("circle", { cx: x(height), cy: y[index], r: 4, fill: css(colors[label]) }),
      );
      return;
    }
    const across = children.map((child) => `M${x(tree[child].height)} ${y[child]}H${x(height)}`).join("");
    const kind = index === meeting ? "meeting" : "";
    parts.unshift(svg("path", { class: kind, d: `${across}M${x(height)} ${rows[0]}V${rows[rows.length - 1]}` }));
  });
  const ticks = [...new Set(tree.filter(({ children }) => children.length).map(({ height }) => height)), 0];
  for (const height of ticks)
    parts.push(svg("text", { class: "tick", x: x(height), y: 11, "text-anchor": "middle" }, digits(height)));
  const label = `Class tree: ${tree.flatMap(({ height, children }, index) => (children.length ? [`${leaves[index].map((leaf) => names[leaf]).join(", ")} at ${digits(height)}`] : [])).join("; ")}`;
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${TOP + order.length * ROW}`, role: "img", "aria-label": label },
    ...parts,
  );
}
