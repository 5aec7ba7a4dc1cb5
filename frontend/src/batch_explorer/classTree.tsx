// The class tree of a hierarchical loss: a line for each class, which begins at its spread; where two lines meet, the
// classes are merged, and the margin between them follows from that threshold.
import { digits } from "../lib/format.ts";
import { maxOf } from "../lib/extent.ts";
import { css, type Rgb } from "../lib/theme.ts";
import type { TreeNode } from "../protocol.ts";

const CAPTION =
  "The class tree of this batch, in squared distances. A dot is the spread of a class, the mean distance within it. Where " +
  "two lines meet is d_H: the margin of their triplets is β + d_H − spread. In training the tree is that of all training " +
  "images, built anew every epoch.";
const MAX_CLASSES = 60; // more are no picture
const [LEFT, WIDTH, ROW, TOP] = [92, 440, 16, 18];

/** The classes of each node, in the order in which they are drawn; the last node is the root. */
export function leavesOf(tree: TreeNode[]): number[][] {
  const leaves: number[][] = [];
  for (const { label, children } of tree)
    leaves.push(children.length ? children.flatMap((child) => leaves[child]) : [label]);
  return leaves;
}

/** The tree; `labels` are the classes of an anchor and a negative, whose meeting is marked. */
export function ClassTree({ tree, names, colors, labels }: Props) {
  const leaves = leavesOf(tree);
  const order = leaves.at(-1) ?? [];
  if (order.length < 2 || order.length > MAX_CLASSES) return null;
  const end = maxOf(tree.map(({ height }) => height)) * 1.08;
  const x = (height: number) => LEFT + (height / end) * (WIDTH - LEFT - 4);
  const meeting =
    new Set(labels).size > 1 ? leaves.findIndex((own) => labels.every((label) => own.includes(label))) : -1;
  const y: number[] = [];
  for (const { label, children } of tree) {
    const rows = children.length ? children.map((child) => y[child]) : [TOP + (order.indexOf(label) + 0.5) * ROW];
    y.push((rows[0] + rows.at(-1)!) / 2);
  }
  const inner = tree.flatMap(({ height, children }, index) => (children.length ? [{ height, children, index }] : []));
  const said = inner.map(
    ({ height, index }) => `${leaves[index].map((leaf) => names[leaf]).join(", ")} at ${digits(height)}`,
  );
  return (
    <>
      <p class="note">{CAPTION}</p>
      <svg
        viewBox={`0 0 ${WIDTH} ${TOP + order.length * ROW}`}
        role="img"
        aria-label={`Class tree: ${said.join("; ")}`}
      >
        {inner.map(({ height, children, index }) => {
          const across = children.map((child) => `M${x(tree[child].height)} ${y[child]}H${x(height)}`).join("");
          const upright = `M${x(height)} ${y[children[0]]}V${y[children.at(-1)!]}`;
          return <path class={index === meeting ? "meeting" : ""} d={across + upright} />;
        })}
        {tree.map(
          ({ label, height, children }, index) =>
            !children.length && [
              <text x={LEFT - 10} y={y[index] + 4} text-anchor="end" children={names[label]} />,
              <circle cx={x(height)} cy={y[index]} r={4} fill={css(colors[label])} />,
            ],
        )}
        {[...new Set([...inner.map(({ height }) => height), 0])].map((height) => (
          <text class="tick" x={x(height)} y={11} text-anchor="middle" children={digits(height)} />
        ))}
      </svg>
    </>
  );
}

interface Props {
  tree: TreeNode[];
  names: string[];
  colors: Rgb[];
  labels: number[];
}
