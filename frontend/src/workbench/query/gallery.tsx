// A person's own pictures, kept under names with a run: the line that keeps one more, and what is kept so far.
import { bus, MANY_KEPT } from "../../lib/bus.ts";
import { heeding } from "../../lib/boundary.ts";
import { grouped, messageOf } from "../../lib/format.ts";
import { TextButton } from "../../lib/panel.tsx";
import { fetchJson, ROUTES, serverUrl } from "../../lib/server.ts";
import type { GalleryContent, QuerySource } from "../../protocol.ts";
import { frameParameter } from "./frameGeometry.ts";
import { bodyOf, type Keepable } from "./questions.ts";

const SHOWN = 12; // the newest; the others after a click
const MOST_SHOWN = 600;
const MAX_NAME = 60; // characters

export const isZip = (file: File): boolean => /\.zip$/i.test(file.name);

/** The address of a kept picture. */
export const pictureUrl = (run: string, id: string): string =>
  serverUrl(`${ROUTES}/runs/${run}/gallery/${encodeURIComponent(id)}.png`);

class Gallery {
  private readonly heed = heeding();
  private source: QuerySource | null = null;
  private about = "";
  content: GalleryContent | null = null;
  files: File[] = []; // several, to be kept at once
  said: string[] = [];
  trouble = "";
  busy = "";
  isWhole = false; // whether all are shown
  name = ""; // that was given last
  onChange: () => void = () => {};

  /** Another run is shown, or another map of it was finished. */
  update(source: QuerySource | null): void {
    const isOther = source?.run !== this.source?.run;
    this.source = source;
    if (isOther) {
      [this.said, this.trouble, this.files, this.isWhole] = [[], "", [], false];
      this.take(null);
    }
    const about = source && !source.live ? source.url + source.view : "";
    if (about === this.about) return;
    const lacks = !source || !(source.view in (this.content?.places ?? {}));
    const isNewRun = isOther || source?.url !== this.about.slice(0, source?.url.length);
    this.about = about;
    if (about && (isNewRun || (lacks && this.content?.pictures.length))) this.heed(this.send("GET", ".json"));
  }

  /** Several files are to be kept at once, or none; what was said of others is over. */
  choose(files: File[]): void {
    [this.files, this.said, this.trouble] = [files, [], ""];
  }

  /** Keep pictures under a name, one after the other; a sentence says what is wrong with which. */
  async keep(name: string, pictures: Keepable[]): Promise<void> {
    [this.said, this.trouble, this.name] = [[], "", name];
    const several = pictures.length > 1;
    for (const [index, { question, frame, title = "" }] of pictures.entries()) {
      this.busy = several ? `Keeping ${index + 1} of ${pictures.length} …` : "Keeping …";
      this.onChange();
      const named = `?name=${encodeURIComponent(name)}${frame ? `&frame=${frameParameter(frame)}` : ""}`;
      const error = await this.send("POST", named, bodyOf(question));
      const said = error ? [error] : (this.content?.said ?? []);
      if (several) this.said = [...this.said, ...(said.length ? said : ["kept"]).map((words) => `${title}: ${words}`)];
      else if (error) this.trouble = title ? `${title}: ${error}` : error;
      else this.said = said;
    }
    this.busy = "";
    if (!this.trouble) this.files = [];
    this.onChange();
  }

  async remove(id: string): Promise<void> {
    [this.said, this.trouble] = [[], ""];
    this.trouble = await this.send("DELETE", `/${encodeURIComponent(id)}`);
    this.onChange();
  }

  /** Send a request about the gallery and take what it holds then; the error in a sentence, or "". */
  private async send(method: string, path: string, init: RequestInit = {}): Promise<string> {
    const { source } = this;
    if (!source) return "";
    try {
      const address = `${ROUTES}/runs/${source.run}/gallery${path}`;
      const content = await fetchJson<GalleryContent>(address, "The gallery", undefined, { ...init, method });
      if (this.source?.run === source.run) this.take(content);
      return "";
    } catch (error) {
      if (method === "GET") this.trouble = messageOf(error);
      return messageOf(error);
    } finally {
      this.onChange();
    }
  }

