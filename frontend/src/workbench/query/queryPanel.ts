// The tabs of the inspector in which a person asks about a picture of their own: drawn, uploaded, dropped, pasted, taken.
import { heeding } from "../../lib/boundary.ts";
import type { Drawing, QueryAnswer, QuerySource } from "../../protocol.ts";
import { bus } from "../../lib/bus.ts";
import { h, textButton } from "../../lib/dom.ts";
import { mountPad } from "../query_pad/queryPad.ts";
import { Camera, hasCamera } from "./camera.ts";
import { Asker, MAX_MB } from "./askServer.ts";
import { FrameEditor } from "./frameEditor.ts";
import { DrawingQuestion, PictureQuestion } from "./questions.ts";

const TABS = ["Selected", "Draw", "Upload", "Camera"] as const;
export type Tab = (typeof TABS)[number];

const PICTURES = "image/*,.heic,.heif";
const questions: { tab: Tab; draw: DrawingQuestion; upload: PictureQuestion; camera: PictureQuestion } = {
  tab: "Selected",
  draw: new DrawingQuestion(),
  upload: new PictureQuestion(),
  camera: new PictureQuestion(),
};

const QUESTIONS = [questions.draw, questions.upload, questions.camera];

export class QueryPanel {
  private readonly heed = heeding();
  readonly node = h("div", "query");
  private tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Inspect" });
  private body = h("div", "question");
  private drop = h("div", { class: "drop-here", role: "status" });
  private source: QuerySource | null = null;
  private pad: ReturnType<typeof mountPad> | null = null;
  private padHost = h("div", "pad");
  private views: Record<"Upload" | "Camera", PictureView>;
  private camera: Camera;
  private offs: (() => void)[] = [];
  private listener = () => this.render();

  /** `changed()` hears of another tab and of every answer. */
  constructor(private onChange: () => void) {
    this.camera = new Camera(
      (photo, name) => this.send("Camera", photo, name),
      (words) => {
        questions.camera.trouble = words;
        this.render();
      },
    );
    const source = () => this.source;
    this.views = {
      Upload: new PictureView(questions.upload, source, () => this.chooser()),
      Camera: new PictureView(questions.camera, source, () => this.camera.node, "Another photo"),
    };
    for (const name of TABS) if (name !== "Camera" || hasCamera()) this.tabs.append(this.tabButton(name));
    this.tabs.addEventListener("keydown", (event) => this.onKey(event));
    this.node.append(this.tabs, this.body, this.drop);
    this.offs.push(
      bus.on("open-query", (tab) => this.open(tab)),
      bus.on("frame", ({ run, step }) => {
        if (run !== this.source?.run) return;
        for (const question of QUESTIONS) question.newest = Math.max(question.newest, step);
        this.follow();
      }),
    );
    this.listen("paste", (event) => this.take(event, event.clipboardData));
    this.listen("dragover", (event) => this.onDragOver(event));
    this.listen("dragleave", (event) => event.relatedTarget === null && this.say(""));
    this.listen("drop", (event) => {
      this.say("");
      if (isFree(event)) this.take(event, event.dataTransfer);
    });
  }

  get tab(): Tab {
    return this.source ? questions.tab : "Selected";
  }

  /** Answer in the open tab; null in the first, which is about test images. */
  get answer(): QueryAnswer | null {
    if (!this.source) return null;
    const { tab } = this;
    if (tab === "Draw") return this.source.undrawn ? null : questions.draw.answer;
    if (tab === "Upload") return questions.upload.answer;
    return tab === "Camera" ? questions.camera.answer : null;
  }

  update(source: QuerySource | null): void {
    if (source?.url !== this.source?.url) for (const question of QUESTIONS) question.newest = -1;
    this.source = source;
    if (source) for (const question of QUESTIONS) question.onChange = this.listener;
    this.render();
  }

  open(tab: Tab): void {
    if (tab === this.tab) return;
    questions.tab = tab;
    this.render();
  }

  destroy(): void {
    this.camera.close();
    this.pad?.destroy();
    for (const view of Object.values(this.views)) view.destroy();
    for (const question of QUESTIONS) if (question.onChange === this.listener) question.onChange = () => {};
    this.offs.forEach((off) => off());
    this.node.remove();
  }

  private render(): void {
    const { source, tab } = this;
    this.node.hidden = !source;
    for (const button of this.tabs.querySelectorAll("button")) {
      const open = button.textContent === tab;
      button.setAttribute("aria-selected", String(open));
      button.tabIndex = open ? 0 : -1;
    }
    if (source) {
      if (tab !== "Selected") prepareAnswers(source);
      if (tab === "Draw") questions.draw.refresh(source);
      if (tab === "Upload") questions.upload.refresh(source);
      if (tab === "Camera") questions.camera.refresh(source);
      this.follow();
    }
    const content = this.content();
    if (this.body.firstChild !== content) this.body.replaceChildren(...(content ? [content] : []));
    const waits = tab === "Camera" && source && !questions.camera.picture;
    if (waits) this.heed(this.camera.open());
    else this.camera.close();
    this.node.dataset.busy = String(Boolean(questions.upload.busy || questions.camera.busy));
    this.onChange();
  }

  private follow(): void {
    const { source, tab } = this;
    const question = { Selected: null, Draw: questions.draw, Upload: questions.upload, Camera: questions.camera }[tab];
    if (source && !(tab === "Draw" && source.undrawn)) question?.follow(source);
  }

  private content(): HTMLElement | null {
    const { source, tab } = this;
    if (!source || tab === "Selected") return null;
    if (tab === "Draw") return source.undrawn ? h("p", "quiet", source.undrawn) : this.drawing();
    const view = this.views[tab];
    view.render();
    return view.node;
  }

