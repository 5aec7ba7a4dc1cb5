// @ts-nocheck
// What was understood of somebody's files: classes with counts and pictures, what was done, what was left out.
import { element } from "../../lib/element.ts";
import { mount, panel } from "../../lib/mount.ts";
import style from "./importPreview.css";

export default function ({ parentElement, data }) {
  return mount(parentElement, style, (parent) => panel(parent, "look", show), (look) => look.update(data ?? {}));
}

const grouped = (number) => number.toLocaleString("en-US");

function show(root, { summary = "", classes = [], notes = [], warnings = [], left_out = [], tiles = null }) {
  const said = element("ul", "said");
  for (const note of notes) said.append(element("li", "", note));
  for (const warning of warnings) said.append(element("li", "warning", warning));
  root.replaceChildren(element("p", "summary", summary), tableOf(classes, tiles), said);
  if (left_out.length) root.append(leftOut(left_out));
  Object.assign(root.dataset, { ready: "true", classes: classes.length });
}

function tableOf(classes, tiles) {
  const frame = element("div", "frame");
  frame.tabIndex = 0;
  const table = element("table");
  const trains = classes.some(({ train }) => train !== undefined);
  const head = element("tr");
  head.append(element("th", "", "Class"));
  if (trains) head.append(element("th", "number", "Train"));
  head.append(element("th", "number", trains ? "Test" : "Vectors"));
  if (tiles) head.append(element("th", "", "The first of them, as the net will see them"));
  table.append(head);
  classes.forEach(({ name, train, test }, row) => {
    const line = element("tr");
    line.append(element("td", "name", name));
    if (trains) line.append(element("td", "number", grouped(train)));
    line.append(element("td", "number", grouped(test)));
    if (tiles) {
      const cell = element("td", "tiles");
      for (let column = 0; column < tiles.counts[row]; column++) cell.append(tileOf(tiles, row, column, classes.length));
      line.append(cell);
    }
    table.append(line);
  });
  frame.append(table);
  return frame;
}

function tileOf({ url, columns }, row, column, rows) {
  const size = 32;
  const tile = element("span", "tile");
  Object.assign(tile.style, {
    width: `${size}px`,
    height: `${size}px`,
    backgroundImage: `url("${url}")`,
    backgroundSize: `${columns * size}px ${rows * size}px`,
    backgroundPosition: `${-column * size}px ${-row * size}px`,
  });
  return tile;
}

function leftOut(reasons) {
  const details = element("details");
  const count = reasons.reduce((sum, reason) => sum + reason.count, 0);
  details.append(element("summary", "", `${grouped(count)} ${count === 1 ? "file" : "files"} left out`));
  const list = element("ul");
  for (const { reason, count, names } of reasons) {
    const more = count > names.length ? ", …" : "";
    const line = element("li", "", `${grouped(count)}: ${reason} `);
    line.append(element("span", "quiet", `${names.join(", ")}${more}`));
    list.append(line);
  }
  details.append(list);
  return details;
}
