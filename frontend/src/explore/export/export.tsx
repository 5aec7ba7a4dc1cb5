// Downloads of the run on the screen: the script that reproduces it, and files.
import { useState } from "preact/hooks";
import { bus } from "../../lib/bus.ts";
import { copied, h } from "../../lib/dom.ts";
import { messageOf } from "../../lib/format.ts";
import { dataOf, panel } from "../../lib/panel.tsx";
import { fetchAnswer, serverUrl } from "../../lib/server.ts";
import type { ExportFile, ExportProps, Script } from "../../protocol.ts";
import style from "./export.css";

const COPIED_MS = 1600; // that "Copied" stands on the button
const KEPT_MS = 60_000; // that a file is kept for the browser to save it

const LOOK = ["hide", "step", "select", "color"]; // of the address, as dmlviz/export/look.py reads them

const WIDTHS = { column: "for a column, 85 mm", slide: "for a slide, 250 mm" };
const SCALES = { "1": "PNG 1×", "2": "PNG 2×", "4": "PNG 4×" };

const VIDEO_BITS = 12e6; // a second: points are small
const VIDEO =
  "ImageDecoder" in globalThis && "MediaRecorder" in globalThis
    ? ["video/mp4;codecs=avc1.42E01F", "video/webm;codecs=vp9", "video/webm"].find((type) =>
        MediaRecorder.isTypeSupported(type),
      )
    : undefined;

let open = 0; // which script is shown
const figure = { figure: "map", width: "column", scale: "2" }; // what figures are asked for

export default panel<ExportProps>(style, ({ scripts, files, figures, note, loading }) => (
  <section class="export" {...dataOf({ ready: true, files: files.length })}>
    {scripts.length > 0 && <Scripts scripts={scripts} />}
    <h3>Files</h3>
    {note && <p class="quiet">{note}</p>}
    {files.length > 0 && (
      <div class="tabs" role="group" aria-label="Figure">
        <span class="quiet">Figure:</span>
        <Choice name="figure" label="What it shows" choices={figures} />
        <Choice name="width" label="Its width" choices={WIDTHS} />
        <Choice name="scale" label="Pixels of a PNG" choices={SCALES} />
      </div>
    )}
    <ul>
      {files.flatMap(withVideo).map((file) => (
        <li key={file.name}>
          <File {...file} />
        </li>
      ))}
    </ul>
    {loading && files.length > 0 && (
      <details>
        <summary>Load the weights</summary>
        <pre tabIndex={0}>{loading}</pre>
        <div class="tabs">
          <span class="quiet">images: uint8, n × channels × height × width</span>
          <CopyButton text={loading} label="Copy" />
        </div>
      </details>
    )}
  </section>
));

function Choice({
  name,
  label,
  choices,
}: {
  name: keyof typeof figure;
  label: string;
  choices: Record<string, string>;
}) {
  const [chosen, choose] = useState(figure[name]);
  return (
    <select
      aria-label={label}
      value={chosen}
      onChange={({ currentTarget: { value } }) => choose((figure[name] = value))}
    >
      {Object.entries(choices).map(([value, text]) => (
        <option value={value}>{text}</option>
      ))}
    </select>
  );
}

function Scripts({ scripts }: { scripts: Script[] }) {
  const [chosen, choose] = useState(open);
  const at = Math.min((open = chosen), scripts.length - 1);
  const { title, text } = scripts[at];
  return (
    <>
      <h3>Reproduce</h3>
      <div class="tabs" role="group" aria-label="Language">
        {scripts.map((script, i) => (
          <button aria-pressed={i === at} onClick={() => choose(i)} children={script.title} />
        ))}
        <CopyButton key={title} text={text} label={`Copy as ${title}`} />
      </div>
      <pre tabIndex={0}>{text}</pre>
      <p class="quiet">Bit-identical on the same hardware.</p>
    </>
  );
}

/** A film is offered as a video, too, where this browser reads the one and writes the other. */
function withVideo(file: ExportFile): ExportFile[] {
  if (!VIDEO || file.problem || !/\/export\/film\b/.test(file.url)) return [file];
  const name = file.name.replace(/\.\w+$/, VIDEO.includes("mp4") ? ".mp4" : ".webm");
  const summary = "the same for slides and players; this browser records it, as long as it runs: stay on this page";
  return [file, { ...file, title: "Film as a video", summary, name }];
}

