// Writes src/protocol.ts, the types of what server and page send each other, from those of Python; git does not keep it.
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compile } from "json-schema-to-typescript";

const ROOT = path.join(import.meta.dirname, "..");
const venv = path.join(ROOT, ".venv/bin/python");
const python = process.env.PYTHON ?? (existsSync(venv) ? venv : "python3");
const env = { ...process.env, PYTHONPATH: [ROOT, path.join(ROOT, "app")].join(path.delimiter) };
const schema = JSON.parse(execFileSync(python, [path.join(ROOT, "scripts/protocol_schema.py")], { env }));
const types = await compile(schema, "Props", {
  additionalProperties: false,
  unreachableDefinitions: true,
  bannerComment: "// Written by protocol.mjs from app/dmlviz_app/protocol: change that, not this.",
});
writeFileSync(path.join(import.meta.dirname, "src/protocol.ts"), types);
