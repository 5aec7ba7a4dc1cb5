// The figures of a lab's page in a static site, drawn by Plotly, which lies beside the page in a gzip file.
import { h } from "../lib/dom.ts";
import { unzipped } from "./unpack.ts";

declare const Plotly: { react(place: Element, figure: object): void };

async function loadPlotly(): Promise<void> {
  const script = h("script", null);
  script.src = URL.createObjectURL(new Blob([await unzipped("plotly.bin")]));
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error("This browser does not run the program that draws the figures."));
    document.head.append(script);
  });
  URL.revokeObjectURL(script.src);
}

function draw(place: Element): void {
  const { light, dark } = JSON.parse(place.nextElementSibling?.textContent ?? "") as { light: object; dark: object };
  const theme = globalThis.matchMedia("(prefers-color-scheme: dark)");
  const config = { displaylogo: false, responsive: true };
  const show = () => Plotly.react(place, { ...(theme.matches ? dark : light), config });
  show();
  theme.addEventListener("change", show);
}

const places = document.querySelectorAll(".plot");
try {
  await loadPlotly();
  places.forEach(draw);
} catch (error) {
  for (const place of places) place.replaceChildren(h("p", "trouble", (error as Error).message));
}
