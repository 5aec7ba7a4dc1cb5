// Written by scripts/generate_protocol.py from app/payloads/protocol: change that, not this.

// ---- common: What several components are given: a run to follow, sprite sheets, a small picture.

export const ROUTES = "dmlviz";

/** Sheets of tiles, and the pixels of a tile's side; tiles in a row and on a sheet where that is not as usual. */
export interface SpriteSheets {
  urls: string[];
  tile: number;
  columns?: number;
  per_sheet?: number;
}

/** Which run, drawn how, begun when, and where its events are (nowhere in an exported page). */
export interface Source {
  run: string;
  view: string;
  begun: string | null;
  events_url: string | null;
}

/** A small picture: base64 of one byte a pixel, or three. */
export interface Ink {
  ink: string;
  width: number;
  height: number;
}

// ---- events: The events of a run and of a projection, as the event stream sends them.

/** Where the bytes of a frame are, and what they mean: world = center + q / 32767 · scale. */
export interface FrameMeta {
  id: string;
  n: number;
  dims: number;
  center: number[];
  scale: number;
  items: "all" | "tracked";
}

export type Faithfulness = Record<string, number | null>;

/** A training has `steps`, a projection `iterations`. */
export interface StartedEvent {
  event: "started";
  time?: number;
  steps?: number;
  train_images?: number;
  validation_images?: number;
  scored_images?: number;
  test_images?: number;
  device?: string | null;
  threads?: number;
  precision?: string;
  view?: string;
  dims?: number;
  tracked?: number;
  unseen?: string[];
  method?: string;
  iterations?: number | null;
  iteration?: number;
}

/** One batch, or the mean of several. */
export interface StepEvent {
  event: "step";
  time?: number;
  step: number;
  loss: number;
  active: number;
  positive_distance?: number;
  negative_distance?: number;
  images_per_second?: number;
  terms_per_image?: number;
  cpu_seconds?: number;
}

/** A batch was recorded. */
export interface BatchEvent {
  event: "batch";
  time?: number;
  step: number;
  images: number;
  loss: number;
  active: number;
}

/** The tracked images were embedded, and the images of `scored_on` scored. */
export interface SnapshotEvent {
  event: "snapshot";
  time?: number;
  step: number;
  frame: FrameMeta;
  metrics?: Record<string, number>;
  scored_on?: "validation" | "test";
  train_metrics?: Record<string, number>;
  centers?: number[][];
}

/** A layout on its way. */
export interface LayoutEvent {
  event: "frame";
  time?: number;
  iteration: number;
  of?: number | null;
  error?: number | null;
  frame: FrameMeta;
}

/** A library at work, which shows no positions. */
export interface PhaseEvent {
  event: "phase";
  time?: number;
  words: string;
  iteration: number;
  of: number;
}

/** Something goes wrong from this step on. */
export interface AlarmEvent {
  event: "alarm";
  time?: number;
  step: number;
  alarm: string;
  sentence: string;
  remedies: string[];
}

/** It no longer does. */
export interface AlarmOverEvent {
  event: "alarm_over";
  time?: number;
  step: number;
  alarm: string;
}

/** A step drawn again; the frame's fields lie beside the others, or, in a projection of all epochs, in `frame`. */
export interface ReplayFrame {
  step: number;
  frame?: FrameMeta;
  id?: string;
  n?: number;
  dims?: number;
  center?: number[];
  scale?: number;
  items?: "all" | "tracked";
  explained?: number[] | null;
  faithfulness?: Faithfulness | null;
  centers?: number[][];
}

/** All steps on one basis. */
export interface ReplayEvent {
  event: "replay";
  time?: number;
  view: string;
  basis?: string;
  epochs?: number;
  explained?: number[] | null;
  faithfulness?: Faithfulness | null;
  frames: ReplayFrame[];
}

/** A data set is downloaded. */
export interface PreparingEvent {
  event: "preparing";
  time?: number;
  dataset: string;
  done: number;
  total: number;
}

