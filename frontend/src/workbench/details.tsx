// A `<details>` as open as a person has left it, on any page.
import type { ComponentProps } from "preact";
import { useView } from "./hooks.ts";
import type { ViewStore } from "./store.ts";

export const Details = ({ store, name, ...props }: ComponentProps<"details"> & { store: ViewStore; name: string }) => (
  <details
    {...props}
    open={useView(store, "open").has(name)}
    onToggle={({ currentTarget }) => store.setOpen(name, currentTarget.open)}
  />
);
