// The files of what a person has chosen or dropped. A folder goes as a zip, which is what the server reads.
import { zipSync } from "fflate";

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