/** A training was stopped after `step`; its test images are embedded and scored. */
export interface StoppingEvent {
  event: "stopping";
  time?: number;
  step: number;
}

/** How a training or a projection came to its end; `metrics` are those of the test images. */
export interface EndedEvent {
  event: "finished" | "stopped" | "failed";
  time?: number;
  step?: number;
  metrics?: Record<string, number>;
  validation_metrics?: Record<string, number>;
  train_metrics?: Record<string, number>;
  test_images?: number;
  usual_distance?: number | null;
  seconds?: number | null;
  cpu_seconds?: number | null;
  reason?: string;
  frame?: FrameMeta | null;
  iteration?: number | null;
  explained?: number[] | null;
  error?: number | null;
  faithfulness?: Faithfulness | null;
}

/** Where a run waits; not kept. */
export interface QueueEvent {
  event: "queue";
  phase?: string;
  position: number | null;
  of: number | null;
}

/** Which machine of the fleet trains the run, and which was lost before, in a sentence; not kept. */
export interface MachineEvent {
  event: "machine";
  machine: string;
  lost: string;
}

/** The same run is trained again; what was said of it before is over. Not kept. */
export interface BegunEvent {
  event: "begun";
}

/** The stream is over. */
export interface EndEvent {
  event: "end";
  state?: string;
}

export type RunEvent = StartedEvent | StepEvent | BatchEvent | SnapshotEvent | LayoutEvent | PhaseEvent | AlarmEvent | AlarmOverEvent | ReplayEvent | PreparingEvent | StoppingEvent | EndedEvent | QueueEvent | MachineEvent | BegunEvent | EndEvent;

// ---- maps: Props of the map and of the closer look, and what a projection is called.

/** A learned space that is drawn as it is. */
export interface Space {
  kind: "circle" | "plane" | "sphere" | "space";
  centers: "points" | "directions";
  margins: [number, number, number] | null;
}

/** What kind of picture the map is. */
export interface PictureInfo {
  method: string;
  taught?: string;
  title?: string;
  caution?: string;
  axes?: number[];
  space?: Space;
}

/** A person's own picture: where it lies at the end and on the way (step, then coordinates), and its neighbors. */
export interface MapQuery {
  xy?: number[];
  trajectory?: number[][];
  frames?: Record<string, number[]>;
  neighbors: number[];
}

/** A selection: bit i of byte i >> 3 (little-endian bits) says whether item i is in it, base64 around it. */
export interface SelectionBits {
  bits: string;
}

/** How the map shows its items, where that is not as on a new map; `hidden` are numbers of classes or categories. */
export interface MapDisplay {
  names?: boolean;
  trails?: boolean;
  contours?: boolean;
  pictures?: boolean;
  images?: "test" | "both" | "train";
  markers?: string;
  hidden?: number[];
}

/** The map; items are numbered in the official order of the test images. `noun` says what an item is, if no such. With `display` Python keeps what the person sets on the map, and what is isolated; without, the map does. */
export interface MapProps {
  run: string;
  view: string;
  begun: string | null;
  events_url: string | null;
  classes: string[];
  n: number;
  noun?: string;
  sprites: SpriteSheets;
  labels?: number[];
  labels_url?: string;
  kept?: ("tracked" | "items" | "nearest" | "values" | "columns")[];
  tracked?: number[] | null;
  values?: Record<string, string>;
  query?: MapQuery;
  step?: number | null;
  selected?: SelectionBits;
  isolated?: SelectionBits;
  display?: MapDisplay;
  subset?: SelectionBits;
  projects?: boolean;
  running?: boolean;
  autoplay?: boolean;
  picture?: PictureInfo;
  distance?: number;
  color?: string;
  pinned: number | null;
  neighbors: number[];
  link?: string | null;
  links_views?: boolean;
  height?: number | "fill";
}

