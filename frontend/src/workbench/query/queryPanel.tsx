// The tabs of the inspector in which a person asks about a picture of their own: drawn, uploaded, dropped, pasted, taken.
import type { ComponentChildren } from "preact";
import { bus } from "../../lib/bus.ts";
import { h } from "../../lib/dom.ts";
import { draw, TextButton } from "../../lib/panel.tsx";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import type { MapSource, OcclusionMaps, QueryAnswer, QuerySource } from "../../protocol.ts";
import type { AskParts } from "../inspector/captions.ts";
import { Pad } from "../query_pad/queryPad.tsx";
import { gallery, GalleryList, isZip, KeepLine, Said, State } from "./gallery.tsx";
import { newBatch, NewBatchView } from "./newBatch.tsx";
import { Camera, FileLabel, hasCamera, isTouched } from "./camera.tsx";
import { FrameEditor } from "./frameEditor.tsx";
import { frameParameter } from "./frameGeometry.ts";
import { Asker, bodyOf, DrawingQuestion, MAX_MB, PictureQuestion } from "./questions.ts";

const isOfFiles = (name: string) => name === "Upload" || name === "Camera";
const TABS = ["Selected", "Draw", "Upload", "Camera"] as const;
export type Tab = (typeof TABS)[number];

const PICTURES = "image/*,.heic,.heif,.zip";
const questions = { Draw: new DrawingQuestion(), Upload: new PictureQuestion(), Camera: new PictureQuestion() };
const QUESTIONS = Object.values(questions);
let chosen: Tab = "Selected"; // the open tab

export class QueryPanel {
  readonly node = h("div", "query");
  private source: QuerySource | null = null;
  private map: MapSource | null = null;
  private dropWords = "";
  private offs: (() => void)[] = [];
  private listener = () => this.render();

  /** `changed()` hears of another tab and of every answer. */
  constructor(private onChange: () => void) {
    this.offs.push(
      bus.on("open-query", (tab) => this.open(tab)),
      bus.on("frame", ({ run, step }) => {
        if (run !== this.source?.run) return;
        for (const question of QUESTIONS) question.newest = Math.max(question.newest, step);
        this.follow();
      }),
    );
    // Who comes near asks soon.
    this.node.addEventListener("pointerenter", () => this.source && prepareAnswers(this.source));
    this.listen("paste", (event) => this.take(event, event.clipboardData));
    this.listen("dragover", (event) => this.onDragOver(event));
    this.listen("dragleave", (event) => event.relatedTarget === null && this.say(""));
    this.listen("drop", (event) => {
      this.say("");
      if (isFree(event)) this.take(event, event.dataTransfer);
    });
  }

  get tab(): Tab {
    return this.tabs.includes(chosen) ? chosen : "Selected";
  }

  /** Answer in the open tab; null in the first, which is about test images. */
  get answer(): QueryAnswer | null {
    const { source, tab, question } = this;
    return source && !(tab === "Draw" && source.undrawn) ? (question?.answer ?? null) : null;
  }

  /** `map`: what else is laid over it, also where nothing can be asked. */
  update(source: QuerySource | null, map: MapSource | null = source): void {
    if (source?.url !== this.source?.url) for (const question of QUESTIONS) question.newest = -1;
    [this.source, this.map] = [source, map];
    gallery.onChange = this.listener;
    gallery.update(source);
    newBatch.onChange = this.listener;
    newBatch.update(map);
    if (source) for (const question of QUESTIONS) question.onChange = this.listener;
    this.render();
  }

  open(tab: Tab): void {
    if (tab === this.tab) return;
    chosen = tab;
    this.render();
  }

  destroy(): void {
    draw(this.node, null);
    for (const question of QUESTIONS) if (question.onChange === this.listener) question.onChange = () => {};
    for (const one of [gallery, newBatch]) if (one.onChange === this.listener) one.onChange = () => {};
    this.offs.forEach((off) => off());
    this.node.remove();
  }