/** Play an animated WebP on a canvas, and record that. */
async function asVideo(film: Blob): Promise<Blob> {
  const decoder = new ImageDecoder({ data: await film.arrayBuffer(), type: film.type || "image/webp" });
  const canvas = h("canvas", {});
  const context = canvas.getContext("2d");
  /** Draw a frame of the film, and return how many milliseconds it lasts; a picture that is left open is complained of. */
  const draw = async (frameIndex: number): Promise<number> => {
    const { image } = await decoder.decode({ frameIndex });
    const { displayWidth, displayHeight, duration } = image;
    if (canvas.width !== displayWidth || canvas.height !== displayHeight)
      Object.assign(canvas, { width: displayWidth, height: displayHeight });
    context?.drawImage(image, 0, 0);
    image.close();
    return (duration ?? 100_000) / 1000; // from microseconds
  };
  try {
    await draw(0); // the recorder wants the size
    const recorder = new MediaRecorder(canvas.captureStream(), { mimeType: VIDEO, videoBitsPerSecond: VIDEO_BITS });
    const pieces: Blob[] = [];
    recorder.ondataavailable = ({ data }) => pieces.push(data);
    const ended = new Promise((resolve) => (recorder.onstop = resolve));
    recorder.start();
    const count = decoder.tracks.selectedTrack?.frameCount ?? 1;
    for (let frameIndex = 0; frameIndex < count; frameIndex++) {
      const duration = await draw(frameIndex);
      await new Promise((resolve) => setTimeout(resolve, duration));
    }
    recorder.stop();
    await ended;
    return new Blob(pieces, { type: VIDEO });
  } finally {
    decoder.close();
  }
}

function File({ title, summary, url, name, problem }: ExportFile) {
  const [trouble, setTrouble] = useState(problem);
  const [isMade, setMade] = useState(false);
  const content = (
    <>
      <span class="words">
        <strong>{title}</strong>
        <span class="quiet">{isMade ? "Is being made …" : summary}</span>
        <span class="problem" role="status" children={problem || trouble} />
      </span>
      <span class="size quiet">{name.slice(name.lastIndexOf("."))}</span>
    </>
  );
  if (problem) return <span class="file" aria-disabled={true} children={content} />;

  /** Download with fetch: a plain link would not tell why the server refuses. */
  async function fetchFile(event: MouseEvent): Promise<void> {
    event.preventDefault();
    const link = event.currentTarget as HTMLElement;
    setTrouble("");
    setMade(true);
    try {
      const response = await fetchAnswer(asLookedAt(url), title);
      const isVideo = VIDEO && /\.(mp4|webm)$/.test(name);
      const content = await response.blob();
      const href = URL.createObjectURL(isVideo ? await asVideo(content) : content);
      const file = h("a", { href, download: name });
      link.after(file); // in the page, as Firefox wants it, and in the panel, which a click outside of it closes
      file.click();
      file.remove();
      setTimeout(() => URL.revokeObjectURL(file.href), KEPT_MS);
    } catch (error) {
      setTrouble(messageOf(error));
    }
    setMade(false);
  }
  return <a class="file" href={serverUrl(url)} download={name} onClick={fetchFile} children={content} />;
}

/** The address of a file that shows what the page shows: color, hidden classes, step, selection, the part that is seen. */
function asLookedAt(url: string): string {
  const look = [...new URLSearchParams(location.search)].filter(([name]) => LOOK.includes(name));
  const asked = /\/export\/(svg|pdf|png)\b/.test(url) ? Object.entries(figure) : [];
  const maps: { run: string; seen: Record<string, string> }[] = [];
  bus.emit("look", maps);
  const seen = Object.entries(maps.find(({ run }) => url.includes(run))?.seen ?? {});
  const query = new URLSearchParams([...look, ...seen, ...asked]).toString();
  return query ? `${url}${url.includes("?") ? "&" : "?"}${query}` : url;
}

function CopyButton({ text, label }: { text: string; label: string }) {
  const [said, say] = useState("");
  const copy = async () => {
    say((await copied(text)) ? "Copied" : "Select the text and copy it");
    setTimeout(() => say(""), COPIED_MS);
  };
  return <button class="copy" aria-live="polite" onClick={copy} children={said || label} />;
}