/** Images that a run has trained on: labels, steps, and their positions at each step (steps × n × dims). */
export interface TrainPoints {
  labels: number[];
  steps: number[];
  places: number[][][];
}

/** What the closer look needs of the test images. */
export interface DetailProps {
  run: string;
  view: string;
  begun: string | null;
  events_url: string | null;
  classes: string[];
  n: number;
  sprites: SpriteSheets;
  labels?: number[];
  labels_url?: string;
}

/** What may not be read from a projection. */
export interface MethodInfo {
  title: string;
  caution: string;
}

// ---- inspector: Props of the inspector, and the neighbors that it shows.

/** A test image (item, label); empty for a picture of one's own, which the last of its steps shows. */
export interface Subject {
  item?: number;
  label?: number | null;
}

/** One of the steps in which a picture was prepared. */
export interface CaptionedInk {
  ink: string;
  width: number;
  height: number;
  caption: string;
}

/** The nearest neighbors of an image at every snapshot: for each step [item, distance], nearest first. */
export interface NeighborHistory {
  item: number | null;
  label: number;
  among: number;
  nets?: number | boolean | null;
  steps: number[];
  near: [number, number][][];
  labels: Record<string, number>;
}

/** Which class most neighbors say. */
export interface Vote {
  label: number;
}

/** dmlviz/runs/RUN/logits/ITEM.json: see dmlviz/runs/logits.py. */
export interface Logits {
  classes: number[];
  own: number | null;
  before: number[];
  after: number[];
  norm: number;
}

/** Two images in a space: their distance, and the threshold that gets `accuracy` of all pairs right. */
export interface PairSpace {
  name: string;
  distance: number;
  threshold: number;
  says_same: boolean;
  accuracy: number;
}

/** dmlviz/runs/RUN/pair/A/B.json: whether two images are of one class; the thresholds rest on `pairs` pairs. */
export interface ImagePair {
  same: boolean;
  pairs: number;
  spaces: PairSpace[];
}

/** The image with which the pinned one is compared; without a URL until another image is pinned. */
export interface Partner {
  item: number;
  label: number | null;
  url?: string;
}

/** The image in question with its nearest, or the words that stand where there is none. `columns` says whether a table knows more of the items, `noun` what an item is, if no test image; `values`, by item, what that table says of neighbors without pictures. */
export interface InspectorProps {
  placeholder?: string;
  run?: string;
  classes?: Record<string, string>;
  sprites?: SpriteSheets;
  subject?: Subject;
  near?: [number, number, number][];
  metric?: string;
  history?: boolean | NeighborHistory | null;
  among?: number | null;
  vote?: Vote;
  title?: string;
  steps?: CaptionedInk[];
  far?: string | null;
  trajectory_length?: number;
  below?: string;
  logits?: string[];
  sheet?: boolean;
  comparable?: boolean;
  columns?: boolean;
  noun?: string;
  values?: Record<string, string>;
  partner?: Partner;
}

// ---- query: What the drawing pad and the paste field are given, and what they send.

/** The drawing pad. */
export interface PadProps {
  hint: string;
}

/** What was drawn: side × side bytes of ink, base64. */
export interface Drawing {
  side: number;
  strokes: number;
  ink: string;
}

/** What was pasted, base64 of a JPEG; `count` tells the same picture twice from once. */
export interface PastedPicture {
  count: number;
  jpeg: string;
}

/** Nothing. */
export type PasteProps = Record<string, never>;

// ---- progress: Props of the progress panel, and the remedy that a person chooses there.

/** Which remedy of which alarm a person chose. */
export interface Remedy {
  alarm: string;
  index: number;
}

/** How a run or a projection stands, as far as the server knew. */
export interface ProgressProps {
  run: string;
  view: string;
  begun: string | null;
  events_url: string | null;
  title: string;
  phase: string;
  position: number | null;
  of: number | null;
  reason: string;
  machine: string;
  lost: string;
  running: boolean;
  drawing: boolean;
  pausable: boolean;
  waits_for_pictures: boolean;
}

