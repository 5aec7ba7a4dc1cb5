// The color of each point, and the effects of a change of color, selection or hidden classes.
import { messageOf } from "../../lib/format.ts";
import { groupColors } from "../../lib/palette.ts";
import { loadMarking, shapeColumns, shapeIds } from "../data/markerShapes.ts";
import type { MapState } from "../data/state.ts";
import { computePointColors } from "../render/pointColors.ts";
import type { Scene } from "../render/scene.ts";
import type { ColorControl } from "../ui/colorControl.ts";

export interface PainterParts {
  state: MapState;
  scene: Scene;
  colorControl: ColorControl;
  /** The class under the pointer in the legend. */
  spotlight: () => number | null;
  /** Points are grouped by something else. */
  regrouped: () => void;
  /** Classes are to be counted anew. */
  recount: () => void;
  refresh: () => void;
  trouble: (text: string) => void;
}

export class PointPainter {
  constructor(private parts: PainterParts) {}

  /** Colors, selection or hidden classes have changed. */
  repaint(): void {
    const {
      scene,
      state,
      state: { model, theme },
      colorControl,
      recount,
      refresh,
    } = this.parts;
    const colors = (state.colors = groupColors(model.groups, theme));
    const target = this.parts.spotlight();
    const spotlight = target !== null && model.hidden.has(target) ? null : target;
    if (scene.frame) scene.usable = model.usable(scene.frame.present);
    const colorBy = colorControl.name;
    scene.setPaint(
      computePointColors({ model, colors, theme, shapeIds: shapeIds(state), colorBy, spotlight }),
      theme.background,
    );
    recount();
    refresh();
  }

  /** Points are colored by something else; where a person has chosen that and it groups them anew, all are shown. */
  recolor(isChoice = false): void {
    const { state, colorControl, trouble } = this.parts;
    const { model, data, store } = state;
    colorControl.setSource(data, model).then(
      (regrouped) => {
        if (regrouped) {
          if (isChoice) store.set({ hidden: new Set() });
          this.parts.regrouped();
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
