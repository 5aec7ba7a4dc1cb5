// Preview of uploaded files: classes with counts and pictures, conversions, files left out.
import { counted, grouped } from "../../lib/format.ts";
import { dataOf, panel } from "../../lib/panel.tsx";
import type { ImportedTiles, ImportPreviewProps } from "../../protocol.ts";
import style from "./importPreview.css";

const TILE_PX = 32;

export default panel<ImportPreviewProps>(style, ({ summary, classes, notes, warnings, left_out, tiles }) => {
  const trains = classes.some(({ train }) => train !== undefined);
  const number = (count: number | undefined) => <td class="number">{count === undefined ? "" : grouped(count)}</td>;
  const skipped = left_out.reduce((sum, { count }) => sum + count, 0);
  return (
    <section class="import-preview" {...dataOf({ ready: true, classes: classes.length })}>
      <p class="summary">{summary}</p>
      <div class="frame" tabIndex={0}>
        <table>
          <tr>
            <th>Class</th>
            {trains && <th class="number">Train</th>}
            <th class="number">{trains ? "Test" : "Vectors"}</th>
            {tiles && <th>First images, as the net will see them</th>}
          </tr>
          {classes.map(({ name, train, test }, row) => (
            <tr>
              <td class="name">{name}</td>
              {trains && number(train)}
              {number(test)}
              {tiles && <td class="tiles">{tilesOf(tiles, row, classes.length)}</td>}
            </tr>
          ))}
        </table>
      </div>
      <ul class="notes">
        {[...notes, ...warnings].map((sentence, i) => (
          <li class={i < notes.length ? undefined : "warning"}>{sentence}</li>
        ))}
      </ul>
      {skipped > 0 && (
        <details>
          <summary>{counted(skipped, "file")} skipped</summary>
          <ul>
            {left_out.map(({ reason, count, names }) => (
              <li>
                {`${grouped(count)}: ${reason} `}
                <span class="quiet">{`${names.join(", ")}${count > names.length ? ", …" : ""}`}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
});

function tilesOf({ url, columns, counts }: ImportedTiles, row: number, rows: number) {
  return Array.from({ length: counts[row] }, (_, column) => {
    const style = {
      width: `${TILE_PX}px`,
      height: `${TILE_PX}px`,
      backgroundImage: `url("${url}")`,
      backgroundSize: `${columns * TILE_PX}px ${rows * TILE_PX}px`,
      backgroundPosition: `${-column * TILE_PX}px ${-row * TILE_PX}px`,
    };
    return <span class="tile" style={style} />;
  });
}
