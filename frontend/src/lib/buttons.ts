// @ts-nocheck
// What the inspector is built of.
import { element } from "./element.ts";

/** A button that reads as text. */
export function textButton(text, act, title = "") {
  const made = element("button", "link", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", act);
  return made;
}

/** Hand a text over as a file. */
export function download(name, text, type = "text/csv") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