  private take(content: GalleryContent | null): void {
    this.content = content;
    const { run } = this.source ?? {};
    const names = content?.pictures.map(([, name]) => name) ?? [];
    bus.emit("gallery", run && content ? { run, names, places: content.places } : null);
  }
}

export const gallery = new Gallery();

interface LineProps {
  source: QuerySource;
  pictures: Keepable[];
  /** The pictures are kept. */
  kept(this: void): void;
}

/** One line: a name, and the button that keeps what was asked about, or several files, under it. */
export function KeepLine({ source, pictures, kept }: LineProps) {
  const names = [...new Set([...(gallery.content?.pictures ?? []).map(([, name]) => name), ...source.names])];
  const areZips = pictures.every(({ question }) => question instanceof File && isZip(question));
  const what = pictures.length === 1 ? (areZips ? "Add this zip" : "Keep this as") : `Keep ${pictures.length} as`;
  if (source.live) return <p class="quiet keep">Pictures can be kept when the training has ended.</p>;
  return (
    <form
      class="keep quiet"
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.querySelector("input");
        void gallery.keep(field?.value ?? "", pictures).then(() => !gallery.trouble && kept());
      }}
    >
      <label>
        {what}{" "}
        {!areZips && (
          <input
            name="name"
            list="kept-names"
            autocomplete="off"
            maxLength={MAX_NAME}
            defaultValue={gallery.name}
            placeholder="a name"
            required
          />
        )}
      </label>
      <datalist id="kept-names">
        {names.slice(0, 200).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button class="link" type="submit" disabled={Boolean(gallery.busy)} children={areZips ? "Add" : "Keep"} />
      {gallery.content?.shared && " for the whole class"}
    </form>
  );
}

/** What is under way, and why something was not done. */
export const State = ({ busy, trouble }: { busy: string; trouble: string }) => (
  <>
    <p class="quiet" role="status" children={busy} />
    <p class="refused" role="alert" children={trouble} />
  </>
);

/** How far the keeping is, what was said of it, and why something was not kept. */
export function Said() {
  const { said, trouble, busy } = gallery;
  return (
    <div class="gallery">
      <State busy={busy} trouble={trouble} />
      {said.length > 0 && (
        <ul class="said quiet" role="status">
          {said.map((words) => (
            <li>{words}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Says that not all marks are drawn. */
export const ManyMarks = ({ count, most }: { count: number; most: number }) =>
  count > most ? <p class="quiet">Where marks would lie close together, one is drawn; zoom in for more.</p> : null;

/** What is kept, newest first; nothing where there is none. */
export function GalleryList({ source, removed }: { source: QuerySource; removed(this: void): void }) {
  const { content, isWhole } = gallery;
  const pictures = [...(content?.pictures ?? [])].reverse();
  const shown = pictures.slice(0, isWhole ? MOST_SHOWN : SHOWN);
  const remove = (id: string) => void gallery.remove(id).then(() => !gallery.trouble && removed());
  return (
    <div class="gallery">
      {pictures.length > 0 && (
        <>
          <p class="quiet heading">
            <span>{`◇ Your gallery: ${grouped(pictures.length)}`}</span>
            <a class="link" href={serverUrl(`${ROUTES}/runs/${source.run}/gallery.zip`)} download children="Export" />
          </p>
          <ManyMarks count={pictures.length} most={MANY_KEPT} />
          <ul class="pictures">
            {shown.map(([id, name, isMine]) => (
              <li key={id} data-kept={name}>
                <img src={pictureUrl(source.run, id)} alt="" loading="lazy" />
                <span class="name" title={name}>
                  {name}
                </span>
                {isMine && (
                  <button class="remove" aria-label={`Remove ${name}`} title="Remove" onClick={() => remove(id)}>
                    ×
                  </button>
                )}
              </li>
            ))}
          </ul>
          {pictures.length > shown.length && !isWhole && (
            <TextButton
              onClick={() => {
                gallery.isWhole = true;
                gallery.onChange();
              }}
            >
              {`Show ${pictures.length > MOST_SHOWN ? `the newest ${MOST_SHOWN}` : "all"}`}
            </TextButton>
          )}
        </>
      )}
    </div>
  );
}