  private drawing(): HTMLElement {
    if (!this.pad) {
      this.pad = mountPad(this.padHost, "query_pad", 0);
      this.pad.send = (drawing: Drawing | null) => this.source && questions.draw.send(this.source, drawing);
      this.padHost.append(h("p", { class: "refused", role: "alert" }));
    }
    this.pad.update({ hint: "Draw here" });
    const words = this.padHost.querySelector(".refused");
    if (words && words.textContent !== questions.draw.trouble) words.textContent = questions.draw.trouble;
    return this.padHost;
  }

  /** The field for a file, and the sample pictures. */
  private chooser(): HTMLElement {
    const samples = Object.entries(this.source?.samples ?? {}).map(([name, title]) =>
      textButton(title, () => this.source && this.heed(questions.upload.send(this.source, { sample: name }, title))),
    );
    return h(
      "div",
      "chooser",
      fileLabel("zone", (file) => this.send("Upload", file, file.name), [
        h("strong", null, "Choose a picture"),
        h("span", null, "or drop it anywhere on the page, or paste it (Ctrl+V)"),
        h("span", "quiet", `A photograph or a drawing, up to ${MAX_MB} MB`),
      ]),
      h("p", "samples", h("span", "quiet", "or try"), ...samples),
    );
  }

  private send(tab: "Upload" | "Camera", file: Blob, name: string): void {
    if (!this.source) return;
    this.open(tab);
    void (tab === "Upload" ? questions.upload : questions.camera).send(this.source, file, name);
  }

  private take(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])];
    const file = files.find(({ type }) => type.startsWith("image/")) ?? (event.type === "drop" ? files[0] : undefined);
    if (!file || !this.source) return;
    event.preventDefault();
    this.send("Upload", file, event.type === "paste" ? "The pasted picture" : file.name);
  }

  private onDragOver(event: DragEvent): void {
    if (!this.source || !event.dataTransfer?.types.includes("Files") || !isFree(event)) return this.say("");
    event.preventDefault(); // a file may be dropped here
    event.dataTransfer.dropEffect = "copy";
    this.say("Drop the picture to find its neighbors");
  }

  private say(words: string): void {
    if (this.drop.textContent !== words) this.drop.textContent = words;
  }

  private tabButton(name: Tab): HTMLButtonElement {
    const button = h("button", { type: "button", role: "tab", click: () => this.open(name) }, name);
    return button;
  }

  private onKey(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    const buttons = [...this.tabs.querySelectorAll("button")];
    const next = buttons[(buttons.findIndex((button) => button.tabIndex === 0) + by + buttons.length) % buttons.length];
    this.open(next.textContent as Tab);
    next.focus();
    event.preventDefault();
  }

  private listen<K extends "paste" | "dragover" | "dragleave" | "drop">(
    name: K,
    listener: (event: DocumentEventMap[K]) => void,
  ): void {
    document.addEventListener(name, listener);
    this.offs.push(() => document.removeEventListener(name, listener));
  }
}

const urls = new Set<string>();

/** Ask about a sample: a run's first answer takes seconds to calibrate, which pass while a person draws or chooses. */
function prepareAnswers({ url, samples, live }: QuerySource): void {
  const [sample] = Object.keys(samples);
  if (live || !sample || urls.has(url)) return;
  urls.add(url);
  new Asker().ask(url, { sample }).catch(() => {}); // the person's own question says what is wrong
}

/** A picture with its frame, or the way to one; and beside it why a picture was not taken. */
class PictureView {
  readonly node = h("div", "picture-question");
  private editor: FrameEditor;
  private frameBox = h("div", "chosen");
  private words = h("p", { class: "refused", role: "alert" });
  private busy = h("p", { class: "quiet", role: "status" });
  private way: HTMLElement | null = null;

  constructor(
    private question: PictureQuestion,
    private source: () => QuerySource | null,
    private chooser: () => HTMLElement,
    retake = "",
  ) {
    this.editor = new FrameEditor((frame) => {
      const from = this.source();
      if (from) this.question.reframe(from, frame);
    });
    const other = retake
      ? textButton(retake, () => this.question.remove())
      : fileLabel("link", (file) => this.send(file), ["Another picture"]);
    const remove = textButton("Remove", () => this.question.remove());
    this.frameBox.append(
      this.editor.node,
      h("p", "with-picture", h("span", "name quiet"), other, retake ? null : remove),
    );
  }

  render(): void {
    const { picture, trouble, busy } = this.question;
    if (picture) {
      this.editor.show(picture);
      const name = this.frameBox.querySelector(".name");
      if (name) name.textContent = picture.name;
    } else this.way ??= this.chooser();
    if (this.words.textContent !== trouble) this.words.textContent = trouble;
    this.busy.textContent = busy ? `Reading ${busy} …` : "";
    const parts = [picture ? this.frameBox : (this.way ?? ""), this.busy, this.words];
    if (this.node.firstChild !== parts[0]) this.node.replaceChildren(...parts);
  }

  destroy(): void {
    this.editor.destroy();
  }

  private send(file: File): void {
    const source = this.source();
    if (source) void this.question.send(source, file, file.name);
  }
}

/** A label that opens the choice of a file; the same file may be chosen twice. */
function fileLabel(name: string, onFile: (file: File) => void, children: (Node | string)[]): HTMLElement {
  const input = h("input", { type: "file", accept: PICTURES, "aria-label": "Choose a picture" });
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    if (file) onFile(file);
    input.value = "";
  });
  return h("label", name, input, ...children);
}

/** True if no other part of the page takes a dropped file. */
const isFree = (event: DragEvent): boolean =>
  !event.composedPath().some((node) => node instanceof Element && node.matches(".upload"));