/** dmlviz/runs/RUN/baseline-curves.json: how many baselines are measured, and whether others still are. */
export interface BaselineProgress {
  measured: number;
  pending: boolean;
}

/** Where the answer comes from when more baselines are measured than are drawn. */
export interface BaselineWaitProps {
  url: string;
}

// ---- run_list: Props of the list of runs, and the actions of a person on it.

/** Whose a run is, who else sees it, and what a person may choose: nothing, where it is not theirs. */
export interface RunSharing {
  group: string;
  owner: string;
  visibility: string;
  offered: string[];
  key: string;
}

/** What a card says of a run. */
export interface RunCardProps {
  run: string;
  title: string;
  read_only: boolean;
  sharing?: RunSharing;
  tags: string[];
  pinned: boolean;
  badges: string[];
  scores: Record<string, number>;
  tested: number | null;
  state: string;
  machine?: string;
  damage?: string | null;
  readable?: boolean;
  created: string | null;
  bytes: number;
  export: string | null;
  portrait: string | null;
}

/** Bytes used, bytes allowed, titles of the runs that made room. */
export interface DiskUse {
  used: number;
  limit: number;
  gone: string[];
}

/** What can be restored. */
export interface DeletedRun {
  run: string;
  title: string;
}

export interface RunListProps {
  cards: RunCardProps[];
  sort: string;
  search: string;
  group: string;
  disk: DiskUse;
  deleted: DeletedRun | null;
  note: string | null;
  import: string | null;
  explore: Record<string, string>;
  compare: Record<string, string>;
}

/** How the runs are searched and sorted, and whose are shown. */
export interface RunListOrder {
  sort: string;
  search: string;
  group: string;
}

/** What a person does to a run. */
export interface RunAction {
  what: string;
  run: string | null;
  value: string | boolean | string[] | null;
}

// ---- compare: Props of the comparison of two runs.

/** One of two runs. */
export interface ComparedSide {
  run: string;
  view: string;
  begun: string | null;
  events_url: string | null;
  title: string;
  steps: number;
}

/** How many test images, and which. */
export interface AgreementCell {
  count: number;
  bits: string;
}

export type Agreement = Record<string, AgreementCell>;

/** Two runs side by side. */
export interface CompareProps {
  sides: ComparedSide[];
  complete: boolean;
  cells?: Agreement;
  cells_url?: string;
}

// ---- export: Props of the export menu.

/** A script that gives the run again. */
export interface Script {
  title: string;
  text: string;
}

/** A file to download. */
export interface ExportFile {
  title: string;
  summary: string;
  url: string;
  name: string;
}

/** What can be kept of a run. */
export interface ExportProps {
  scripts: Script[];
  files: ExportFile[];
  note: string;
  loading?: string;
}

// ---- uploads: Props of the preview of uploaded files.

/** A class that was found, with its counts. */
export interface ImportedClass {
  name: string;
  train?: number;
  test: number;
}

/** Why files were left out, how many, and the first of their names. */
export interface LeftOut {
  reason: string;
  count: number;
  names: string[];
}

/** The first pictures of each class on one sheet. */
export interface ImportedTiles {
  url: string;
  columns: number;
  counts: number[];
}

/** What was understood of somebody's files. */
export interface ImportPreviewProps {
  summary: string;
  notes: string[];
  warnings: string[];
  left_out: LeftOut[];
  classes: ImportedClass[];
  tiles: ImportedTiles | null;
}

// ---- losses: A loss on the page Learn: props of its plots, and the answers of dmlviz/losses.

/** A parameter of a loss, as a slider needs it. */
export interface LossParameter {
  name: string;
  kind: string;
  default: unknown;
  help: string;
  minimum: number | null;
  maximum: number | null;
  step: number | null;
  choices: string[];
  words: string[];
}

