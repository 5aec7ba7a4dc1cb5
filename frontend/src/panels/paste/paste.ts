// A picture from the clipboard: pasted anywhere on the page while this is open, made small, and handed to Python.
import type { PastedPicture, PasteProps } from "../../protocol.ts";
import { context2d, h } from "../../lib/dom.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import style from "./paste.css";

const MAX_SIDE = 256; // pixels: the net sees far fewer

export default function ({ parentElement, setStateValue }: ComponentArguments<PasteProps>) {
  return mount(parentElement, style, mountPaste, (paste) => {
    paste.send = (picture) => setStateValue("picture", picture);
  });
}

function mountPaste(parent: ParentNode) {
  const root = h("p", { class: "paste", tabindex: 0 }, "or paste an image (Ctrl+V)");
  parent.append(root);
  let count = 0;
  const paste = {
    send: (_picture: PastedPicture) => {},
    destroy() {
      document.removeEventListener("paste", onPaste);
      root.remove();
    },
  };
  const onPaste = (event: ClipboardEvent) => void take(event);
  document.addEventListener("paste", onPaste);
  root.dataset.ready = "true";
  return paste;

  async function take(event: ClipboardEvent): Promise<void> {
    const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
    if (!file) return;
    event.preventDefault();
    try {
      paste.send({ count: ++count, jpeg: await smallJpeg(file) });
      root.textContent = "Pasted. Paste another, or drop a file above.";
    } catch {
      root.textContent = "No image in the clipboard.";
    }
  }
}

/** The picture on white ground, at most MAX_SIDE pixels a side, as base64 of a JPEG. */
async function smallJpeg(file: File): Promise<string> {
  const picture = await createImageBitmap(file);
  const zoom = Math.min(1, MAX_SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * zoom));
  canvas.height = Math.max(1, Math.round(picture.height * zoom));
  const context = context2d(canvas);
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", 0.93).split(",")[1];
}
