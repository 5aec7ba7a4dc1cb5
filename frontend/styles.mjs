// How style sheets come into scripts.
import { build } from "esbuild";

/** A style sheet that a module imports is the text of it, with what it imports itself in its place. */
export const styleAsText = {
  name: "style-as-text",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path: file }) => {
      const { outputFiles } = await build({
        entryPoints: [file],
        bundle: true,
        minify: true,
        write: false,
        logLevel: "warning",
      });
      return { contents: outputFiles[0].text.trim(), loader: "text", watchFiles: [file] };
    });
  },
};
