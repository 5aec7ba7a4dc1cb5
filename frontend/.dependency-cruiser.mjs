// What may import what, types included: `npm run lint` fails on a circle, and on an import from a higher part.
const MAP = ["math", "data", "render", "playback", "ui", "control"];

/** Files of `from` may not import files of `to`. */
const forbid = (from, to) => ({
  name: `${from} does not import ${to}`,
  severity: "error",
  from: { path: `^src/${from}/` },
  to: { path: `^src/(${to})/` },
});

export default {
  forbidden: [
    { name: "no circle", severity: "error", from: {}, to: { circular: true } },
    forbid("lib", "charts|widgets|map|panels|batch_explorer|learn|labs|standalone"),
    forbid("(charts|widgets)", "map|panels|batch_explorer|learn|labs|standalone"),
    forbid("map", "panels|batch_explorer|learn|labs|standalone"),
    forbid("(panels|batch_explorer|learn|labs)", "map/(render|playback|ui|control)|standalone"),
    ...MAP.slice(0, -1).map((part, i) => forbid(`map/${part}`, `map/(${MAP.slice(i + 1).join("|")})`)),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true, // an import of a type is an import
    enhancedResolveOptions: { extensions: [".ts", ".js"] },
  },
};
