// The workbench with what features show in it.
import batch from "./batch_explorer/batchStrip.tsx";
import compare from "./compare/compare_scores/compareScores.tsx";
import welcome from "./welcome/welcome.ts";
import { workbenchComponent } from "./workbench/workbench.ts";

export default workbenchComponent({ batch, compare, welcome });
