// Says that baselines of the curves are being measured, and has the page drawn anew with each new one.
import { heeding } from "../../lib/boundary.ts";
import type { BaselineProgress, BaselineWaitProps } from "../../protocol.ts";
import { h } from "../../lib/dom.ts";
import { component, rerun, type ComponentArguments } from "../../lib/mount.ts";
import { fetchServer } from "../../lib/server.ts";
import style from "./baselineWait.css";

const RETRY_MS = 3000; // after an answer that did not come

type Host = Pick<ComponentArguments<BaselineWaitProps>, "setTriggerValue">;

class BaselineWait {
  private readonly heed = heeding();
  private root = h(
    "p",
    "baseline-wait",
    "Raw pixels and the untrained net are being measured, which takes some seconds.",
  );
  private url = "";
  private host!: Host;

  constructor(parent: ParentNode) {
    parent.append(this.root);
  }

  update({ url }: BaselineWaitProps, host: Host): void {
    this.host = host;
    if (url === this.url) return;
    this.url = url;
    this.heed(this.ask(url));
  }

  /** Ask until there is more to draw. The server holds its answer back until then, but not for ever. */
  private async ask(url: string): Promise<void> {
    const count = Number(new URLSearchParams(url.split("?")[1]).get("drawn"));
    while (this.url === url) {
      try {
        const response = await fetchServer(url);
        if (!response.ok) throw new Error(response.statusText);
        const { measured, pending } = (await response.json()) as BaselineProgress;
        if (this.url !== url) return;
        if (measured !== count || !pending) return rerun(this.host);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  destroy(): void {
    this.url = "";
    this.root.remove();
  }
}

export default component(style, BaselineWait);