/** A loss, as the plots need it. */
export interface LossInfo {
  name: string;
  title: string;
  family: string;
  on_sphere: boolean;
  needs_classes: boolean;
  parameters: LossParameter[];
}

/** The plot of one loss. */
export interface LossPlotProps {
  loss: string;
  parameters: LossParameter[];
}

/** The plane of points to drag. */
export interface ForcePlaygroundProps {
  loss: string;
  losses: LossInfo[];
}

/** A few points with their scores. */
export interface SmallSpace {
  title: string;
  points: number[][];
  classes: number[];
  scores: Record<string, number>;
}

/** Ten results to turn over: the metric whose page it is on, and the titles of all. */
export interface RankingToyProps {
  metric: string;
  titles: Record<string, string>;
}

/** Small spaces side by side. */
export interface MapAtRProps {
  spaces: SmallSpace[];
}

/** dmlviz/scores.json: the scores of a few points, by the metric's name; null where one is not defined. */
export interface SpaceScores {
  scores: Record<string, number | null>;
}

/** What moves in the plot of a loss: a value is written divided by `unit`, followed by `suffix`. */
export interface CurveAxis {
  title: string;
  low: number;
  high: number;
  unit: number;
  suffix: string;
}

/** A slider for what stands still in the plot of a loss. */
export interface CurveControl {
  name: string;
  label: string;
  default: number;
  low: number;
  high: number;
  step: number;
}

/** A place on the axis where a loss begins or ends to act. */
export interface CurveMark {
  x: number;
  label: string;
}

/** One of the two curves, a value for each `x`; null where it is no finite number. */
export interface CurveSide {
  loss: (number | null)[];
  slope: (number | null)[];
}

/** dmlviz/losses/NAME/curve.json: a loss and its slope over one axis. See dmlviz/losses/sampling.py. */
export interface LossCurve {
  axis: CurveAxis;
  names: string[];
  held: CurveControl[];
  note: string;
  marks: CurveMark[];
  low: number;
  high: number;
  x: number[];
  near: CurveSide;
  far: CurveSide;
}

/** dmlviz/losses/NAME/forces.json: the loss of a few points, and where it pushes each. `active`: a share. */
export interface LossForces {
  loss: number;
  active: number;
  forces: number[][];
  on_weights: number[][];
}

/** dmlviz/losses/NAME/ground.json: the loss with one point elsewhere, for each place asked about. */
export interface LossGround {
  values: (number | null)[];
}

// ---- batches: The answers about recorded batches and about distances between test images.

/** Where on the circle a class (a row of the class weights) wins, in radians. */
export interface ClassArc {
  row: number;
  start: number;
  end: number;
}

/** dmlviz/runs/…/batches/STEP/terms.json: see dmlviz/training/batch_terms.py. */
export interface BatchTerms {
  terms: number[][][];
  symbols: string[];
  constants: Record<string, number>;
  formula: string;
  negative_formula: string;
  note: string;
  count: string;
  arcs: ClassArc[];
  reason: string;
}

/** See dmlviz/catalog/pair_thresholds.py. */
export interface PairThresholds {
  measure: "euclidean" | "sqeuclidean" | "cosine";
  margin: number;
  positive_threshold: number | null;
  decision_boundary: number | null;
  negative_threshold: number | null;
  is_hinge: boolean;
}

/** What a loss compared: base64 of rows of images (or image, class, class) and of how hard each is. */
export interface ComparedTuples {
  kind: "pairs" | "triplets" | "classes";
  by: string;
  rows: string;
  hardness: string;
  counts: number[];
}

/** What stands for each class, and where. */
export interface ClassCenters {
  labels: number[];
  places: string;
  meaning: "mean" | "center" | "weight";
}

/** The loss that saw the batch. */
export interface LossOfBatch {
  name: string;
  title: string;
  formula: string;
  summary: string;
  params: Record<string, unknown>;
}

