// Writes what Python says: src/protocol.ts, the types of what server and page send each other, and src/page.ts, the components
// of all features, which git does not keep; and these as Streamlit wants to read them, in dmlviz/pyproject.toml.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compile } from "json-schema-to-typescript";
import { OWN } from "./own.mjs";

const ROOT = path.join(import.meta.dirname, "..");
const venv = path.join(ROOT, ".venv/bin/python");
const python = process.env.PYTHON ?? (existsSync(venv) ? venv : "python3");
const env = { ...process.env, PYTHONPATH: [ROOT, path.join(ROOT, "app")].join(path.delimiter) };
const { schema, components, constants } = JSON.parse(
  execFileSync(python, [path.join(ROOT, "scripts/protocol_schema.py")], { env }),
);
const types = await compile(schema, "Props", {
  additionalProperties: false,
  unreachableDefinitions: true,
  bannerComment: "// Written by protocol.mjs from app/dmlviz_app/*/protocol.py: change that, not this.",
});
const lists = Object.entries(constants).map(
  ([name, all]) => `export const ${name}: string[] = ${JSON.stringify(all)};\n`,
);
writeFileSync(path.join(import.meta.dirname, "src/protocol.ts"), types + lists.join(""));

const exported = Object.entries(components)
  .filter(([name]) => !(name in OWN))
  .map(([name, file]) => `export { default as ${name} } from "./${file}";\n`);
const title =
  "// Everything that the app's pages mount. Written by protocol.mjs from `components` of the features in app/dmlviz_app.\n";
writeFileSync(path.join(import.meta.dirname, "src/page.ts"), title + exported.join(""));

const STREAMLIT = path.join(ROOT, "dmlviz/pyproject.toml");
const told = Object.keys(components).map((name) => `    { name = "${name}", asset_dir = "_frontend" },\n`);
const list = `components = [\n${told.join("")}]\n`;
writeFileSync(STREAMLIT, readFileSync(STREAMLIT, "utf8").replace(/^components = \[\n[^\]]*\]\n/m, list));
