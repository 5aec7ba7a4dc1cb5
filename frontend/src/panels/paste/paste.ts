// @ts-nocheck
// A picture from the clipboard: pasted anywhere on the page while this is open, made small, and handed to Python.
import { mount } from "../../lib/mount.ts";
import style from "./paste.css";

const LARGEST = 256; // pixels a side: the net sees far fewer

export default function ({ parentElement, setStateValue }) {
  return mount(parentElement, style, pasteIn, (paste) => (paste.send = (picture) => setStateValue("picture", picture)));
}

function pasteIn(parent) {
  const root = Object.assign(document.createElement("p"), { className: "paste", tabIndex: 0 });
  root.textContent = "or paste a picture (Ctrl V)";
  parent.append(root);
  const paste = { send: () => {}, stop };
  let count = 0;
  document.addEventListener("paste", take);
  root.dataset.ready = "true";
  return paste;

  async function take(event) {
    const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
    if (!file) return;
    event.preventDefault();
    try {
      paste.send({ count: ++count, jpeg: await smallJpeg(file) });
      root.textContent = "Pasted. Paste another, or drop a file above.";
    } catch {
      root.textContent = "The clipboard holds no picture that can be read.";
    }
  }

  function stop() {
    document.removeEventListener("paste", take);
    root.remove();
  }
}

/** The picture on white ground, at most LARGEST pixels a side, as base64 of a JPEG. */
async function smallJpeg(file) {
  const picture = await createImageBitmap(file);
  const zoom = Math.min(1, LARGEST / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * zoom));
  canvas.height = Math.max(1, Math.round(picture.height * zoom));
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", 0.93).split(",")[1];
}