/** dmlviz/runs/…/batches/STEP.json: a batch, as its loss saw it. */
export interface BatchAnswer {
  step: number;
  loss: number;
  active: number;
  mean_of: string;
  labels: number[];
  images: number[];
  copy_of: number[] | null;
  behind_head: boolean;
  classes: string[];
  before: string;
  places: string;
  moved: string;
  push: string;
  force: string;
  origin: number[];
  view: string;
  normalize: boolean;
  thresholds: PairThresholds;
  tuples: ComparedTuples;
  selected_by: string | null;
  anchored: boolean;
  centers: ClassCenters | null;
  loss_of: LossOfBatch;
  final?: boolean;
  sheet?: SpriteSheets;
}

/** dmlviz/runs/…/distances/STEP.json: histograms (base64 of uint32) of the pairs of one class and of two. */
export interface DistancesAnswer {
  step: number;
  measure: "euclidean" | "sqeuclidean" | "cosine";
  high: number;
  same: string;
  different: string;
  images: number;
  tracked: number;
  thresholds: PairThresholds;
}

// ---- classroom: A class: what its event stream says, and the props of the components that show it.

/** Where the teacher is; `number` grows with every move, `page` is empty for Explore. */
export interface ClassroomLead {
  number: number;
  page: string;
  query: Record<string, string>;
  step: number | null;
}

/** The task that is set for all, as its lesson says it. */
export interface ClassroomTask {
  lesson: string;
  lesson_title: string;
  number: number;
  title: string;
  question: string;
  guesses: string[];
}

/** A student, for the teacher only; `guess` counts from 1, `removed` is who was taken out. */
export interface ClassroomStudent {
  id: string;
  nickname: string;
  online: boolean;
  following: boolean;
  place: string;
  guess: number | null;
  removed: boolean;
}

/** How a class stands, for one person; `counts` and `answer` come to students once the answer is shown. */
export interface ClassroomEvent {
  event: "classroom";
  code: string;
  title: string;
  teacher: boolean;
  present: number;
  online: number;
  leading: boolean;
  following: boolean;
  lead: ClassroomLead | null;
  turn: number;
  task: ClassroomTask | null;
  revealed: boolean;
  guessed: number;
  mine: number | null;
  counts: number[] | null;
  answer: number | null;
  students: ClassroomStudent[] | null;
}

/** The line on top of every page: whether it was drawn with the answer shown, and the names of all pages. */
export interface ClassroomBarProps {
  code: string;
  url: string;
  teacher: boolean;
  revealed: boolean;
  pages: string[];
}

/** A lesson that a teacher may set, with the titles of its tasks. */
export interface ClassroomLesson {
  name: string;
  title: string;
  tasks: string[];
}

/** The teacher's board; `qr` is the link as an SVG path on a grid of `qr_size`. */
export interface ClassroomBoardProps {
  code: string;
  url: string;
  title: string;
  link: string;
  reachable: boolean;
  qr: string;
  qr_size: number;
  ends: string;
  lessons: ClassroomLesson[];
}

// ---- labs: What one plays with in a lab: places that look alike, a video, linked maps, a metric in the plane, a threshold.

/** Where the picture of a lab is; `version` changes with the results. `ask` is where a net embeds a picture of the visitor's own, of `least` to `most` tiles in a row, `cell` pixels each; None where there is none. */
export interface LabPictureProps {
  url: string;
  version: string;
  ask: string | null;
  least: number;
  most: number;
  cell: number;
}

/** A net that compares two patches, in words. `inputs` go into a tower each, or into the only one; `layers` are those of a tower; `shared`: both towers have the same weights; `end` makes a score of what they give; `weights` are as many as there are. */
export interface NetDrawing {
  inputs: string[];
  layers: string[];
  shared: boolean;
  end: string;
  weights: number;
}

