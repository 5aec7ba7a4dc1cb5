// Many new images or rows over the map at once: a data set, the kept pictures, or a file; whether they are of the same cloud.
import { useLayoutEffect, useRef } from "preact/hooks";
import { bus, MANY_NEW } from "../../lib/bus.ts";
import { grouped, messageOf, percent } from "../../lib/format.ts";
import { TextButton } from "../../lib/panel.tsx";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import type { MapSource, NewBatchContent } from "../../protocol.ts";
import { FileLabel } from "./camera.tsx";
import { ManyMarks, State } from "./gallery.tsx";

const FEW = 3; // classes, of which one reads without asking

class NewBatch {
  about = ""; // the run and its map; "" where nothing can be laid over it
  private asked: AbortController | null = null;
  sets: Record<string, string> = {}; // titles by name
  content: NewBatchContent | null = null;
  trouble = "";
  busy = "";
  isNew = false; // what is there has not been shown yet
  onChange: () => void = () => {};

  /** Another run or map is shown: what lies on the one before goes. */
  update(source: MapSource | null): void {
    const about = source?.view && !source.live ? `${source.run} ${source.view}` : "";
    if (about === this.about) return;
    this.about = about;
    this.remove();
    if (source && about)
      void this.fetch<Record<string, string>>(source, "batches.json").then((sets) => {
        this.sets = sets ?? {};
        this.onChange();
      });
  }

  /** Place a data set, or (empty) the kept pictures, or what is in a file. */
  async place(source: MapSource, name: string, file?: File): Promise<void> {
    this.remove();
    this.busy = "Placing …";
    this.onChange();
    const { about } = this;
    const query = new URLSearchParams({
      ...(name && { [file ? "file" : "data"]: name }),
      ...(source.view !== "live" && { view: source.view }),
    });
    const init = file && { method: "POST", body: file };
    const content = await this.fetch<NewBatchContent>(source, `new_batch.json?${query}`, init);
    if (about !== this.about || !content) return;
    [this.busy, this.content, this.isNew] = ["", content, true];
    bus.emit("new-batch", {
      run: source.run,
      view: source.view,
      places: content.places,
      labels: content.labels ?? null,
    });
    this.onChange();
  }

  remove(): void {
    this.asked?.abort();
    [this.content, this.trouble, this.busy] = [null, "", ""];
    bus.emit("new-batch", null);
    this.onChange();
  }

  private async fetch<T>(source: MapSource, path: string, init?: RequestInit): Promise<T | null> {
    const asked = (this.asked = new AbortController());
    try {
      const address = `${ROUTES}/runs/${source.run}/${path}`;
      return await fetchJson<T>(address, "The new images", undefined, { ...init, signal: asked.signal });
    } catch (error) {
      if (asked.signal.aborted) return null;
      [this.busy, this.trouble] = ["", messageOf(error)];
      this.onChange();
      return null;
    }
  }
}

export const newBatch = new NewBatch();

/** What places many images, or rows where there are no pictures, and what is to be said of them. */
export function NewBatchView({ source, kept, rows }: { source: MapSource; kept: number; rows: boolean }) {
  const { sets, content, trouble, busy } = newBatch;
  const names = Object.entries(sets);
  if (!newBatch.about) return <p class="quiet">{rows && "Other rows can be laid over a map that is finished."}</p>;
  return (
    <div class="gallery new-batch">
      <p>
        <strong>Lay over this map</strong>
        {rows ? " other rows of its columns" : " many pictures at once"}: where do they lie, are they of the same cloud?
      </p>
      <form
        class="keep"
        onSubmit={(event) => {
          event.preventDefault();
          void newBatch.place(source, event.currentTarget.querySelector("select")?.value ?? "");
        }}
      >
        <FileLabel
          class="link"
          label="A file to lay over this map"
          accept="" // the server says which it takes
          take={(file) => void newBatch.place(source, file.name, file)}
        >
          {`A file (${rows ? "CSV, Parquet, npy" : "zip, npy, npz, IDX, CSV"} …)`}
        </FileLabel>
        {(kept > 0 || names.length > 0) && (
          <>
            or
            <select name="data" aria-label="What to lay over this map">
              {names.map(([name, title]) => (
                <option value={name}>{title}</option>
              ))}
              {kept > 0 && <option value="">{`Your gallery (${grouped(kept)})`}</option>}
            </select>
            <button class="link" type="submit" disabled={Boolean(busy)} children="Place" />
          </>
        )}
        {content && <TextButton onClick={() => newBatch.remove()}>Remove</TextButton>}
      </form>
      <State busy={busy} trouble={trouble} />
      {content && <Result content={content} />}
    </div>
  );
}

function Result({ content: { said, classes, far, places } }: { content: NewBatchContent }) {
  const top = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (newBatch.isNew) top.current?.scrollIntoView({ block: "nearest" }); // it may have come below the fold
    newBatch.isNew = false;
  });
  return (
    <div class="result" ref={top}>
      {said.map((sentence) => (
        <p>{sentence}</p>
      ))}
      <ManyMarks count={places.length} most={MANY_NEW} />
      {far && (
        <img class="far-images" src={`data:image/png;base64,${far}`} alt="The first images that nothing is near to" />
      )}
      {classes.length > 0 && (
        <details open={classes.length <= FEW}>
          <summary>By class, those that drifted first</summary>
          <table>
            <thead>
              <tr>
                <th scope="col">Class</th>
                <th scope="col">New</th>
                <th scope="col">Map</th>
                <th scope="col" title="Nearest neighbors of one's own side; 50% for one cloud">
                  Own side
                </th>
                <th scope="col" title="By Holm, for all classes at once">
                  p
                </th>
              </tr>
            </thead>
            <tbody>
              {classes.map(([name, fresh, test, share, p]) => (
                <tr>
                  <th scope="row">{name}</th>
                  <td>{grouped(fresh)}</td>
                  <td>{grouped(test)}</td>
                  <td>{percent(share)}</td>
                  <td>{p < 0.01 ? p.toPrecision(1) : p.toFixed(2)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </div>
  );
}
