// Many new images over the map at once: a data set, or the kept pictures; and whether they are of the same cloud.
import { useLayoutEffect, useRef } from "preact/hooks";
import { bus, MANY_NEW } from "../../lib/bus.ts";
import { grouped, messageOf, percent } from "../../lib/format.ts";
import { TextButton } from "../../lib/panel.tsx";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import type { MapSource, NewBatchContent } from "../../protocol.ts";
import { ManyMarks } from "./gallery.tsx";

const FEW = 3; // classes, of which one reads without asking

class NewBatch {
  private about = "";
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
      void this.fetch<Record<string, string>>(source, "batches.json").then((sets) => this.offer(sets));
  }

  get isPossible(): boolean {
    return this.about !== "";
  }

  /** Place a data set, or (empty) the kept pictures. */
  async place(source: MapSource, name: string): Promise<void> {
    this.remove();
    this.busy = "Placing …";
    this.onChange();
    const { about } = this;
    const query = new URLSearchParams({
      ...(name && { data: name }),
      ...(source.view !== "live" && { view: source.view }),
    });
    const content = await this.fetch<NewBatchContent>(source, `new_batch.json?${query}`);
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

  private offer(sets: Record<string, string> | null): void {
    this.sets = sets ?? {};
    this.onChange();
  }

  private async fetch<T>(source: MapSource, path: string): Promise<T | null> {
    const asked = (this.asked = new AbortController());
    try {
      const address = `${ROUTES}/runs/${source.run}/${path}`;
      return await fetchJson<T>(address, "The new images", undefined, { signal: asked.signal });
    } catch (error) {
      if (asked.signal.aborted) return null;
      [this.busy, this.trouble] = ["", messageOf(error)];
      this.onChange();
      return null;
    }
  }
}

export const newBatch = new NewBatch();

/** The line that places many images, and what is to be said of them. */
export function NewBatchView({ source, kept }: { source: MapSource; kept: number }) {
  const { sets, content, trouble, busy } = newBatch;
  const names = Object.entries(sets);
  if (!newBatch.isPossible || (!kept && !names.length)) return null;
  return (
    <div class="gallery new-batch">
      <form
        class="keep quiet"
        onSubmit={(event) => {
          event.preventDefault();
          void newBatch.place(source, event.currentTarget.querySelector("select")?.value ?? "");
        }}
      >
        <label>
          Lay over this map{" "}
          <select name="data">
            {names.map(([name, title]) => (
              <option value={name}>{title}</option>
            ))}
            {kept > 0 && <option value="">{`Your gallery (${grouped(kept)})`}</option>}
          </select>
        </label>
        <button class="link" type="submit" disabled={Boolean(busy)} children="Place" />
        {content && <TextButton onClick={() => newBatch.remove()}>Remove</TextButton>}
      </form>
      <p class="quiet" role="status">
        {busy}
      </p>
      <p class="refused" role="alert">
        {trouble}
      </p>
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
                <th scope="col" title="Nearest neighbors of one's own side; 50 % for one cloud">
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
                  <td>{p < 0.01 ? p.toExponential(0) : p.toFixed(2)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </div>
  );
}
