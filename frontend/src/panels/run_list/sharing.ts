// Who sees a run: only its owner, everyone with the link, or everyone; and the link to copy.
import { h, icon } from "../../lib/dom.ts";
import { addressOf } from "../../lib/router.ts";
import type { RunSharing } from "../../protocol.ts";

const LOCK = "M3.5 7.5h9v6h-9ZM5.5 7.5v-2a2.5 2.5 0 0 1 5 0v2";
const CHAIN = "M6.5 9.5l3-3M7 4.5l1.5-1.5a2.6 2.6 0 0 1 4 4L11 8.5M9 11.5L7.5 13a2.6 2.6 0 0 1-4-4L5 7.5";
const SHELF = "M2.5 13.5h11M4 13.5v-9h2.5v9M6.500 13.5v-11H9v11M9.500 4l2.3-.6 2.2 9.3";

export const VISIBILITIES: Record<string, { label: string; path: string }> = {
  private: { label: "Only me", path: LOCK },
  link: { label: "Everyone with the link", path: CHAIN },
  shelf: { label: "Everyone, on the shelf", path: SHELF },
};

/** The choices that a person has, and the link where there is one. */
export function sharingForm(run: string, sharing: RunSharing, choose: (visibility: string) => void): HTMLElement[] {
  const choices = sharing.offered.map((visibility) => {
    const { label, path } = VISIBILITIES[visibility];
    return h(
      "button",
      {
        type: "button",
        class: "choice",
        "data-visibility": visibility,
        "aria-pressed": String(visibility === sharing.visibility),
        click: () => choose(visibility),
      },
      icon(path),
      label,
    );
  });
  return sharing.key ? [...choices, linkField(run, sharing.key)] : choices;
}

function linkField(run: string, key: string): HTMLElement {
  const field = h("input", { type: "text", class: "field", "aria-label": "Link" });
  field.value = new URL(addressOf("", { run, share: key }, location, "runs"), location.href).href;
  field.readOnly = true;
  const copy = h("button", { type: "button", class: "copy", click: () => void copyFrom(field, copy) }, "Copy");
  return h("div", "link", field, copy);
}

// Browsers give the clipboard to pages over https only; elsewhere the old command still copies what is selected.
async function copyFrom(field: HTMLInputElement, button: HTMLElement): Promise<void> {
  field.select();
  const copied = await (navigator.clipboard?.writeText(field.value) ?? Promise.reject(new Error("no clipboard"))).then(
    () => true,
    () => document.execCommand("copy"),
  );
  button.textContent = copied ? "Copied" : "Press Ctrl+C";
}
