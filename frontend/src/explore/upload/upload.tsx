// Takes files of a person's own: chosen or dropped, a whole folder too. They go by a route, with progress and a way to stop.
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../../lib/format.ts";
import { rerun } from "../../lib/mount.ts";
import { dataOf, panel } from "../../lib/panel.tsx";
import { serverUrl } from "../../lib/server.ts";
import type { UploadProps } from "../../protocol.ts";
import { zipSync } from "fflate";
import style from "./upload.css";

/** A file, and where it lay in what was chosen: "flowers/rose/1.png". */
export interface Found {
  path: string;
  file: File;
}

const MAX_LOOSE = 8; // files of a folder that are sent one by one, as the four of MNIST

/** The files that were dropped, those in folders too. The entries are gone after the event, so read them in it. */
export async function dropped(transfer: DataTransfer): Promise<Found[]> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  return (await Promise.all(entries.map(below))).flat();
}

async function below(entry: FileSystemEntry): Promise<Found[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((done, fail) => (entry as FileSystemFileEntry).file(done, fail));
    return [{ path: entry.fullPath.slice(1), file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: Found[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail));
    if (!part.length) return found;
    for (const one of part) for (const each of await below(one)) found.push(each);
  }
}

/** Those that a person means: not what their system keeps in a folder. */
export const meant = (found: Found[]): Found[] =>
  found.filter(({ path }) => !/(^|\/)(\.|__MACOSX|Thumbs\.db)/.test(path));

/** The files to send: folders in a zip, not compressed, since images are. */
export async function packed(found: Found[]): Promise<File[]> {
  const paths = found.map(({ path }) => path.split("/"));
  const roots = new Set(paths.map(([root]) => root));
  const depth = paths.reduce((most, { length }) => Math.max(most, length), 0);
  if (depth < 2 || (depth === 2 && roots.size === 1 && found.length <= MAX_LOOSE)) return found.map(({ file }) => file);
  const contents: Record<string, Uint8Array> = {};
  for (const { path, file } of found) contents[path] = new Uint8Array(await file.arrayBuffer());
  const name = roots.size === 1 ? [...roots][0] : "folders";
  return [new File([zipSync(contents, { level: 0 })], `${name}.zip`)];
}

const megabytes = (size: number): string => `${(size / 1e6).toFixed(size < 10e6 ? 1 : 0)} MB`;

/** The files that are meant; throws where these may not be sent. */
async function allowed(all: Promise<Found[]>, { limit, accept }: UploadProps): Promise<File[]> {
  const found = meant(await all);
  const size = found.reduce((sum, { file }) => sum + file.size, 0);
  const other = found.find(({ path }) => accept.length && !accept.some((end) => path.toLowerCase().endsWith(end)));
  if (size > limit)
    throw new Error(`You may upload ${megabytes(limit)} at a time; this is ${megabytes(size)}. Bring less.`);
  if (accept.length && found.length > 1) throw new Error(`Bring one file; got ${found.length}.`);
  if (other) throw new Error(`Bring a file that ends in ${accept.join(", ")}; got ${other.path.slice(0, 80)}.`);
  if (!found.length) throw new Error("There is no file in that.");
  return packed(found);
}

export default panel<UploadProps>(style, ({ host, ...props }) => {
  const { accept, held, url } = props;
  const single = accept.length > 0;
  const input = useRef<HTMLInputElement>(null);
  const request = useRef<XMLHttpRequest | null>(null);
  const newest = useRef(host);
  newest.current = host;
  const [refusal, say] = useState("");
  const [isOver, setOver] = useState(false);
  const [sending, setSending] = useState<{ words: string; share: number } | null>(null);
  useEffect(() => () => request.current?.abort(), []);

  const choose = (folder: boolean) => {
    input.current!.webkitdirectory = folder;
    input.current!.click();
  };
  const take = async (all: Promise<Found[]>) => {
    if (request.current) return say("Wait for the end of this upload, or cancel it.");
    say("");
    try {
      send(await allowed(all, props));
    } catch (error) {
      say(messageOf(error));
    }
  };
  const send = (files: File[]) => {
    const form = new FormData();
    for (const file of files) form.append("file", file, file.name);
    const one = (request.current = new XMLHttpRequest());
    const words = `Sending ${files
      .map(({ name }) => name)
      .join(", ")
      .slice(0, 80)}`;
    one.responseType = "json";
    one.upload.onprogress = ({ loaded, total }) =>
      setSending({ words: `${words}: ${megabytes(loaded)} of ${megabytes(total)}`, share: loaded / total });
    one.onload = () => {
      const { error } = (one.response ?? {}) as { error?: string };
      if (one.status === 200) rerun(newest.current);
      say(one.status === 200 ? "" : (error ?? `The server did not take it (${one.status}); try again.`));
    };
    one.onerror = () => say("The upload broke off; try again.");
    one.onabort = () => say("You have stopped the upload; nothing of it is kept.");
    one.onloadend = () => {
      request.current = null;
      setSending(null);
    };
    one.open("POST", serverUrl(url));
    one.send(form);
    setSending({ words, share: 0 });
  };
  const drag = (event: DragEvent) => {
    event.preventDefault();
    setOver(event.type === "dragenter" || event.type === "dragover");
    if (event.type === "drop" && event.dataTransfer) void take(dropped(event.dataTransfer));
  };
  return (
    <section class="upload" aria-label="Upload" {...dataOf({ ready: true, held, sending: sending !== null })}>
      <div class={isOver ? "zone over" : "zone"} onDragEnter={drag} onDragOver={drag} onDragLeave={drag} onDrop={drag}>
        <span>{single ? "Drop a file here" : "Drop files or a folder here"}</span>
        <button class="link" disabled={sending !== null} onClick={() => choose(false)}>
          {single ? "Choose a file" : "Choose files"}
        </button>
        <button class="link" hidden={single} disabled={sending !== null} onClick={() => choose(true)}>
          Choose a folder
        </button>
        <input
          ref={input}
          type="file"
          hidden
          aria-label="Files"
          accept={accept.join(",")}
          multiple={!single}
          onChange={({ currentTarget }) => {
            const files = [...(currentTarget.files ?? [])];
            currentTarget.value = "";
            void take(Promise.resolve(files.map((file) => ({ path: file.webkitRelativePath || file.name, file }))));
          }}
        />
      </div>
      <p class="held">{held && [<b>{held}</b>, " is here; another file takes its place."]}</p>
      <p class="sending" hidden={!sending}>
        <span role="status">{sending?.words}</span>
        <progress max={1} value={sending?.share ?? 0} aria-label="Upload" />
        <button class="link" onClick={() => request.current?.abort()} children="Cancel" />
      </p>
      <p class="refusal" role="alert">
        {refusal}
      </p>
    </section>
  );
});
