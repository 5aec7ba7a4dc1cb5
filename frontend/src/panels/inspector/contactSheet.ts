// @ts-nocheck
// The selection as a contact sheet: class by class, each picture a button that pins it.
import { bus } from "../../lib/bus.ts";
import { element } from "../../lib/element.ts";
import { classColours } from "../../lib/palette.ts";
import { byClass, csvOf } from "../../lib/selection.ts";
import { tileStyle } from "../../lib/sprites.ts";
import { css, readTheme } from "../../lib/theme.ts";
import { download, textButton } from "../../lib/buttons.ts";
import { countOf, reasonOf } from "./captions.ts";

const AT_FIRST = 240; // pictures shown before somebody asks for more
const LEAST_OF_A_CLASS = 16;
const MORE = 200;
const SIDE = 30; // pixels, about; a whole number of them a pixel of the picture

/** The sheet of `selection` (see selection.js); `pin(item)` pins, `pinned` is framed. */
export function sheetOf(selection, { pin, pinned, at }) {
  const groups = byClass(selection);
  const sheet = element("section", "sheet");
  sheet.setAttribute("aria-label", "Selected images");
  sheet.append(headOf(selection));
  const first = Math.max(LEAST_OF_A_CLASS, Math.floor(AT_FIRST / groups.length));
  const colours = classColours(selection.classes.length, readTheme(at).dark);
  for (const group of groups) sheet.append(groupOf(group, css(colours[group.label]), first));
  return sheet;

  function groupOf(group, colour, shown) {
    const part = element("div", "group");
    const narrow = () => bus.emit("select", { run: selection.run, items: group.items, reason: selection.reason });
    const title = textButton("", narrow, `Select only these of class ${group.name}`);
    const dot = element("span", "dot");
    dot.style.background = colour;
    title.append(dot, element("strong", null, group.name), element("span", "quiet", ` ${countOf(group)}`));
    title.classList.add("class");
    const tiles = element("div", "tiles");
    part.append(title, tiles);
    const add = (from, to) => {
      tiles.append(...group.items.slice(from, to).map(thumb));
      if (to >= group.items.length) return;
      const more = textButton(`+ ${(group.items.length - to).toLocaleString("en")}`, () => {
        more.remove();
        add(to, to + MORE);
      }, "Show more");
      more.classList.add("more");
      tiles.append(more);
    };
    add(0, group.items.length <= shown + 4 ? group.items.length : shown);
    return part;
  }

  function thumb(item) {
    const { sprites, classes, labels, run, notes } = selection;
    const button = element("button", item === pinned ? "thumb pinned" : "thumb", sprites ? null : String(item));
    button.type = "button";
    button.dataset.item = item;
    const note = notes?.(item);
    button.title = `Test image ${item}, ${classes[labels[item]]}${note ? `; ${note}` : ""}`;
    button.setAttribute("aria-label", button.title);
    if (sprites) Object.assign(button.style, tileStyle(sprites, item, Math.max(1, Math.round(SIDE / sprites.tile)) * sprites.tile));
    button.addEventListener("click", () => pin(item));
    for (const [event, hovered] of [["pointerenter", item], ["focus", item], ["pointerleave", null], ["blur", null]]) {
      button.addEventListener(event, () => bus.emit("hover", { run, item: hovered, source: sheet }));
    }
    return button;
  }
}

function headOf(selection) {
  const head = element("div", "headline");
  const { run, items, step } = selection;
  head.append(element("strong", null, `${items.length.toLocaleString("en")} selected`));
  const name = `${run}-step-${step ?? "end"}-selection.csv`;
  head.append(textButton("Save as CSV", () => download(name, csvOf(selection)), "Item, label and class of each"));
  head.append(textButton("Clear", () => bus.emit("select", { run, items: [], reason: null }), "Select nothing (Escape on the map)"));
  const why = reasonOf(selection);
  head.append(element("p", "quiet", why));
  return head;
}
