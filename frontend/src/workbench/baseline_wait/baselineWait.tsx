// Says that baselines of the curves are being measured, and has the page drawn anew with each new one.
import { useEffect } from "preact/hooks";
import { heeding } from "../../lib/boundary.ts";
import { rerun } from "../../lib/mount.ts";
import { panel } from "../../lib/panel.tsx";
import type { BaselineWaitProps } from "../../protocol.ts";
import { workOver } from "../../lib/server.ts";

export default panel<BaselineWaitProps>("", ({ work, host }) => {
  useEffect(() => {
    let awaited = true;
    heeding()(Promise.race(work.map(workOver)).then(() => awaited && rerun(host)));
    return () => (awaited = false);
  }, [work.join()]);
  const style = "opacity: 0.65; font-size: calc(14 * var(--px))";
  return <p style={style}>Raw pixels and the untrained net are being measured, which takes some seconds.</p>;
});