  /** Under an answer: the line that keeps its picture. */
  get keepLine() {
    const { source, question, tab } = this;
    if (!source || tab === "Selected") return null;
    const files = tab === "Upload" ? gallery.files : [];
    const pictures = files.map((file) => ({ question: file, title: file.name }));
    const keepable = question?.keepable ?? null;
    const again = () => question?.askAgain(source);
    const kept = pictures.length > 0 ? pictures : keepable ? [keepable] : [];
    return (
      <>
        {kept.length > 0 && <KeepLine key={pictures.length > 0} source={source} pictures={kept} kept={again} />}
        <Said />
      </>
    );
  }

  /** Asks which parts of the picture in question and of a test image hold them together; null while that cannot be. */
  get askParts(): AskParts | null {
    const { source, question } = this;
    const asked = source && !source.live ? question?.keepable : null;
    if (!source || !asked) return null;
    return async (item) => {
      const frame = asked.frame ? `?frame=${frameParameter(asked.frame)}` : "";
      const address = `${ROUTES}/runs/${source.run}/occlusion/${item}.json${frame}`;
      const init = { ...bodyOf(asked.question), method: "POST" };
      return fetchJson<OcclusionMaps>(address, "The parts", undefined, init);
    };
  }

  /** Under the neighbors: what is kept, and many pictures or rows at once. */
  get galleryList() {
    const { source, map, question } = this;
    if (!map || !question) return null;
    const kept = gallery.content?.pictures.length ?? 0;
    return (
      <>
        {source && <GalleryList source={source} removed={() => question.askAgain(source)} />}
        {this.tab === "Upload" && <NewBatchView source={map} kept={source ? kept : 0} rows={!source} />}
      </>
    );
  }

  private get question() {
    return this.tab === "Selected" ? null : questions[this.tab];
  }

  private render(): void {
    const { source, tab } = this;
    this.node.hidden = this.tabs.length < 2;
    if (source) {
      if (tab !== "Selected") prepareAnswers(source);
      this.question?.refresh(source);
      this.follow();
    }
    this.draw();
    this.node.dataset.busy = String(Boolean(questions.Upload.busy || questions.Camera.busy));
    this.onChange();
  }

  private draw(): void {
    const { source, tab, dropWords } = this;
    draw(
      this.node,
      <>
        <div class="tabs" role="tablist" aria-label="Inspect" onKeyDown={(event) => this.onKey(event)}>
          {this.tabs.map((name) => (
            <button
              role="tab"
              aria-selected={name === tab}
              tabIndex={name === tab ? 0 : -1}
              onClick={() => this.open(name)}
              children={name}
            />
          ))}
        </div>
        <div class="question">{source && this.content(source)}</div>
        <div class="drop-here" role="status">
          {dropWords}
        </div>
      </>,
    );
  }

  private follow(): void {
    const { source, tab, question } = this;
    if (source && !(tab === "Draw" && source.undrawn)) question?.follow(source);
  }

  private content(source: QuerySource) {
    const { Upload: upload, Camera: camera, Draw: draw } = questions;
    const send = (tab: "Upload" | "Camera") => (file: Blob, name: string) => this.send(tab, file, name);
    const several = (files: File[]) => this.several(files);
    const refuse = (words: string) => {
      camera.trouble = words;
      this.render();
    };
    switch (this.tab) {
      case "Draw":
        if (source.undrawn) return <p class="quiet">{source.undrawn}</p>;
        return (
          <div class="pad">
            <Pad
              name={source.point ? "query_point" : "query_pad"}
              delay={0}
              hint={source.point ? "Click a place" : "Draw here"}
              point={source.point}
              send={(drawing) => draw.send(source, drawing)}
            />
            <State busy={draw.waiting} trouble={draw.trouble} />
          </div>
        );
      case "Upload":
        return (
          <PictureTab key="Upload" {...{ source, several }} question={upload} take={send("Upload")}>
            <Chooser {...{ source, several }} take={send("Upload")} />
          </PictureTab>
        );
      case "Camera":
        return (
          <PictureTab key="Camera" {...{ source }} question={camera}>
            <Camera take={send("Camera")} refuse={refuse} />
          </PictureTab>
        );
      default:
        return null;
    }
  }

  /** Several files, or a zip, are kept at once; one picture is asked about. */
  private several(files: File[]): boolean {
    if (files.length < 2 && !files.some(isZip)) return false;
    gallery.choose(files);
    questions.Upload.trouble = "";
    this.open("Upload");
    this.render();
    return true;
  }

