import tseslint from "typescript-eslint";
import js from "@eslint/js";
import { program } from "./program.mjs";

const GLOBALS = [
  "process",
  "console",
  "globalThis",
  "setTimeout",
  "Buffer",
  "atob",
  "btoa",
  "performance",
  "URL",
  "Blob",
  "setImmediate",
  "Response",
];

export default tseslint.config(
  { ignores: ["node_modules", "src/page.ts", "src/protocol.ts"] },
  js.configs.recommended,
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [...tseslint.configs.recommendedTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { programs: [program] } },
    rules: {
      "@typescript-eslint/no-empty-function": "off", // a hook that nobody needs does nothing
      // Panels' listeners are guarded (lib/panel.tsx), which hears of a promise that fails.
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/non-nullable-type-assertion-style": "off",
      "@typescript-eslint/prefer-nullish-coalescing": ["error", { ignorePrimitives: true }],
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "CallExpression[callee.property.name=/^(max|min|hypot|push|unshift|splice|concat|apply|of|fromCharCode|fromCodePoint)$/] > SpreadElement",
          message:
            "Each number becomes an argument, and some 125,000 overflow the stack: use lib/extent.ts, or a loop.",
        },
      ],
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  {
    // Below a sub-path only lib/server.ts knows where the server is.
    files: ["src/**/*.{ts,tsx}"],
    ignores: ["src/lib/server.ts"],
    rules: {
      "no-restricted-globals": ["error", { name: "fetch", message: "Use fetchServer of lib/server.ts." }],
      "no-restricted-properties": [
        "error",
        { object: "globalThis", property: "fetch", message: "Use fetchServer of lib/server.ts." },
      ],
    },
  },
  {
    files: ["**/*.js", "**/*.mjs"],
    languageOptions: { globals: Object.fromEntries(GLOBALS.map((name) => [name, "readonly"])) },
  },
);
