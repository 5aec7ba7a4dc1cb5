// @ts-nocheck
// A component lives in its parent element from its first drawing until it is taken away.
import { element } from "./element.ts";

const mounted = new WeakMap();

/**
 * What the page calls whenever there is something new: the component in `parent`, which `make` makes the first time, is
 * given to `update`, and lies beside its `style`. Returns the way out.
 */
export function mount(parent, style, make, update) {
  if (!mounted.has(parent)) {
    const sheet = element("style", null, style);
    parent.append(sheet);
    mounted.set(parent, Object.assign(make(parent), { sheet }));
  }
  const component = mounted.get(parent);
  update(component);
  return () => {
    component.stop();
    component.sheet.remove();
    mounted.delete(parent);
  };
}

/** A component that is drawn anew, by `draw(root, data)`, when it is told something else than before. */
export function panel(parent, name, draw) {
  const root = element("section", name);
  parent.append(root);
  let before = null;
  return {
    update(data) {
      const now = JSON.stringify(data);
      if (now !== before) draw(root, data);
      before = now;
    },
    stop: () => root.remove(),
  };
}