/** How alike the places of a picture are, by one method. Either `embeddings`, places × `dimensions` signed bytes in base64 whose dot products count, or `scores`, a byte for each place on the left and each place on the right, row after row, in base64. `net` is the net that it is; None for one that is not drawn. */
export interface PlaceScores {
  title: string;
  embeddings: string | null;
  scores: string | null;
  dimensions: number;
  net: NetDrawing | null;
}

/** Where the tiles of a visitor's own picture are, as in `PlaceScores`. */
export interface EmbeddedTiles {
  embeddings: string;
  dimensions: number;
}

/** A picture with places in a square grid; `right` is what the places are looked for in, if it is another one. `first` is the middle of the first place, `step` the distance to the next, `cell` the side of a place, in pixels. `truth` is where each place lies on the right (x, y); `kinds` the class of each place by its number in `names`. */
export interface LabPicture {
  left: string;
  right: string | null;
  side: number;
  columns: number;
  first: number;
  step: number;
  cell: number;
  most: number;
  methods: PlaceScores[];
  truth: number[][] | null;
  kinds: number[] | null;
  names: string[];
}

/** A metric in the plane takes nothing from the server. */
export type MetricPlaygroundProps = Record<string, never>;

/** Where the tracker answers, of what the videos are made, and the numbers that it begins with and may go up to. */
export interface TrackerProps {
  url: string;
  version: string;
  things: string;
  video: number;
  videos: number;
  distractors: number;
  most_distractors: number;
  noise: number;
  most_noise: number;
}

/** What one method finds in a video. `boxes` are row, column and side for each frame; `maps` the score maps, frame after frame and row after row, a byte each, in base64; `overlaps` those of its boxes with the true ones; `frames_followed` those until the target is lost. */
export interface Follower {
  title: string;
  boxes: number[][];
  maps: string;
  overlaps: number[];
  frames_followed: number;
  milliseconds: number;
}

/** A video of `count` frames, `side` pixels a side, as bytes in base64, and what each method finds in it. A place of a score map is `stride` pixels from the next. `first` is the box that was given. */
export interface FollowedVideo {
  frames: string;
  side: number;
  count: number;
  stride: number;
  first: number[];
  truth: number[][];
  followers: Follower[];
}

/** Where the linked maps of a lab are, and the pictures of their images: a sheet, `columns` tiles in a row. */
export interface LabPlanesProps {
  url: string;
  version: string;
  sheet: string | null;
}

/** A map: its points, n × 2 floats (little-endian, 32 bits) in base64; templates where only directions count. */
export interface PlanePoints {
  title: string;
  note: string;
  points: string;
  centers: number[][] | null;
}

/** Maps of the same images: `labels` a byte each, in base64, the number of a name; test images come first. */
export interface LabPlanes {
  planes: PlanePoints[];
  labels: string;
  names: string[];
  tests: number;
  columns: number;
  tile: number;
}

/** Where the net of a trial answers, which variant it is, and what was drawn on the pad. */
export interface SketchSearchProps {
  url: string;
  version: string;
  trial: string;
  variant: string;
  drawing: Drawing | null;
}

/** A photograph that a drawing finds: its class, how far it is, and its number on the map, -1 when not on it. */
export interface NearestPhotograph {
  garment: number;
  distance: number;
  item: number;
}

/** What a drawing finds, the best first; `sheet` shows them side by side, `prepared` the drawing as the net sees it. `place` is where the drawing lies on the map. */
export interface SketchAnswer {
  nearest: NearestPhotograph[];
  sheet: string;
  place: number[];
  prepared: string;
}

/** Photographs and their sketches on one map. `places` are those of the photographs and of the sketches; `photographs` and `sketches` show them side by side, `tile` pixels each; `garments` is the class of each pair by its number in `names`; `count` are all photographs, most of which are not on the map. */
export interface TwoDomains {
  places: number[][][];
  photographs: string;
  sketches: string;
  garments: number[];
  names: string[];
  tile: number;
  count: number;
  answer: SketchAnswer | null;
}

