// What may import what, types included: `npm run lint` fails on a circle, and on an import from a higher layer.
const FEATURES = "welcome|explore|compare|runs|learn|labs|clean|classroom|batch_explorer"; // none imports another
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
    forbid("lib", `charts|widgets|map|workbench|${FEATURES}|standalone|notebook`),
    forbid("(charts|widgets)", `map|workbench|${FEATURES}|standalone|notebook`),
    {
      ...forbid("map", `workbench|${FEATURES}|standalone|notebook`),
      to: { path: `^src/(workbench|${FEATURES}|standalone|notebook)/`, pathNot: "^src/workbench/store.ts$" }, // that it shows
    },
    forbid("workbench", `${FEATURES}|standalone|notebook`),
    {
      ...forbid(`(workbench|${FEATURES})`, "map/(render|playback|ui|control)|standalone|notebook"),
      to: {
        path: "^src/(map/(render|playback|ui|control)|standalone|notebook)/",
        pathNot: "^src/map/control/main.ts$",
      },
    },
    ...FEATURES.split("|").map((one) =>
      forbid(
        one,
        FEATURES.split("|")
          .filter((other) => other !== one)
          .join("|"),
      ),
    ),
    ...MAP.slice(0, -1).map((part, i) => forbid(`map/${part}`, `map/(${MAP.slice(i + 1).join("|")})`)),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true, // an import of a type is an import
    enhancedResolveOptions: { extensions: [".ts", ".tsx", ".js"] },
  },
};
