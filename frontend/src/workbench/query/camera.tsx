// The camera: its picture as it moves, and one that is taken. Where a page may not open it (no HTTPS), a phone's own.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const QUALITY = 0.95; // of the JPEG

export const isTouched = (): boolean => globalThis.matchMedia("(pointer: coarse)").matches;

/** True if this page may open a camera, or the device's own camera hands over a file. */
export const hasCamera = (): boolean => canStream() || isTouched();

const canStream = (): boolean =>
  globalThis.isSecureContext && typeof navigator.mediaDevices?.getUserMedia === "function";

interface Props {
  /** Is given each picture. */
  take(this: void, photo: Blob, name: string): void;
  /** Is told why there is none; "" when there is one. */
  refuse(this: void, words: string): void;
}

/** The moving picture, or the way to the phone's own camera; open for as long as it is shown. */
export function Camera({ take, refuse }: Props) {
  const video = useRef<HTMLVideoElement>(null);
  const [streams, setStreams] = useState(canStream);
  const [plays, setPlays] = useState(false);
  useLayoutEffect(() => {
    if (!streams) return;
    let isClosed = false;
    let stream: MediaStream | null = null;
    const stop = () => stream?.getTracks().forEach((track) => track.stop());
    const size = { width: { ideal: 1280 }, height: { ideal: 960 } };
    navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", ...size } }).then(
      (opened) => {
        stream = opened;
        if (isClosed) stop();
        else video.current!.srcObject = stream;
      },
      (error: unknown) => {
        if (isClosed) return;
        const isDenied = error instanceof DOMException && error.name === "NotAllowedError";
        setStreams(false);
        refuse(
          isDenied
            ? "The browser does not allow this page to use the camera; allow it beside the address, or upload a picture."
            : "No camera answers; connect one, or upload a picture.",
        );
      },
    );
    return () => {
      isClosed = true;
      stop();
    };
  }, [streams]);
  const shoot = () => {
    const canvas = document.createElement("canvas");
    const { videoWidth, videoHeight } = video.current!;
    Object.assign(canvas, { width: videoWidth, height: videoHeight });
    canvas.getContext("2d")?.drawImage(video.current!, 0, 0);
    canvas.toBlob((photo) => photo && take(photo, "Photo"), "image/jpeg", QUALITY);
  };
  return (
    <div class="camera">
      {streams ? (
        <>
          <video
            ref={video}
            aria-label="What the camera sees"
            muted
            autoplay
            playsInline
            onPlaying={() => {
              setPlays(true);
              refuse("");
            }}
          />
          <button class="primary" disabled={!plays} onClick={shoot} children="Take photo" />
        </>
      ) : (
        <FileLabel class="primary" label="Take a photo" accept="image/*" capture="environment" take={take}>
          Take a photo
        </FileLabel>
      )}
    </div>
  );
}

/** A label that opens the choice of a file; the same file may be chosen twice. */
export const FileLabel = ({ class: name, label, accept, capture, take, several, children }: FileLabelProps) => (
  <label class={name}>
    <input
      type="file"
      accept={accept}
      aria-label={label}
      capture={capture}
      multiple={several !== undefined}
      onChange={({ currentTarget }) => {
        const files = [...(currentTarget.files ?? [])];
        currentTarget.value = "";
        const [file] = files;
        if (several?.(files)) return;
        if (file) take(file, capture ? "Photo" : file.name);
      }}
    />
    {children}
  </label>
);

interface FileLabelProps {
  class: string;
  label: string;
  accept: string;
  capture?: "environment";
  take(this: void, file: File, name: string): void;
  /** Is given all files where a person may choose several; true if it takes them. */
  several?(this: void, files: File[]): boolean;
  children: ComponentChildren;
}
