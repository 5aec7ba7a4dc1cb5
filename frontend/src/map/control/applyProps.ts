// @ts-nocheck
// What Python sent, put into effect: everything is compared with what was sent before, nothing is built anew.
import { tellSelection } from "../../lib/selection.ts";
import { classColours } from "../../lib/palette.ts";
import { Sprites } from "../../lib/sprites.ts";
import { stream } from "../../lib/eventStream.ts";
import { pinned } from "../ui/ariaLive.ts";
import { recall } from "./savedView.ts";
import { Model } from "../data/model.ts";
import { loadLabels, loadNearest, loadWatched } from "../data/fetchItems.ts";

const PICTURES_AFTER = 400; // milliseconds; they are wanted at the first hover, the frames go before

export class Intake {
  constructor(view) {
    this.view = view;
    this.adopted = {};
    this.known = false; // whether the items' labels are there
  }

  take(data, before) {
    const { view } = this;
    const other = (...names) => names.some((name) => JSON.stringify(data[name]) !== JSON.stringify(before[name]));
    const items = other("dataset", "labels_url", "n");
    if (items) this.meetItems(data);
    if (items || other("sprites")) this.meetPictures(data);
    if (items || other("nearest_url")) this.meetNearest(data);
    if (items || other("run", "view", "begun")) {
      stream.renew({ run: data.run, pid: view.pid, begun: data.begun });
      this.follow(data, view.pid);
    }
    if (data.fallback) stream.feed({ run: data.run, pid: view.pid, ...data.fallback });
    this.adopt(data);
  }

  // Other items: everything the person did belongs to the old ones.
  meetItems(data) {
    const { view } = this;
    const classes = (data.classes ?? []).map(String);
    if (view.model.selected) tellSelection(null);
    view.model = new Model(classes, null, data.n);
    view.colours = classColours(classes.length, view.theme.dark);
    this.adopted = {};
    this.known = false;
    view.scene.setModel(view.model);
    view.playback.shown = null;
    view.legend.setClasses(classes);
    this.labelled = loadLabels(data).then((labels) => {
      if (labels.length < data.n) throw new Error(`the labels are ${labels.length}; the map has ${data.n} items`);
      return labels;
    });
  }

  meetPictures({ sprites }) {
    const { view } = this;
    view.sprites = sprites?.urls?.length ? new Sprites(sprites, () => view.scene.invalidate()) : null;
    view.card.refresh();
    setTimeout(() => view.sprites?.image(0), PICTURES_AFTER);
  }

  meetNearest(data) {
    const { view } = this;
    const { model } = view;
    model.nearest = null;
    const put = (nearest) => {
      if (view.model !== model || view.data.nearest_url !== data.nearest_url) return;
      model.nearest = nearest;
      view.card.refresh();
      view.repaint();
    };
    loadNearest(data, data.n).then(put, (error) => view.say(error.message));
  }

  async follow(data, pid) {
    const { view } = this;
    const { model } = view;
    const token = (this.following = {});
    view.trouble = null;
    this.leave?.();
    // Without items there is nothing to draw, but a run that cannot fetch them says why.
    this.leave = data.n ? null : stream.subscribe(data.run, ({ event, reason }) => event === "failed" && view.say(reason), pid);
    try {
      const labels = await this.labelled;
      if (this.following !== token || view.gone || !data.n) return;
      model.labels = labels;
      this.known = true;
      view.scene.automatic = true;
      const was = recall(view);
      view.repaint();
      const at = pid ? `${data.run}/${pid}` : data.run;
      view.playback.follow({
        run: data.run,
        pid,
        url: data.frames_url ?? (data.events_url ? `${data.api ?? "/api"}/frames/${at}/{id}.i16` : null),
        watched: () => loadWatched(view.data),
        total: data.n,
        orbit: view.orbit,
        raw: was?.raw,
        pivot: data.picture?.space ? [0, 0, 0] : undefined, // a learned space has an origin
        running: data.running ?? Boolean(data.events_url && !data.autoplay),
        autoplay: data.autoplay && (was?.playing ?? true),
        step: data.step,
      });
      if (model.selected) view.pointing.tellSelection();
      this.listen(data, pid);
    } catch (error) {
      view.say(error.message);
    }
  }

  listen(data, pid) {
    const { view } = this;
    if (data.fallback || !data.events_url) return;
    const own = pid && !data.events_url.includes(`/projections/${pid}/`);
    const url = own ? data.events_url.replace(/\/events(?=$|\?)/, `/projections/${pid}/events`) : data.events_url;
    if (this.open && this.open.run !== data.run) stream.close(this.open.run, this.open.pid);
    this.open = { run: data.run, pid };
    stream.open({ run: data.run, pid, events_url: url });
    stream.probe(`${data.api ?? "/api"}/health`).then((here) => {
      if (here || view.gone) return;
      stream.close(data.run, pid);
      view.setState("routes", "blocked");
    });
  }

  // Values that the person changes here and Python may change too: taken when Python's has changed.
  adopt(data) {
    const { view, adopted } = this;
    const { model, theme } = view;
    const changed = (name) => {
      const now = JSON.stringify(data[name] ?? null);
      const is = now !== (adopted[name] ?? "null");
      adopted[name] = now;
      return is;
    };
    const known = (item) => Number.isInteger(item) && item >= 0 && item < model.n;
    const sent = known(data.pinned) ? data.pinned : null;
    if (changed("pinned") && view.pointing.isNews("pinned", sent)) model.pinned = sent;
    // Neighbours belong to the pin that Python knows of, which a newer click may have left behind.
    if (sent === model.pinned) model.neighbours = (data.neighbours ?? []).filter(({ item }) => known(item));
    const bits = data.selected?.bits ?? null;
    const reselected = changed("selected") && view.pointing.isNews("selected", bits) && view.pointing.adoptSelection(bits);
    if (reselected && this.known) view.pointing.tellBeside();
    if (changed("step")) {
      view.leaving.know(data.step);
      if (Number.isFinite(data.step)) view.playback.seekStep(data.step);
    }
    if (view.star.set(data.query ?? null, view.playback.shown, theme.still)) view.scene.refit();
    view.card.refresh();
    view.announcer.say(pinned(model) || view.summary());
    if (changed("colour") || changed("values")) view.recolour();
    const paint = JSON.stringify([theme, model.n]);
    if (reselected || paint !== this.painted) view.repaint();
    else view.changed();
    this.painted = paint;
  }
}
