// The selection as a contact sheet: class by class, each picture a button that pins it.
import { useState } from "preact/hooks";
import { packBits } from "../../lib/base64.ts";
import { bus } from "../../lib/bus.ts";
import { download } from "../../lib/dom.ts";
import { grouped, ITEM, messageOf, sentence } from "../../lib/format.ts";
import { groupColors } from "../../lib/palette.ts";
import { csvOf, groupByClass, type ClassGroup, type Selection } from "../../lib/selection.ts";
import { fetchAnswer, ROUTES } from "../../lib/server.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { css, type Theme } from "../../lib/theme.ts";
import { countOf, selectionReason } from "./captions.ts";
import { TextButton } from "../../lib/panel.tsx";

const INITIAL_COUNT = 240; // pictures before a click on "more"
const MIN_PER_CLASS = 16;
const PAGE_SIZE = 200;
const SIDE_PX = 30; // pixels, about; a whole number of them a pixel of the picture

interface Props {
  selection: Selection;
  /** Is framed. */
  pinned?: number;
  noun?: string;
  /** True if the rows have columns of their own. */
  columns?: boolean;
  pin(this: void, item: number): void;
}

export function ContactSheet({ theme, ...props }: Props & { theme: Theme }) {
  const { selection } = props;
  const groups = groupByClass(selection);
  const first = Math.max(MIN_PER_CLASS, Math.floor(INITIAL_COUNT / groups.length));
  const colors = groupColors(selection.classes, theme);
  return (
    <section class="sheet" aria-label="What is selected">
      <Headline {...props} />
      {groups.map((group) => (
        <Group
          key={`${group.label} ${group.items.length}`}
          {...{ ...props, group, first }}
          color={css(colors[group.label])}
        />
      ))}
    </section>
  );
}

const SOURCE = {};

function Group({ selection, group, color, first, pinned, noun = ITEM, pin }: GroupProps) {
  const { sprites, classes, labels, run, reason } = selection;
  const { items, name } = group;
  const [count, setCount] = useState(items.length <= first + 4 ? items.length : first);
  const hover = (target: number | null) => () => bus.emit("hover", { run, item: target, source: SOURCE });
  const side = sprites ? Math.max(1, Math.round(SIDE_PX / sprites.tile)) * sprites.tile : 0;
  return (
    <div class="group">
      <button
        class="link class"
        title={`Select only class ${name}`}
        onClick={() => bus.emit("select", { run, items, reason })}
      >
        <span class="dot" style={{ background: color }} />
        <strong>{name}</strong>
        <span class="quiet">{` ${countOf(group)}`}</span>
      </button>
      <div class="tiles">
        {items.slice(0, count).map((item) => {
          const title = `${sentence(noun)} ${grouped(item)}, ${classes[labels[item]]}`;
          return (
            <button
              class={item === pinned ? "thumb pinned" : "thumb"}
              data-item={item}
              title={title}
              aria-label={title}
              style={sprites ? tileStyle(sprites, item, side) : undefined}
              onClick={() => pin(item)}
              onPointerEnter={hover(item)}
              onFocus={hover(item)}
              onPointerLeave={hover(null)}
              onBlur={hover(null)}
            >
              {!sprites && item}
            </button>
          );
        })}
        {count < items.length && (
          <button class="link more" title="Show more" onClick={() => setCount(count + PAGE_SIZE)}>
            {`+ ${grouped(items.length - count)}`}
          </button>
        )}
      </div>
    </div>
  );
}

type GroupProps = Props & { group: ClassGroup; color: string; first: number };

async function csvWithColumns({ run, items, labels }: Selection): Promise<string> {
  const url = `${ROUTES}/runs/${run}/rows.csv`;
  const mask = new Uint8Array(labels.length);
  for (const item of items) mask[item] = 1;
  return (await fetchAnswer(url, "The rows", { method: "POST", body: packBits(mask) })).text();
}

function Headline({ selection, noun = ITEM, columns = false }: Props) {
  const { run, items, step } = selection;
  const [refused, refuse] = useState("");
  const save = async () => {
    refuse("");
    const name = `${run}-step-${step ?? "end"}-selection.csv`;
    try {
      download(name, columns ? await csvWithColumns(selection) : csvOf(selection));
    } catch (error) {
      refuse(messageOf(error));
    }
  };
  return (
    <div class="headline">
      <strong>{`${grouped(items.length)} selected`}</strong>
      <TextButton
        title={columns ? `Every column of each ${noun}` : `Index, label and class of each ${noun}`}
        onClick={() => void save()}
        children="Save as CSV"
      />
      <TextButton
        title="Clear the selection (Esc)"
        onClick={() => bus.emit("select", { run, items: [], reason: null })}
        children="Clear"
      />
      <p class="quiet">{selectionReason(selection, noun)}</p>
      {refused && <p class="quiet refused">{refused}</p>}
    </div>
  );
}
