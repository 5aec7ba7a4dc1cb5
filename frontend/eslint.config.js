import tseslint from "typescript-eslint";
import js from "@eslint/js";

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
  { ignores: ["node_modules", "src/protocol.ts"] },
  js.configs.recommended,
  {
    files: ["src/**/*.ts"],
    extends: [...tseslint.configs.recommendedTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-empty-function": "off", // a hook that nobody needs does nothing
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/non-nullable-type-assertion-style": "off",
      "@typescript-eslint/prefer-nullish-coalescing": ["error", { ignorePrimitives: true }],
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["**/*.js", "**/*.mjs"],
    languageOptions: { globals: Object.fromEntries(GLOBALS.map((name) => [name, "readonly"])) },
  },
);
