// The color of each point, and the effects of a change of color, selection or hidden classes.
import { messageOf } from "../../lib/format.ts";
import { groupColors } from "../../lib/palette.ts";
import { loadMarking, shapeColumns, shapeIds } from "../data/columns.ts";
import { computePointColors } from "../render/pointColors.ts";
import type { MapParts } from "./parts.ts";

type Parts = Pick<MapParts, "state" | "scene" | "layout" | "refresh" | "trouble"> & {
  /** The class under the pointer in the legend. */
  spotlight: () => number | null;
  /** Classes are to be counted anew. */
  recount: () => void;
};

export class PointPainter {
  constructor(private parts: Parts) {}

  /** Colors, selection or hidden classes have changed. */
  repaint(): void {
    const {
      scene,
      state,
      state: { model, theme },
      layout,
      recount,
      refresh,
    } = this.parts;
    const colors = (state.colors = groupColors(model.groups, theme));
    const target = this.parts.spotlight();
    const spotlight = target !== null && model.hidden.has(target) ? null : target;
    if (scene.frame) scene.usable = model.usable(scene.frame.present);
    const colorBy = layout.colorControl.name;
    scene.setPaint(
      computePointColors({ model, colors, theme, shapeIds: shapeIds(state), colorBy, spotlight }),
      theme.background,
    );
    recount();
    refresh();
  }

  /** Points are colored by something else; where a person has chosen that and it groups them anew, all are shown. */
  recolor(isChoice = false): void {
    const {
      state,
      layout: { colorControl, legend },
      trouble,
    } = this.parts;
    const { model, data, store } = state;
    colorControl.setSource(data, model).then(
      (regrouped) => {
        if (regrouped) {
          if (isChoice) store.set({ hidden: new Set() });
          legend.setGroups(state.model.grouping ? "Categories" : "Classes", state.model.groups);
        }
        state.shapeColumns = shapeColumns(colorControl.columns);
        this.reshape();
      },
      (error: unknown) => trouble(messageOf(error)),
    );
  }

  /** The meaning of shapes changes, or that of other items. */
  reshape(): void {
    const { state, trouble } = this.parts;
    const { model } = state;
    loadMarking(state).then(
      () => {
        if (state.model === model) this.repaint();
      },
      (error: unknown) => trouble(messageOf(error)),
    );
  }
}
