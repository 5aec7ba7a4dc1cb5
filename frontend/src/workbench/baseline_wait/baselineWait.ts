// Says that baselines of the curves are being measured, and notifies Python of each new one.
import { heeding } from "../../lib/boundary.ts";
import type { BaselineProgress, BaselineWaitProps } from "../../protocol.ts";
import { h } from "../../lib/dom.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { fetchServer } from "../../lib/server.ts";
import style from "./baselineWait.css";

const RETRY_MS = 3000; // after an answer that did not come

export default function ({ parentElement, data, setTriggerValue }: ComponentArguments<BaselineWaitProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new BaselineWait(parent),
    (wait) => {
      wait.tell = (measured) => setTriggerValue("measured", measured);
      wait.update(data);
    },
  );
}

class BaselineWait {
  private readonly heed = heeding();
  tell: (measured: number) => void = () => {};
  private root = h(
    "p",
    "baseline-wait",
    "Raw pixels and the untrained net are being measured, which takes some seconds.",
  );
  private url = "";

  constructor(parent: ParentNode) {
    parent.append(this.root);
  }

  update({ url }: BaselineWaitProps): void {
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
        if (measured !== count || !pending) return this.tell(measured);
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
