// Takes files of a person's own: chosen or dropped, a whole folder too. They go by a route, with progress and a way to stop.
import type { UploadProps } from "../../protocol.ts";
import { h, setData, textButton } from "../../lib/dom.ts";
import { messageOf } from "../../lib/format.ts";
import { component, rerun, type ComponentArguments } from "../../lib/mount.ts";
import { serverUrl } from "../../lib/server.ts";
import { dropped, meant, packed, type Found } from "./folders.ts";
import style from "./upload.css";

type Host = Pick<ComponentArguments<UploadProps>, "setTriggerValue">;

const megabytes = (size: number): string => `${(size / 1e6).toFixed(size < 10e6 ? 1 : 0)} MB`;

class Upload {
  private input = h("input", { type: "file", hidden: true, "aria-label": "Files", change: () => this.chosen() });
  private files = textButton("Choose files", () => this.choose(false));
  private folder = textButton("Choose a folder", () => this.choose(true));
  private held = h("p", "held");
  private bar = h("progress", { max: 1, "aria-label": "Upload" });
  private words = h("span", { role: "status" });
  private sending = h("p", { class: "sending", hidden: true }, this.words, this.bar);
  private refusal = h("p", { class: "refusal", role: "alert" });
  private zone: HTMLElement;
  private root: HTMLElement;
  private request: XMLHttpRequest | null = null;
  private host: Host | null = null;
  private props!: UploadProps;

  constructor(parent: ParentNode) {
    this.sending.append(textButton("Cancel", () => this.request?.abort()));
    this.zone = h("div", "zone", h("span", null, "Drop files or a folder here"), this.files, this.folder, this.input);
    this.root = h(
      "section",
      { class: "upload", "aria-label": "Upload" },
      this.zone,
      this.held,
      this.sending,
      this.refusal,
    );
    parent.append(this.root);
    for (const kind of ["dragenter", "dragover", "dragleave", "drop"] as const)
      this.zone.addEventListener(kind, (event) => {
        event.preventDefault();
        this.zone.classList.toggle("over", kind === "dragenter" || kind === "dragover");
        if (kind === "drop" && event.dataTransfer) void this.take(dropped(event.dataTransfer));
      });
  }

  update(props: UploadProps, host: Host): void {
    this.props = props;
    this.host = host;
    const single = props.accept.length > 0;
    this.input.accept = props.accept.join(",");
    this.input.multiple = !single;
    this.folder.hidden = single;
    this.files.textContent = single ? "Choose a file" : "Choose files";
    this.zone.firstElementChild!.textContent = single ? "Drop a file here" : "Drop files or a folder here";
    this.held.replaceChildren(
      ...(props.held ? [h("b", null, props.held), " is here; another file takes its place."] : []),
    );
    setData(this.root, { ready: true, held: props.held });
  }

  private choose(folder: boolean): void {
    this.input.webkitdirectory = folder;
    this.input.click();
  }

  private chosen(): void {
    const found = [...(this.input.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    this.input.value = "";
    void this.take(Promise.resolve(found));
  }

  private async take(all: Promise<Found[]>): Promise<void> {
    if (this.request) return this.say("Wait for the end of this upload, or cancel it.");
    this.say("");
    try {
      const found = meant(await all);
      const { limit, accept } = this.props;
      const size = found.reduce((sum, { file }) => sum + file.size, 0);
      const other = found.find(({ path }) => accept.length && !accept.some((end) => path.toLowerCase().endsWith(end)));
      if (size > limit)
        throw new Error(`You may upload ${megabytes(limit)} at a time; this is ${megabytes(size)}. Bring less.`);
      if (accept.length && found.length > 1) throw new Error(`Bring one file; got ${found.length}.`);
      if (other) throw new Error(`Bring a file that ends in ${accept.join(", ")}; got ${other.path.slice(0, 80)}.`);
      if (!found.length) throw new Error("There is no file in that.");
      this.send(await packed(found));
    } catch (error) {
      this.say(messageOf(error));
    }
  }

  private send(files: File[]): void {
    const form = new FormData();
    for (const file of files) form.append("file", file, file.name);
    const request = (this.request = new XMLHttpRequest());
    const names = files.map(({ name }) => name).join(", ");
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => {
      this.bar.value = loaded / total;
      this.words.textContent = `Sending ${names.slice(0, 80)}: ${megabytes(loaded)} of ${megabytes(total)}`;
    };
    request.onload = () => {
      const { error } = (request.response ?? {}) as { error?: string };
      if (request.status === 200 && this.host) rerun(this.host);
      this.say(request.status === 200 ? "" : (error ?? `The server did not take it (${request.status}); try again.`));
    };
    request.onerror = () => this.say("The upload broke off; try again.");
    request.onabort = () => this.say("You have stopped the upload; nothing of it is kept.");
    request.onloadend = () => this.show(null);
    request.open("POST", serverUrl(this.props.url));
    request.send(form);
    this.bar.value = 0;
    this.words.textContent = `Sending ${names.slice(0, 80)}`;
    this.show(request);
  }

  private show(request: XMLHttpRequest | null): void {
    this.request = request;
    this.sending.hidden = !request;
    this.files.disabled = this.folder.disabled = Boolean(request);
    setData(this.root, { sending: Boolean(request) });
  }

  private say(text: string): void {
    this.refusal.textContent = text;
  }

  destroy(): void {
    this.request?.abort();
    this.root.remove();
  }
}

export default component(style, Upload);
