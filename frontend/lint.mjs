// What eslint and the compiler complain of.
import { ESLint } from "eslint";
import ts from "typescript";
import { program } from "./program.mjs";

const eslint = new ESLint({ cwd: import.meta.dirname });
const results = await eslint.lintFiles(".");
const said = (await eslint.loadFormatter()).format(results);
const host = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: ts.sys.getCurrentDirectory,
  getNewLine: () => "\n",
};
const types = ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), host);
process.stdout.write(said + types);
process.exitCode = Number(Boolean(said || types));
