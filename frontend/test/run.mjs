// Bundles the tests, since Node.js 20 reads no TypeScript, and runs them; with words only those whose name has one of
// them: `npm test -- timeline`. `node test/run.mjs --script colors` runs that function of test/scripts.js, for Python.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { styleAsText } from "../styles.mjs";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const words = process.argv.slice(2);
const script = words[0] === "--script";
const wanted = (name) =>
  script
    ? name === "scripts.js"
    : name.endsWith(".test.js") && (!words.length || words.some((word) => name.includes(word)));

const folder = mkdtempSync(path.join(ROOT, "node_modules", ".test-"));
try {
  const sources = readdirSync(path.join(ROOT, "test"), { recursive: true }).filter(wanted).sort();
  await build({
    absWorkingDir: ROOT,
    entryPoints: sources.map((name) => `test/${name}`),
    outbase: "test",
    outdir: folder,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    plugins: [styleAsText],
    logLevel: "warning",
    outExtension: { ".js": ".mjs" },
  });
  const built = path.join(folder, "all.mjs"); // each bundle has modules of its own, in one process
  writeFileSync(built, sources.map((name) => `import "./${name.replace(/js$/, "mjs")}";`).join("\n"));
  const { status } = spawnSync(
    process.execPath,
    ["--enable-source-maps", ...(script ? [] : ["--test"]), built, ...(script ? [words[1]] : [])],
    {
      stdio: "inherit",
    },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
