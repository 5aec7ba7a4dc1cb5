// Panels drawn by Preact: what they show is a function of their props and signals.
import {
  options,
  render,
  Component as PreactComponent,
  type ComponentChildren,
  type ComponentType,
  type VNode,
} from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { guarded, withinPart } from "./boundary.ts";
import { wholeNameIn } from "./dom.ts";
import { explain } from "./glossary.ts";
import { mount, type ComponentArguments } from "./mount.ts";
import { readTheme, type Theme } from "./theme.ts";

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

/** What a panel gets: what Python sends, and its arguments. */
export type Hosted<Data> = Data & { host: ComponentArguments<Data> };

/** The theme where a panel stands. */
export const themeOf = ({ parentElement: place }: { parentElement: HTMLElement | ShadowRoot }): Theme =>
  readTheme(place instanceof ShadowRoot ? place.host : place);

/** Export of a panel's file for Streamlit: `Panel` gets what Python sends, and `host`, its arguments. */
export const panel =
  <Data extends object, More = object>(
    style: string,
    Panel: ComponentType<Data & { host: ComponentArguments<Data> & More }>,
  ) =>
  (host: ComponentArguments<Data> & More) =>
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

/** A line icon from the `d` of its path, on a grid of 16; `filled` ones have no stroke. */
export const Icon = ({ path, filled = false }: { path: string; filled?: boolean }) => (
  <svg viewBox="0 0 16 16" aria-hidden="true" class={filled ? "icon filled" : "icon"}>
    <path d={path} />
  </svg>
);

/** A button that reads as text. */
export const TextButton = (props: { title?: string; onClick(this: void): void; children: string }) => (
  <button class="link" {...props} />
);

/** A component that is drawn anew only when its data read differently; of functions it keeps the first. */
export const memo = <P extends object>(Draw: (props: P) => ComponentChildren) =>
  class extends PreactComponent<P> {
    override shouldComponentUpdate(next: P): boolean {
      return JSON.stringify(next) !== JSON.stringify(this.props);
    }

    render(props: P): ComponentChildren {
      return Draw(props);
    }
  };

/** A field in place of a text, with the focus: Enter and leaving it keep a changed text, Escape does not. */
export function EditField({ label, before = "", end, ...more }: EditFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const ended = useRef(false); // a field that is taken away is left, too
  const finish = (keeps: boolean) => {
    const text = field.current?.value ?? before;
    if (!ended.current) end(keeps && text !== before ? text : null);
    ended.current = true;
  };
  useLayoutEffect(() => field.current?.select(), []);
  return (
    <input
      ref={field}
      type="text"
      aria-label={label}
      placeholder={label}
      defaultValue={before}
      {...more}
      onBlur={() => finish(true)}
      onKeyDown={(event) => {
        event.stopPropagation(); // single letters are shortcuts
        if (event.key === "Enter" || event.key === "Escape") finish(event.key === "Enter");
      }}
    />
  );
}

interface EditFieldProps {
  label: string;
  before?: string;
  class?: string;
  placeholder?: string;
  maxLength: number;
  end(this: void, text: string | null): void;
}

/** Words that explain themselves by a term of the glossary. */
export function Term({ term, ...words }: { term: string; class?: string; children: ComponentChildren }) {
  const node = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => void explain(node.current!, term), [term]);
  return <span ref={node} {...words} />;
}
