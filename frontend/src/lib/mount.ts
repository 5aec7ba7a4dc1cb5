// A component lives in its parent element from its first drawing until it is taken away.
import { element } from "./element.js";

const mounted = new WeakMap();

/**
 * What the page calls whenever there is something new: the component in `parent`, which `make` makes the first time, is
 * given to `update`. Returns the way out.
 */
export function mount(parent, make, update) {
  if (!mounted.has(parent)) mounted.set(parent, make(parent));
  const component = mounted.get(parent);
  update(component);
  return () => {
    component.stop();
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
