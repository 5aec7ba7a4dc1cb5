// The selection as a contact sheet: class by class, each picture a button that pins it.
import { grouped, ITEM, messageOf, sentence } from "../../lib/format.ts";
import { packBits } from "../../lib/bitmask.ts";
import { bus } from "../../lib/bus.ts";
import { h } from "../../lib/dom.ts";
import { groupColors } from "../../lib/palette.ts";
import { csvOf, groupByClass, type ClassGroup, type Selection } from "../../lib/selection.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { fetchServer, refusal, ROUTES } from "../../lib/server.ts";
import { css, readTheme } from "../../lib/theme.ts";
import { download, textButton } from "../../lib/dom.ts";
import { countOf, selectionReason } from "./captions.ts";

const INITIAL_COUNT = 240; // pictures before a click on "more"
const MIN_PER_CLASS = 16;
const PAGE_SIZE = 200;
const SIDE_PX = 30; // pixels, about; a whole number of them a pixel of the picture

/** The sheet of `selection`; `pin(item)` pins, `pinned` is framed; `at`: element whose theme is used. */
export function contactSheet(
  selection: Selection,
  {
    pin,
    pinned,
    at,
    noun = ITEM,
    columns = false,
  }: { pin: (item: number) => void; pinned?: number; at: Element; noun?: string; columns?: boolean },
): HTMLElement {
  const groups = groupByClass(selection);
  const sheet = h("section", "sheet");
  sheet.setAttribute("aria-label", "Selected images");
  sheet.append(headOf(selection, noun, columns));
  const first = Math.max(MIN_PER_CLASS, Math.floor(INITIAL_COUNT / groups.length));
  const colors = groupColors(selection.classes, readTheme(at));
  for (const group of groups) sheet.append(groupOf(group, css(colors[group.label]), first));
  return sheet;

  function groupOf(group: ClassGroup, color: string, count: number): HTMLElement {
    const part = h("div", "group");
    const narrow = () => bus.emit("select", { run: selection.run, items: group.items, reason: selection.reason });
    const title = textButton("", narrow, `Select only class ${group.name}`);
    const dot = h("span", "dot");
    dot.style.background = color;
    title.append(dot, h("strong", null, group.name), h("span", "quiet", ` ${countOf(group)}`));
    title.classList.add("class");
    const tiles = h("div", "tiles");
    part.append(title, tiles);
    const add = (from: number, to: number) => {
      tiles.append(...group.items.slice(from, to).map(thumb));
      if (to >= group.items.length) return;
      const more = textButton(
        `+ ${grouped(group.items.length - to)}`,
        () => {
          more.remove();
          add(to, to + PAGE_SIZE);
        },
        "Show more",
      );
      more.classList.add("more");
      tiles.append(more);
    };
    add(0, group.items.length <= count + 4 ? group.items.length : count);
    return part;
  }

  function thumb(item: number): HTMLElement {
    const { sprites, classes, labels, run } = selection;
    const button = h("button", item === pinned ? "thumb pinned" : "thumb", sprites ? null : String(item));
    button.type = "button";
    button.dataset.item = String(item);
    button.title = `${sentence(noun)} ${grouped(item)}, ${classes[labels[item]]}`;
    button.setAttribute("aria-label", button.title);
    if (sprites)
      Object.assign(
        button.style,
        tileStyle(sprites, item, Math.max(1, Math.round(SIDE_PX / sprites.tile)) * sprites.tile),
      );
    button.addEventListener("click", () => pin(item));
    for (const [event, target] of [
      ["pointerenter", item],
      ["focus", item],
      ["pointerleave", null],
      ["blur", null],
    ] as const) {
      button.addEventListener(event, () => bus.emit("hover", { run, item: target, source: sheet }));
    }
    return button;
  }
}

async function csvWithColumns({ run, items, labels }: Selection): Promise<string> {
  const url = `${ROUTES}/runs/${run}/rows.csv`;
  const mask = new Uint8Array(labels.length);
  for (const item of items) mask[item] = 1;
  const response = await fetchServer(url, { method: "POST", body: packBits(mask) });
  if (!response.ok) throw await refusal(response, url);
  return response.text();
}

function headOf(selection: Selection, noun: string, columns: boolean): HTMLElement {
  const head = h("div", "headline");
  const { run, items, step } = selection;
  head.append(h("strong", null, `${grouped(items.length)} selected`));
  const name = `${run}-step-${step ?? "end"}-selection.csv`;
  const save = () => {
    if (!columns) return download(name, csvOf(selection));
    head.querySelector(".refused")?.remove();
    csvWithColumns(selection).then(
      (text) => download(name, text),
      (error: unknown) => head.append(h("p", "quiet refused", messageOf(error))),
    );
  };
  head.append(
    textButton(
      "Save as CSV",
      save,
      columns ? `Every column of each ${noun}` : `Index, label and class of each ${noun}`,
    ),
  );
  head.append(
    textButton("Clear", () => bus.emit("select", { run, items: [], reason: null }), "Clear the selection (Esc)"),
  );
  head.append(h("p", "quiet", selectionReason(selection, noun)));
  return head;
}