  private send(tab: "Upload" | "Camera", file: Blob, name: string): void {
    if (!this.source) return;
    gallery.choose([]); // what is kept now is this picture
    this.open(tab);
    void questions[tab].send(this.source, file, name);
  }

  /** Of points of the plane there are no files; where there is no net, rows are uploaded. */
  private get tabs(): readonly Tab[] {
    if (!this.source) return this.map ? ["Selected", "Upload"] : ["Selected"];
    return TABS.filter((name) => (this.source?.point ? !isOfFiles(name) : name !== "Camera" || hasCamera()));
  }

  private take(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])];
    if (!this.source && this.map && newBatch.about && event.type === "drop" && files.length) {
      event.preventDefault();
      this.open("Upload");
      return void newBatch.place(this.map, files[0].name, files[0]);
    }
    const folder = [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry()).find((entry) => entry?.isDirectory);
    if (folder && this.source && !this.source.point) {
      event.preventDefault();
      this.open("Upload");
      questions.Upload.trouble = `${folder.name}: This is a folder. Drop the pictures in it, or a zip of it.`;
      return this.render();
    }
    if (this.source && this.several(files)) return event.preventDefault();
    const file = files.find(({ type }) => type.startsWith("image/")) ?? (event.type === "drop" ? files[0] : undefined);
    if (!file || !this.source || this.source.point) return;
    event.preventDefault();
    this.send("Upload", file, event.type === "paste" ? "The pasted picture" : file.name);
  }

  private onDragOver(event: DragEvent): void {
    const takes = this.source ? !this.source.point : newBatch.about !== "";
    if (!takes || !event.dataTransfer?.types.includes("Files") || !isFree(event)) return this.say("");
    event.preventDefault(); // a file may be dropped here
    event.dataTransfer.dropEffect = "copy";
    this.say(`Drop the ${this.source ? "picture to find its neighbors" : "file to lay its rows over this map"}`);
  }

  private say(words: string): void {
    if (words === this.dropWords) return;
    this.dropWords = words;
    this.draw();
  }

  private onKey(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    const buttons = [...this.node.querySelectorAll<HTMLElement>("[role=tab]")];
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

interface TabProps {
  question: PictureQuestion;
  source: QuerySource;
  /** Is given another picture; without it, `children` stay, for another photo. */
  take?(this: void, file: File, name: string): void;
  several?(this: void, files: File[]): boolean;
  children: ComponentChildren;
}

/** A picture with its frame, or the way to one (`children`); and below it why a picture was not taken. */
function PictureTab({ question, source, take, several, children }: TabProps) {
  const { picture, trouble, busy, waiting } = question;
  return (
    <div class="picture-question">
      {picture && (
        <div class="chosen">
          <FrameEditor picture={picture} reframe={(frame) => question.reframe(source, frame)} />
          <p class="with-picture">
            <span class="name quiet">{picture.name}</span>
            {take && (
              <FileLabel class="link" label="Choose a picture" accept={PICTURES} {...{ take, several }}>
                Another picture
              </FileLabel>
            )}
            <TextButton onClick={() => question.remove()}>Remove</TextButton>
          </p>
        </div>
      )}
      {!(picture && take) && children}
      <State busy={busy ? `Reading ${busy} …` : waiting} trouble={trouble} />
    </div>
  );
}

/** The field for a file, and the sample pictures. */
const Chooser = ({ source, take, several }: Pick<TabProps, "source" | "take" | "several">) => (
  <div class="chooser">
    <FileLabel class="zone" label="Choose a picture" accept={PICTURES} take={take!} several={several}>
      <strong>Choose a picture</strong>
      {!isTouched() && <span>or drop it anywhere on the page, or paste it (Ctrl+V)</span>}
      <span class="quiet">{`A photograph or a drawing, up to ${MAX_MB} MB`}</span>
    </FileLabel>
    <p class="samples">
      <span class="quiet">or try</span>
      {Object.entries(source.samples).map(([sample, title]) => (
        <TextButton onClick={() => void questions.Upload.send(source, { sample }, title)}>{title}</TextButton>
      ))}
    </p>
  </div>
);

/** True if no other part of the page takes a dropped file. */
const isFree = (event: DragEvent): boolean =>
  !event.composedPath().some((node) => node instanceof Element && node.matches(".upload"));
