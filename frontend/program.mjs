// The program of src/, for eslint's rules that ask for types and for the check of types: they are found once for both.
import ts from "typescript";

const fail = ({ messageText }) => {
  throw new Error(ts.flattenDiagnosticMessageText(messageText, "\n"));
};
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail };
const config = ts.getParsedCommandLineOfConfigFile(import.meta.dirname + "/tsconfig.json", {}, host);

export const program = ts.createProgram(config.fileNames, config.options);
