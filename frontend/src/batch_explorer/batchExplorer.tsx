// Two drawers below the map: what the loss sees of a batch, and how far test images are apart. Closed, they ask nothing.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { panel, themeOf, type Hosted } from "../lib/panel.tsx";
import type { BatchExplorerProps } from "../protocol.ts";
import style from "./batchExplorer.css";
import { BatchView } from "./batchView.tsx";
import { DistanceHistogram } from "./distanceHistogram.tsx";

function BatchExplorer({ host, ...source }: Hosted<BatchExplorerProps>) {
  const [opened, setOpened] = useState<Record<string, boolean>>({});
  const panels = useRef<Record<string, HTMLElement | null>>({});
  const theme = themeOf(host);
  const drawers = [
    { title: "What the loss sees", View: BatchView },
    { title: "Distance distribution", View: DistanceHistogram },
  ].slice(source.given ? 1 : 0);
  const last = useRef(opened);
  useLayoutEffect(() => {
    const title = drawers.find(({ title }) => opened[title] && !last.current[title])?.title ?? "";
    last.current = opened;
    panels.current[title]?.scrollIntoView?.({ block: "nearest", behavior: theme.still ? "auto" : "smooth" });
  }, [opened]);
  return (
    <section class="lossview" data-ready="true" data-run={source.run}>
      <div class="bar" role="group" aria-label="More views">
        {drawers.map(({ title }) => (
          <button
            aria-expanded={Boolean(opened[title])}
            onClick={() => setOpened((before) => ({ ...before, [title]: !before[title] }))}
          >
            {title}
          </button>
        ))}
      </div>
      {drawers.map(({ title, View }) => (
        <div key={title} ref={(node) => void (panels.current[title] = node)} class="panel" hidden={!opened[title]}>
          {title in opened && <View {...source} theme={theme} open={opened[title]} />}
        </div>
      ))}
    </section>
  );
}

export default panel<BatchExplorerProps>(style, BatchExplorer);
