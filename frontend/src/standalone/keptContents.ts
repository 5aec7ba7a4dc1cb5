// What a page shows: in the page itself, or, in a site, in files beside it.
import { h } from "../lib/dom.ts";
import type { RunContents } from "./runPage.ts";
import { unpack } from "./unpack.ts";

/** What a page of a site says itself (dmlviz/export/site_runs.py): the files of the run, and of the projection on its map. */
interface SitePage {
  files: string[];
  sprites: RunContents["sprites"];
  query?: RunContents["query"];
}

/** The contents; where they cannot be had, the page says why. */
export async function keptContents(page: Document): Promise<RunContents> {
  const kept = JSON.parse(page.getElementById("kept")?.textContent ?? "") as RunContents | SitePage;
  if (!("files" in kept)) return kept;
  const { files, ...own } = kept;
  try {
    const [run, ...maps] = await Promise.all(files.map((file) => unpack<RunContents>(file)));
    const streams = [run, ...maps].flatMap((record) => record.streams);
    return Object.assign(run, ...maps, own, { streams }) as RunContents;
  } catch (error) {
    page.querySelector("main")?.replaceChildren(h("p", "trouble", (error as Error).message));
    throw error;
  }
}
