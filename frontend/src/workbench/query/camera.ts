// The camera: its picture as it moves, and one that is taken. Where a page may not open it (no HTTPS), a phone's own.
import { h } from "../../lib/dom.ts";

const QUALITY = 0.95; // of the JPEG

/** True if this page may open a camera, or the device's own camera hands over a file. */
export const hasCamera = (): boolean => canStream() || globalThis.matchMedia("(pointer: coarse)").matches;

const canStream = (): boolean =>
  globalThis.isSecureContext && typeof navigator.mediaDevices?.getUserMedia === "function";

export class Camera {
  readonly node = h("div", "camera");
  private stream: MediaStream | null = null;
  private isClosed = true;

  /** `taken(photo)` is given each picture, `refused(words)` why there is none. */
  constructor(
    private onPhoto: (photo: Blob, name: string) => void,
    private onRefusal: (words: string) => void,
  ) {}

  /** Show the moving picture, or the way to the phone's own camera. */
  async open(): Promise<void> {
    if (!this.isClosed) return;
    this.isClosed = false;
    if (!canStream()) return this.offerFile();
    const video = h("video", { "aria-label": "What the camera sees" });
    Object.assign(video, { muted: true, autoplay: true, playsInline: true });
    const shoot = h("button", { type: "button", class: "primary", disabled: true }, "Take photo");
    shoot.addEventListener("click", () => this.shoot(video));
    video.addEventListener("playing", () => (shoot.disabled = false));
    this.node.replaceChildren(video, shoot);
    try {
      const size = { width: { ideal: 1280 }, height: { ideal: 960 } };
      const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", ...size } });
      if (this.isClosed) return stream.getTracks().forEach((track) => track.stop());
      this.stream = stream;
      video.srcObject = stream;
    } catch (error) {
      if (this.isClosed) return;
      const isDenied = error instanceof DOMException && error.name === "NotAllowedError";
      this.onRefusal(
        isDenied
          ? "The browser does not allow this page to use the camera; allow it beside the address, or upload a picture."
          : "No camera answers; connect one, or upload a picture.",
      );
      this.offerFile();
    }
  }

  close(): void {
    this.isClosed = true;
    this.stream?.getTracks().forEach((track) => track.stop());
    this.stream = null;
    this.node.replaceChildren();
  }

  private offerFile(): void {
    const input = h("input", { type: "file", accept: "image/*", "aria-label": "Take a photo" });
    input.setAttribute("capture", "environment");
    input.addEventListener("change", () => {
      const [photo] = input.files ?? [];
      input.value = "";
      if (photo) this.onPhoto(photo, "Photo");
    });
    this.node.replaceChildren(h("label", "primary", input, "Take a photo"));
  }

  private shoot(video: HTMLVideoElement): void {
    const canvas = h("canvas", { width: video.videoWidth, height: video.videoHeight });
    canvas.getContext("2d")?.drawImage(video, 0, 0);
    canvas.toBlob((photo) => photo && this.onPhoto(photo, "Photo"), "image/jpeg", QUALITY);
  }
}
