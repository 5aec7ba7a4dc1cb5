// The figures of a lab's page in a static site. They and Plotly, which draws them, lie beside the page in gzip files.
import { h } from "../lib/dom.ts";
import { unzip } from "./unpack.ts";

interface Figure {
  light: object;
  dark: object;
}

declare const Plotly: { react(place: Element, figure: object): void };

async function loadPlotly(): Promise<void> {
  const script = h("script", null);
  script.src = URL.createObjectURL(new Blob([await unzip("plotly.bin")]));
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error("This browser does not run the program that draws the figures."));
    document.head.append(script);
  });
  URL.revokeObjectURL(script.src);
}

async function loadFigures(): Promise<Figure[]> {
  const file = document.querySelector<HTMLElement>("main")?.dataset.figures ?? "";
  return JSON.parse(new TextDecoder().decode(await unzip(file))) as Figure[];
}

function draw(place: Element, { light, dark }: Figure): void {
  const theme = globalThis.matchMedia("(prefers-color-scheme: dark)");
  const config = { displaylogo: false, responsive: true };
  const show = () => Plotly.react(place, { ...(theme.matches ? dark : light), config });
  show();
  theme.addEventListener("change", show);
}

const places = [...document.querySelectorAll(".plot")];
try {
  const [figures] = await Promise.all([loadFigures(), loadPlotly()]);
  figures.forEach((figure, i) => draw(places[i], figure));
} catch (error) {
  for (const place of places) place.replaceChildren(h("p", "trouble", (error as Error).message));
}
