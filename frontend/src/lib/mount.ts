// A component lives in its parent element from its first drawing until it is taken away.
import { withinPart } from "./boundary.ts";
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

/** Have the page drawn anew, where Python's `mount` has `reruns`: no data go with it, those go by routes. */
export const rerun = (host: Pick<ComponentArguments<never>, "setTriggerValue">): void =>
  host.setTriggerValue("rerun", true);

export interface Component {
  destroy(): void;
}

const mounts = new WeakMap<Node, { component: Component; sheet: HTMLStyleElement }>();

/**
 * Update the component in `parent`, which `make` creates the first time, beside its style. Returns a cleanup function.
 */
export function mount<C extends Component>(
  parent: HTMLElement | ShadowRoot,
  style: string,
  make: (parent: HTMLElement | ShadowRoot) => C,
  update: (component: C) => unknown,
): () => void {
  withinPart(parent, () => {
    let entry = mounts.get(parent);
    if (!entry) {
      const sheet = h("style", null, shared + style);
      parent.append(sheet);
      entry = { component: make(parent), sheet };
      mounts.set(parent, entry);
    }
    return update(entry.component as C);
  });
  return whenGone(parent, () => {
    const entry = mounts.get(parent);
    entry?.component.destroy();
    entry?.sheet.remove();
    mounts.delete(parent);
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
