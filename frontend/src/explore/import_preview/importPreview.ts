// Preview of uploaded files: classes with counts and pictures, conversions, files left out.
import type { ImportedClass, ImportedTiles, ImportPreviewProps, SkippedFiles } from "../../protocol.ts";
import { h, setData } from "../../lib/dom.ts";
import { counted, grouped } from "../../lib/format.ts";
import { staticComponent } from "../../lib/mount.ts";
import style from "./importPreview.css";

const TILE_PX = 32;

function renderPreview(
  root: HTMLElement,
  { summary, classes, notes, warnings, left_out, tiles }: ImportPreviewProps,
): void {
  const sentences = [
    ...notes.map((note) => h("li", null, note)),
    ...warnings.map((warning) => h("li", "warning", warning)),
  ];
  root.replaceChildren(h("p", "summary", summary), tableOf(classes, tiles), h("ul", "notes", ...sentences));
  if (left_out.length) root.append(skippedList(left_out));
  setData(root, { ready: true, classes: classes.length });
}

export default staticComponent(style, "import-preview", renderPreview);

function tableOf(classes: ImportedClass[], tiles: ImportedTiles | null): HTMLElement {
  const trains = classes.some(({ train }) => train !== undefined);
  const number = (count: number | undefined) => h("td", "number", count === undefined ? "" : grouped(count));
  const rows = classes.map(({ name, train, test }, row) =>
    h(
      "tr",
      null,
      h("td", "name", name),
      trains ? number(train) : null,
      number(test),
      tiles
        ? h(
            "td",
            "tiles",
            ...Array.from({ length: tiles.counts[row] }, (_, column) => tileOf(tiles, row, column, classes.length)),
          )
        : null,
    ),
  );
  const head = h(
    "tr",
    null,
    h("th", null, "Class"),
    trains ? h("th", "number", "Train") : null,
    h("th", "number", trains ? "Test" : "Vectors"),
    tiles ? h("th", null, "First images, as the net will see them") : null,
  );
  return h("div", { class: "frame", tabindex: 0 }, h("table", null, head, ...rows));
}

function tileOf({ url, columns }: ImportedTiles, row: number, column: number, rows: number): HTMLElement {
  const tile = h("span", "tile");
  Object.assign(tile.style, {
    width: `${TILE_PX}px`,
    height: `${TILE_PX}px`,
    backgroundImage: `url("${url}")`,
    backgroundSize: `${columns * TILE_PX}px ${rows * TILE_PX}px`,
    backgroundPosition: `${-column * TILE_PX}px ${-row * TILE_PX}px`,
  });
  return tile;
}

function skippedList(reasons: SkippedFiles[]): HTMLElement {
  const count = reasons.reduce((sum, reason) => sum + reason.count, 0);
  const lines = reasons.map(({ reason, count: files, names }) =>
    h(
      "li",
      null,
      `${grouped(files)}: ${reason} `,
      h("span", "quiet", `${names.join(", ")}${files > names.length ? ", …" : ""}`),
    ),
  );
  return h("details", null, h("summary", null, `${counted(count, "file")} skipped`), h("ul", null, ...lines));
}
