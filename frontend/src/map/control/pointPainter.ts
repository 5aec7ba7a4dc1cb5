// Which color each point has, and what a change of it, of the selection or of hidden classes brings with it.
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
  changed: () => void;
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
      changed,
    } = this.parts;
    const colors = (state.colors = groupColors(model.groups, theme));
    const pointed = this.parts.spotlight();
    const spotlight = pointed !== null && model.hidden.has(pointed) ? null : pointed;
    if (scene.frame) scene.usable = model.usable(scene.frame.present);
    const colorBy = colorControl.name;
    scene.setPaint(
      computePointColors({ model, colors, theme, shapeIds: shapeIds(state), colorBy, spotlight }),
      theme.background,
    );
    recount();
    changed();
  }

  /** Points are colored by something else; where that groups them anew, these groups are hidden. */
  recolor(hidden: Iterable<number> = []): void {
    const { state, colorControl, trouble } = this.parts;
    const { model, data } = state;
    colorControl.setSource(data, model).then(
      (regrouped) => {
        if (regrouped) {
          model.hidden = new Set(hidden);
          this.parts.regrouped();
        }
        state.shapeColumns = shapeColumns(colorControl.columns);
        this.reshape();
      },
      (error: unknown) => trouble(messageOf(error)),
    );
  }

  /** Shapes tell something else, or something of other items. */
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
