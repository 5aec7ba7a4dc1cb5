// A component lives in its parent element from its first drawing until it is taken away.
import { h } from "./dom.ts";
import shared from "./panel.css";

/** Arguments of Streamlit's call of a component. */
export interface ComponentArguments<Data> {
  parentElement: HTMLElement | ShadowRoot;
  data: Data;
  key?: string;
  name?: string;
  setStateValue: (name: string, value: unknown) => void;
  setTriggerValue: (name: string, value: unknown) => void;
}

export interface Component {
  destroy(): void;
}

const mounted = new WeakMap<Node, { component: Component; sheet: HTMLStyleElement }>();

/**
 * What the page calls whenever there is something new: the component in `parent`, which `make` makes the first time, is
 * given to `update`, and lies beside its style. Returns a cleanup function.
 */
export function mount<C extends Component>(
  parent: HTMLElement | ShadowRoot,
  style: string,
  make: (parent: HTMLElement | ShadowRoot) => C,
  update: (component: C) => void,
): () => void {
  let here = mounted.get(parent);
  if (!here) {
    const sheet = h("style", null, shared + style);
    parent.append(sheet);
    here = { component: make(parent), sheet };
    mounted.set(parent, here);
  }
  const { component, sheet } = here;
  update(component as C);
  return whenGone(parent, () => {
    component.destroy();
    sheet.remove();
    mounted.delete(parent);
  });
}

/**
 * The cleanup function that a component gives Streamlit: it destroys the component once its place has left the page. Streamlit
 * 1.67 also calls the cleanup function of a call that a newer one has overtaken: then the component stays, with the focus and all
 * the changes that a person has made in it.
 */
export function whenGone(parent: Node, destroy: () => void): () => void {
  return () => {
    if (!parent.isConnected) destroy();
  };
}

/** A component that is drawn anew, by `draw(root, data)`, when its data change. */
export function mountStatic<Data>(
  parent: HTMLElement | ShadowRoot,
  name: string,
  draw: (root: HTMLElement, data: Data) => void,
) {
  const root = h("section", name);
  parent.append(root);
  let before: string | null = null;
  return {
    update(data: Data) {
      const now = JSON.stringify(data);
      if (now !== before) draw(root, data);
      before = now;
    },
    destroy: () => root.remove(),
  };
}
