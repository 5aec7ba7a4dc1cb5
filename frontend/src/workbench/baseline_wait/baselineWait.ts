// Says that baselines of the curves are being measured, and has the page drawn anew with each new one.
import { heeding } from "../../lib/boundary.ts";
import type { BaselineWaitProps } from "../../protocol.ts";
import { h } from "../../lib/dom.ts";
import { component, rerun, type ComponentArguments } from "../../lib/mount.ts";
import { workOver } from "../../lib/work.ts";
import style from "./baselineWait.css";

type Host = Pick<ComponentArguments<BaselineWaitProps>, "setTriggerValue">;

class BaselineWait {
  private readonly heed = heeding();
  private root = h(
    "p",
    "baseline-wait",
    "Raw pixels and the untrained net are being measured, which takes some seconds.",
  );
  private awaited = "";
  private host!: Host;

  constructor(parent: ParentNode) {
    parent.append(this.root);
  }

  update({ work }: BaselineWaitProps, host: Host): void {
    this.host = host;
    const awaited = work.join();
    if (awaited === this.awaited) return;
    this.awaited = awaited;
    this.heed(this.wait(work, awaited));
  }

  /** Wait until one of them is over. */
  private async wait(work: string[], awaited: string): Promise<void> {
    await Promise.race(work.map(workOver));
    if (this.awaited !== awaited) return;
    this.awaited = ""; // the page may name the same work again
    rerun(this.host);
  }

  destroy(): void {
    this.awaited = "";
    this.root.remove();
  }
}

export default component(style, BaselineWait);
