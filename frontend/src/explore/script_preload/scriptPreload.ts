// Loads a script of Streamlit's own before it is needed, when the page is there and has nothing else to do.
import type { ScriptPreloadProps } from "../../protocol.ts";
import type { ComponentArguments } from "../../lib/mount.ts";
import { BASE } from "../../lib/server.ts";

const PHONE = "(max-width: 640px)"; // on mobile data, 4.7 MB wait until a figure is opened
const OPENING_MS = 4000; // the script takes half a second to start: moments in which a page waits for its map are not idle
const PATIENCE_MS = 5000; // a map that plays leaves no idle moment

export default function ({ data }: ComponentArguments<ScriptPreloadProps>) {
  const { connection } = navigator as { connection?: { saveData?: boolean } }; // which only Chromium has
  if (matchMedia(PHONE).matches || connection?.saveData) return;
  // At the same address as Streamlit's own: a script is loaded once.
  const load = () => void import(`${BASE}static/js/${data.script}`).catch(() => {}); // then it comes with the figure
  setTimeout(() => {
    if ("requestIdleCallback" in globalThis) requestIdleCallback(load, { timeout: PATIENCE_MS });
    else load();
  }, OPENING_MS);
}
