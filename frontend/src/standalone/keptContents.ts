// What a page shows: in the page itself, or, in a site, in files beside it.
import { h } from "../lib/dom.ts";
import type { RunContents } from "./runPage.ts";
import { unpack } from "./unpack.ts";

/** Contents of a page of a site (dmlviz/export/site_runs.py): the files of the run and of its projection. */
interface SitePage {
  records: string[];
  sprites: RunContents["sprites"];
  query?: RunContents["query"];
}

/** The contents; where they cannot be had, the page says why. */
export async function keptContents(page: Document): Promise<RunContents> {
  const contents = JSON.parse(page.getElementById("kept")?.textContent ?? "") as RunContents | SitePage;
  if (!("records" in contents)) return contents;
  const { records, ...own } = contents;
  try {
    const [run, ...maps] = await Promise.all(records.map((file) => unpack<RunContents>(file)));
    const all = [run, ...maps];
    const streams = all.flatMap((record) => record.streams);
    const files = Object.assign({}, ...all.map((record) => record.files ?? {})) as RunContents["files"];
    return Object.assign(run, ...maps, own, { streams, files }) as RunContents;
  } catch (error) {
    page.querySelector("main")?.replaceChildren(h("p", "trouble", (error as Error).message));
    throw error;
  }
}