/** Accuracy of each of ten folds, and the threshold that the other nine gave. */
export interface ThresholdFolds {
  accuracy: number[];
  threshold: number[];
}

/** Distances of pairs by one net: shares of each kind in bins, and those of the pairs that are shown. */
export interface ThresholdNet {
  title: string;
  edges: number[];
  same: number[];
  different: number[];
  threshold: number;
  folds: ThresholdFolds;
  distances: number[];
}

/** Two pictures as data URLs, whether they show one identity, and the distance of their pixels where it is known. */
export interface ThresholdPair {
  images: string[];
  same: boolean;
  pixels: number | null;
}

/** A threshold on the distance: the nets, the pairs that are shown, the visitor's own rates of errors and hits. `best` is the title of the net to begin with; `you` is a false positive rate and a recall. */
export interface ThresholdProps {
  best: string;
  nets: ThresholdNet[];
  pairs: ThresholdPair[];
  you: number[] | null;
}

// ---- cleaning: The review sheet of training data.

/** A training image that a person should look at; `other` is a test image where the kind is "leak". */
export interface ReviewRow {
  kind: "suspect" | "duplicate" | "leak" | "outlier";
  image: number;
  label: number;
  score: number;
  reason: string;
  suggestion: number | null;
  other: number | null;
  other_label: number | null;
  tile: number;
  other_tile: number | null;
}

/** dmlviz/runs/…/cleaning.json: the rows, or that they are being looked for. Of `images` training images, the labels of `uncompared` were not compared: their classes are too small. */
export interface ReviewAnswer {
  state: "working" | "found";
  rows?: ReviewRow[];
  images?: number;
  uncompared?: number;
  steps?: number[];
  sheet?: SpriteSheets;
}

/** What was decided about a training image. */
export interface Decision {
  action: "confirm" | "relabel" | "exclude" | "tag";
  label: number | null;
  tag: string;
}

/** Of the component `review_sheet`; `decisions` are by image, `received` is the number of the last action. */
export interface ReviewProps {
  run: string;
  url: string;
  classes: string[];
  decisions: Record<string, Decision>;
  received: number;
  read_only: boolean;
}

/** A decision about an image, or that it is taken back. */
export interface ReviewAction {
  image: number;
  action: "confirm" | "relabel" | "exclude" | "tag" | "undo";
  label: number | null;
  tag: string | null;
}

/** The review sheet sends all that the server has not confirmed: an event may replace one that was not read. */
export interface NumberedAction {
  number: number;
  action: ReviewAction;
}

// ---- columns: Further columns of the test images.

/** A column that the map can be colored by: of numbers from `low` to `high`, or of categories (`values`). The numbers of dates are days since `start`, in milliseconds since 1970 (UTC); null for other columns. */
export interface ColumnInfo {
  name: string;
  low: number | null;
  high: number | null;
  values: string[] | null;
  start: number | null;
}

/** What each component is given. */
export interface Props {
  map: MapProps;
  inspector: InspectorProps;
  scores: Source;
  loss_curve: Source;
  progress: ProgressProps;
  detail: DetailProps;
  baseline_wait: BaselineWaitProps;
  query_pad: PadProps;
  paste: PasteProps;
  run_list: RunListProps;
  compare_scores: CompareProps;
  export: ExportProps;
  import_preview: ImportPreviewProps;
  batch_explorer: Source;
  loss_plot: LossPlotProps;
  force_playground: ForcePlaygroundProps;
  map_at_r_demo: MapAtRProps;
  ranking_toy: RankingToyProps;
  classroom_bar: ClassroomBarProps;
  classroom_board: ClassroomBoardProps;
  lab_picture: LabPictureProps;
  lab_planes: LabPlanesProps;
  sketch_search: SketchSearchProps;
  tracker: TrackerProps;
  metric_playground: MetricPlaygroundProps;
  review_sheet: ReviewProps;
  threshold: ThresholdProps;
}
