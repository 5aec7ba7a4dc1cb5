// Panels drawn by Preact: what they show is a function of their props and signals.
import {
  options,
  render,
  Component as PreactComponent,
  type ComponentChildren,
  type ComponentProps,
  type FunctionComponent,
  type VNode,
} from "preact";
import { guarded, withinPart } from "./boundary.ts";
import { wholeNameIn } from "./dom.ts";
import { mount, type ComponentArguments } from "./mount.ts";

type Props = Record<string, unknown>;

// As `h` of lib/dom.ts does: a button sends no form, a listener stops no other one, a shortened name has its whole one.
const { vnode: before } = options as { vnode?: (this: void, node: VNode) => void };
options.vnode = (node) => {
  if (typeof node.type === "string") {
    const props = node.props as Props;
    if (node.type === "button") props.type ??= "button";
    for (const [name, value] of Object.entries(props))
      if (typeof value === "function" && name.startsWith("on")) props[name] = guarded(value as () => unknown);
    const whole = wholeNameIn([props.title, props.children].flat());
    if (whole) props.title = whole;
  }
  before?.(node);
};

/** What fails below it is said in its place, and is tried again with the next props. */
class Boundary extends PreactComponent<{ place: HTMLElement | ShadowRoot; children: ComponentChildren }> {
  override state = { failed: false };

  override componentDidCatch(error: unknown): void {
    this.setState({ failed: true });
    withinPart(this.props.place, () => {
      throw error;
    });
  }

  override componentWillReceiveProps(): void {
    this.setState({ failed: false });
  }

  render(): ComponentChildren {
    return this.state.failed ? null : this.props.children;
  }
}

/** Draw a panel in `place`; null takes it away. */
export const draw = (place: HTMLElement | ShadowRoot, panel: VNode | null): void =>
  render(panel && <Boundary place={place}>{panel}</Boundary>, place);

/** Export of a panel's file for Streamlit: `Panel` gets what Python sends, and `host`, its arguments. */
export const panel =
  <Data extends object>(style: string, Panel: FunctionComponent<Data & { host: ComponentArguments<Data> }>) =>
  (host: ComponentArguments<Data>) =>
    mount(
      host.parentElement,
      style,
      (parent) => {
        const place = document.createElement("div");
        place.style.display = "contents";
        parent.append(place);
        return {
          place,
          destroy() {
            draw(place, null);
            place.remove();
          },
        };
      },
      ({ place }) => draw(place, <Panel {...host.data} host={host} />),
    );

/** Attributes `data-…` of an element. */
export const dataOf = (data: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).map(([name, value]) => [`data-${name}`, value]));

const focused = (node: HTMLElement | null) => node?.focus();

/** A field that has the focus: Enter ends it with its text, Escape with null. */
export const EditField = ({
  end,
  ...props
}: ComponentProps<"input"> & { end(this: void, text: string | null): void }) => (
  <input
    type="text"
    ref={focused}
    {...props}
    onKeyDown={(event) => {
      event.stopPropagation(); // single letters are shortcuts
      if (event.key === "Enter") end(event.currentTarget.value);
      if (event.key === "Escape") end(null);
    }}
  />
);
