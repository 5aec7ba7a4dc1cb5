// Bundles src/ into dmlviz/_frontend: one script for all components of the app, an address for each of them, and the
// exported page, a site, and the notebook. `node build.mjs --check` writes nothing and fails where what is committed is stale.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { OWN } from "./own.mjs";
import { styleAsText } from "./styles.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const OUT = path.join(HERE, "..", "dmlviz", "_frontend");
// The map by itself, for any page and for Streamlit; a package of its own.
const MAP = "../../packages/streamlit-embedding-map/streamlit_embedding_map/_frontend/embedding_map.js";
// The labs' pages of a site draw lines, bars and matrices: a third of Plotly does that.
const PLOTLY = path.join(HERE, "node_modules", "plotly.js-cartesian-dist-min", "plotly-cartesian.min.js");

const OPTIONS = {
  absWorkingDir: HERE,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  write: false,
  metafile: true,
  logLevel: "warning",
};

/** What belongs into dmlviz/_frontend: {name: text}. The same sources give the same bytes, wherever they lie. */
async function bundles() {
  const toured = await build({ ...OPTIONS, entryPoints: ["src/welcome/tour.ts"], plugins: [styleAsText] });
  const tour = named("tour", toured.outputFiles[0].text);
  const moved = await build({ ...OPTIONS, entryPoints: ["src/projection/worker.ts"] });
  const layout = named("layout_worker", moved.outputFiles[0].text);
  // A page without a server has no address, and no other files: the script that moves points is within.
  const alone = { "import.meta.url": '""', LAYOUT_SCRIPT: '""', LAYOUT_CODE: JSON.stringify(layout[1]) };
  const own = await Promise.all(
    Object.values(OWN).map((file) => build({ ...OPTIONS, entryPoints: [file], plugins: [styleAsText] })),
  );
  const built = await Promise.all([
    build({
      ...OPTIONS,
      entryPoints: ["src/page.ts"],
      plugins: [styleAsText],
      define: { TOUR_SCRIPT: JSON.stringify(tour[0]), LAYOUT_SCRIPT: JSON.stringify(layout[0]), LAYOUT_CODE: '""' }, // loaded when asked for
    }),
    build({
      ...OPTIONS,
      entryPoints: ["src/standalone/standalone.ts"],
      plugins: [styleAsText],
      define: alone,
    }),
    build({
      ...OPTIONS,
      entryPoints: ["src/notebook/notebook.ts"],
      plugins: [styleAsText],
      define: alone,
    }),
    build({
      ...OPTIONS,
      entryPoints: ["src/standalone/embeddingMap.ts"],
      plugins: [styleAsText],
      define: { ...alone, LAYOUT_CODE: '""' },
    }),
    build({ ...OPTIONS, entryPoints: ["src/standalone/formulas.ts"] }),
    build({
      ...OPTIONS,
      entryPoints: ["src/standalone/figures.ts"],
      define: { "import.meta.url": JSON.stringify("") },
    }),
    build({ ...OPTIONS, entryPoints: ["src/standalone/standalone.css"] }),
    ...["playground", "worker", "service_worker"].map((name) =>
      build({
        ...OPTIONS,
        entryPoints: [`src/playground/${name}.ts`],
        plugins: [styleAsText],
        define: alone,
      }),
    ),
  ]);
  const [page, standalone, notebook, map, formulas, figures, style, playground, worker, service] = built;
  const [{ exports: components }] = Object.values(page.metafile.outputs);
  const script = named("page", page.outputFiles[0].text);
  // Streamlit gives every component an address of its own, but they all load the script from that of the workbench.
  const entries = components.map((name) =>
    named(name, `export { ${name} as default } from "../dmlviz.workbench/${script[0]}";\n`),
  );
  return Object.fromEntries([
    script,
    ...Object.keys(OWN).map((name, i) => named(name, own[i].outputFiles[0].text)),
    tour,
    layout,
    ...entries,
    ["standalone.js", standalone.outputFiles[0].text],
    ["notebook.js", notebook.outputFiles[0].text],
    [MAP, map.outputFiles[0].text],
    ["playground.js", playground.outputFiles[0].text],
    ["playground_worker.js", worker.outputFiles[0].text],
    ["service_worker.js", service.outputFiles[0].text],
    ["formulas.js", formulas.outputFiles[0].text],
    ["figures.js", figures.outputFiles[0].text],
    ["plotly.js", readFileSync(PLOTLY, "utf8")],
    ["standalone.css", style.outputFiles[0].text],
    ["LICENSES.txt", licenses([toured, moved, ...own, ...built])],
  ]);
}

/** The licenses of the libraries of which something is in these bundles, and Plotly's, whose own file is taken whole. */
function licenses(built) {
  const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const names = inputs.flatMap((name) => name.match(/(?<=node_modules\/)(?:@[^/]+\/)?[^/]+/) ?? []);
  const texts = [...new Set([...names, "plotly.js-cartesian-dist-min"])].sort().map((name) => {
    const folder = path.join(HERE, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[sc]e/i.test(entry));
    return `${name} ${version}: ${license}\n\n${file ? readFileSync(path.join(folder, file), "utf8").trim() : ""}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

/** A browser may keep for ever what is named after its content. */
function named(name, text) {
  return [`${name}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}.js`, text];
}

function committed() {
  mkdirSync(OUT, { recursive: true });
  return Object.fromEntries(
    [...readdirSync(OUT).sort(), ...(existsSync(path.join(OUT, MAP)) ? [MAP] : [])].map((name) => [
      name,
      readFileSync(path.join(OUT, name), "utf8"),
    ]),
  );
}

const [made, before] = [await bundles(), committed()];
const stale = [...new Set([...Object.keys(made), ...Object.keys(before)])]
  .filter((name) => made[name] !== before[name])
  .sort();
if (process.argv.includes("--check")) {
  if (stale.length) {
    console.error(
      `dmlviz/_frontend is stale (${stale.join(", ")}): run npm run build in frontend/ and commit what it wrote.`,
    );
    process.exit(1);
  }
} else {
  for (const name of stale) {
    if (name in made) writeFileSync(path.join(OUT, name), made[name]);
    else rmSync(path.join(OUT, name));
  }
  for (const [name, text] of Object.entries(made))
    if (text.length > 1000) console.log(`${name} ${Math.round(text.length / 1024)} kB`);
}
