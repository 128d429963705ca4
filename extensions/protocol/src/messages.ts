// Written by `python -m workbench.lab.views`, from the list of views and their messages: do not edit.

// common

/** Raised when a message changes shape; a view refuses a state of another version and says so. */
export const PROTOCOL_VERSION = 6;

/** One dimension: its name (None if it has none) and its size. */
export interface Dim {
  readonly name: string | null;
  readonly size: number;
}

/** What every view says about itself: what it shows, where that came from and how fresh it is. */
export interface Head {
  /** What is shown, e.g. `conv1.weight`. */
  readonly title: string;
  /** Where it came from: a variable, a cell, a line of code; empty if unknown. */
  readonly source: string;
  /** When Python made this state, in seconds since the epoch. */
  readonly updated: number;
  /** True while the thing shown may still change by itself. */
  readonly live: boolean;
  /** Python that recreates what is shown ("write as code"); empty if there is none. */
  readonly code: string;
}

/** Why the last request was refused; the state is as it was before it. */
export interface Refusal {
  readonly request: string;
  readonly reason: string;
}

/** A person picked an observer, a node, or nothing. */
export interface SelectEvent {
  readonly type: 'select';
  readonly id: string | null;
}

// diff

/** A node of one of the graphs. */
export interface DiffNode {
  readonly id: string;
  readonly op: string;
  /** The function, the module and the blocks in which it stands: `layer1.0`. */
  readonly place: string;
  readonly source: string;
  readonly dtype: string;
  /** Type of the (first) value it produces. */
  readonly dims: readonly Dim[];
}

/** A node of both graphs, or of one, or some that are the same. */
export interface DiffRow {
  readonly status: 'same' | 'follows' | 'changed' | 'moved' | 'added' | 'removed' | 'replaced';
  /** None where it was added, and where it looks as `after` does. */
  readonly before: DiffNode | null;
  readonly after: DiffNode | null;
  /** What is different, a line each. */
  readonly what: readonly string[];
  /** How many nodes that are the same it stands for, where it stands for such and has none itself; else 0. */
  readonly left_out: number;
}

/** What is different between two graphs. */
export interface DiffState {
  readonly kind: 'diff';
  readonly head: Head;
  readonly before: string;
  /** What the graphs are called. */
  readonly after: string;
  /** Pairs of a status and how many nodes have it, as text. */
  readonly counts: readonly (readonly string[])[];
  /** What is different besides nodes, a line each. */
  readonly notes: readonly string[];
  readonly rows: readonly DiffRow[];
  readonly selected: string | null;
  /** How many rows were left out because there are more than a view can show; 0 if none. */
  readonly truncated: number;
}

// graph

/** A parameter or constant, which is drawn inside the node that uses it. */
export interface GraphTensor {
  readonly name: string;
  readonly kind: 'parameter' | 'constant';
  readonly dtype: string;
  readonly dims: readonly Dim[];
  /** How its codes stand for numbers, in words; empty where it has none. */
  readonly quantization: string;
  readonly elements: number;
}

/** One node of a graph. */
export interface GraphNode {
  readonly id: string;
  readonly kind: 'input' | 'op' | 'output';
  readonly op: string;
  readonly label: string;
  /** Path, outermost first: modules, `["features", "0"]`, and blocks, `["if y", "then"]`. */
  readonly scope: readonly string[];
  readonly dtype: string;
  /** Type of the (first) value it produces. */
  readonly dims: readonly Dim[];
  /**
   * What the sizes are in any run, one a dim: `n`, `4*h`, `?` where only the run knows; empty where they are
   * those in `dims`.
   */
  readonly sizes: readonly string[];
  /** Parameters and constants that it reads. */
  readonly held: readonly GraphTensor[];
  /** How the codes that it gives stand for numbers, in words; empty where it gives none. */
  readonly quantization: string;
  /** Pairs of name and value, as text. */
  readonly attributes: readonly (readonly string[])[];
  readonly source: string;
  readonly doc: string;
  readonly equation: string;
  /** The dims rule in words. */
  readonly rule: string;
  readonly parameters: number;
  readonly flops: number;
  /** What is read and written. */
  readonly bytes: number;
  /** What its results take. */
  readonly memory: number;
  readonly bits: number;
  /** How long it ran, in all calls of one run; None where it was not measured. */
  readonly seconds: number | null;
  /** Why the function ended here with an error; empty where it did not. */
  readonly wrong: string;
}

/** One value that travels from a node to another. */
export interface GraphEdge {
  readonly source: string;
  readonly target: string;
  readonly dtype: string;
  readonly dims: readonly Dim[];
  /** As in `GraphNode`. */
  readonly sizes: readonly string[];
}

/** A box that nodes stand in. */
export interface GraphScope {
  /** Its path, joined with dots. */
  readonly id: string;
  readonly kind: 'module' | 'function' | 'if' | 'loop' | 'block';
  /** Equal for scopes that compute the same: the same calls, on values of the same types, joined the same way. */
  readonly same: number;
}

/** How the numbers are spread that a node gave when its graph was measured. */
export interface GraphValues {
  readonly node: string;
  readonly count: number;
  readonly low: number;
  readonly high: number;
  readonly mean: number;
  readonly std: number;
  /** Share of zeros. */
  readonly zeros: number;
  /** How many are infinite or not a number. */
  readonly broken: number;
  /** Counts of the finite ones, in equal bins from `low` to `high`. */
  readonly bins: readonly number[];
}

/** A whole graph. */
export interface GraphState {
  readonly kind: 'graph';
  readonly head: Head;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly scopes: readonly GraphScope[];
  readonly selected: string | null;
  /** Of the selected node, where the graph was measured. */
  readonly values: GraphValues | null;
  /** Why the graph ends where it does: the error of the function that was traced; empty where it is whole. */
  readonly wrong: string;
  /** How many nodes were left out because the graph is larger than a view can show; 0 if none. */
  readonly truncated: number;
}

// heatmap

/** One class that the model weighs, with its probability. */
export interface ClassScore {
  readonly label: string;
  readonly probability: number;
  /** Which class it is; -1 if it has no number. */
  readonly index: number;
}

/** One input with its attributions. */
export interface HeatmapPart {
  /** Empty where there is one input only. */
  readonly name: string;
  /** A picture; a row of words, one a column; or lines over the columns, one a row. */
  readonly form: 'picture' | 'tokens' | 'series';
  readonly height: number;
  readonly width: number;
  /** Of the input; 0 where the attributions are those of a layer, which has no picture. */
  readonly channels: number;
  /** float32 [height, width, channels] */
  readonly input_buffer: number;
  readonly input_low: number;
  readonly input_high: number;
  /** float32 [height, width]; not a number where there is none. None until there is an answer. */
  readonly attribution_buffer: number | null;
  /** float32 [height, width]: of the other model. */
  readonly other_buffer: number | null;
  readonly row_dim: Dim;
  readonly column_dim: Dim;
  /** The words of a text, as many as columns; else empty. */
  readonly tokens: readonly string[];
}

/** One setting of the method, as text. */
export interface HeatmapSetting {
  readonly name: string;
  /** `whole`, `wholes`, `place`, `number`, `truth` or `choice`. */
  readonly kind: string;
  readonly value: string;
  readonly choices: readonly string[];
  /** What it is called where people read it; `name` is its name in Python. */
  readonly label: string;
  /** What it does, in a sentence; may be empty. */
  readonly meaning: string;
}

/** A method that can be asked for. */
export interface HeatmapMethod {
  readonly name: string;
  readonly title: string;
  /** Whether it explains by a layer. */
  readonly layer: boolean;
}

/** What can be asked for, and what is. */
export interface HeatmapControls {
  readonly models: readonly string[];
  readonly model: string;
  /** The model that is shown beside. */
  readonly other: string | null;
  readonly methods: readonly HeatmapMethod[];
  readonly method: string;
  readonly settings: readonly HeatmapSetting[];
  readonly layers: readonly string[];
  readonly layer: string | null;
  /** One of `targets`, or a class's number. */
  readonly target: string;
  /** Which there are of `predicted`, `true` and `given`. */
  readonly targets: readonly string[];
  /** Of a method that is made ready, what it was made with, which is not set here; empty for others. */
  readonly made: string;
}

/** A question that is worked on; the picture is the last answer. */
export interface HeatmapWork {
  /** In words: the method, and of what. */
  readonly what: string;
  /** How many rows went through the model. */
  readonly rows: number;
  /** How many will, where that is known. */
  readonly total: number | null;
  readonly seconds: number;
}

/** What the other model answers, or why it does not. */
export interface HeatmapOther {
  readonly name: string;
  readonly trouble: string;
  readonly delta: number | null;
  readonly tolerance: number | null;
  readonly seconds: number | null;
}

/** One of all samples. */
export interface StripSample {
  readonly index: number;
  readonly predicted: string;
  /** Empty if it is not known. */
  readonly truth: string;
  readonly wrong: boolean;
}

/** Samples around the one that is shown. */
export interface HeatmapStrip {
  readonly samples: readonly StripSample[];
  readonly height: number;
  readonly width: number;
  /** 1 or 3; 0 where samples are no pictures, and their numbers stand for them. */
  readonly channels: number;
  /** uint8 [samples, height, width, channels] */
  readonly buffer: number | null;
  /** How many of all samples are predicted wrongly. */
  readonly wrong: number;
}

/** An attribution over its input. */
export interface HeatmapState {
  readonly kind: 'heatmap';
  readonly head: Head;
  /** One for each input of the model. */
  readonly parts: readonly HeatmapPart[];
  readonly method: string;
  /** Name in Python, value as text, and what it is called. */
  readonly settings: readonly (readonly string[])[];
  readonly target: string;
  readonly target_index: number | null;
  /** The true class; None if it is not known. */
  readonly truth: string | null;
  /** True where another class was predicted. */
  readonly wrong: boolean;
  /** Most probable first. */
  readonly predictions: readonly ClassScore[];
  /** Convergence delta: sum of the attributions − (F(input) − F(baseline)); None if it has no meaning. */
  readonly delta: number | null;
  /** A delta beyond this is shown as a warning. */
  readonly tolerance: number | null;
  readonly seconds: number;
  readonly sample: number;
  readonly samples: number;
  /** Over how many samples this is the mean; 0 for a single one. */
  readonly averaged: number;
  /** Which samples of the strip are among them. */
  readonly averaged_samples: readonly number[];
  /** What else must be known to read it; mostly empty. */
  readonly note: string;
  /** None where nothing else can be asked. */
  readonly controls: HeatmapControls | null;
  /** Why nothing else can be asked; empty where it can. */
  readonly alone: string;
  readonly work: HeatmapWork | null;
  readonly other: HeatmapOther | null;
  readonly refusal: Refusal | null;
  readonly strip: HeatmapStrip | null;
  /** True where it is a row of a board, to which a person can go back. */
  readonly board: boolean;
}

/** A figure by which methods are compared. */
export interface BoardColumn {
  readonly name: string;
  readonly title: string;
  /** `low`, `high`, or empty where none is better. */
  readonly better: string;
  readonly meaning: string;
}

/** One figure of one method. */
export interface BoardCell {
  readonly value: number | null;
  /** Why there is none, or what is wrong with it; mostly empty. */
  readonly note: string;
}

/** One method on the board. */
export interface BoardRow {
  readonly method: string;
  readonly title: string;
  /** Of a method that is made ready, what it was made with; empty for others. */
  readonly made: string;
  readonly standing: 'waiting' | 'running' | 'done' | 'refused' | 'stopped';
  readonly trouble: string;
  /** float32 [height, width] of the first sample */
  readonly attribution_buffer: number | null;
  /** One for each column. */
  readonly cells: readonly BoardCell[];
}

/** Methods compared on the same question. */
export interface BoardState {
  readonly kind: 'board';
  readonly head: Head;
  readonly height: number;
  readonly width: number;
  readonly columns: readonly BoardColumn[];
  readonly rows: readonly BoardRow[];
  /** Which target of how many samples. */
  readonly question: string;
  readonly running: boolean;
  readonly done: number;
  readonly seconds: number;
  readonly refusal: Refusal | null;
}

/** A person asked for another sample of a batch. */
export interface SampleEvent {
  readonly type: 'sample';
  readonly index: number;
}

/** A person asked something else; what is None stays as it is. */
export interface AskEvent {
  readonly type: 'ask';
  readonly model: string | null;
  /** Empty for no other model. */
  readonly other: string | null;
  readonly method: string | null;
  readonly layer: string | null;
  /** `predicted`, `true`, or a class's number. */
  readonly target: string | null;
}

/** A person set something of the method. */
export interface SettingEvent {
  readonly type: 'setting';
  readonly name: string;
  readonly value: string;
}

/** A person opened a row of the board as a heatmap, or with None went back to the board. */
export interface OpenRowEvent {
  readonly type: 'open_row';
  readonly method: string | null;
}

// histogram

/** One observer in the list of layers. */
export interface ObserverRow {
  readonly id: string;
  /** What is observed, e.g. `conv2.output`. */
  readonly name: string;
  readonly dims: readonly string[];
  readonly dtype: string;
  readonly scheme: string;
  readonly batches: number;
  /** Signal to quantization noise ratio with the present range, in dB. */
  readonly sqnr: number | null;
  /** At most 24 bin heights, 0 to 1. */
  readonly spark: readonly number[];
  readonly nan: number;
  readonly inf: number;
  /** True if a person has set the range. */
  readonly overridden: boolean;
  /** What it costs the model: SQNR of its results where this alone is quantized, in dB. The least is the dearest. */
  readonly damage: number | null;
}

/** A range that some rule would choose, and what it would give. */
export interface Candidate {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly sqnr: number | null;
}

/** One point of the error curve: the range scaled by `width` about its chosen centre. */
export interface CurvePoint {
  readonly width: number;
  readonly low: number;
  readonly high: number;
  readonly sqnr: number | null;
}

/** Range of one channel; `outlier` marks one that is far from its siblings. */
export interface Channel {
  readonly index: number;
  readonly low: number;
  readonly high: number;
  readonly outlier: boolean;
}

/** What can be chosen of an observer, as it is now. */
export interface ObserverSettings {
  readonly rule: string;
  /** All rules: the name in events, and the one to show. */
  readonly rules: readonly (readonly string[])[];
  readonly symmetric: boolean;
  readonly bits: number;
  readonly per_channel: boolean;
  /** True if a weight is observed: only weights have ranges per channel. */
  readonly weight: boolean;
}

/** Values of one layer on the held batch, in the floating point model and in the integer one. */
export interface ValuesBeforeAfter {
  readonly low: number;
  readonly high: number;
  readonly bins: number;
  /** float32 [bins]: how many values of the floating point model fell into each equal bin of [low, high]. */
  readonly float_buffer: number;
  /** float32 [bins]: of the integer model. */
  readonly integer_buffer: number;
  /** Of the integer model's values against those of the floating point model, in dB. */
  readonly sqnr: number | null;
  /** Greatest difference of two values. */
  readonly worst: number;
  /** Mean of the integer model's values less that of the floating point model's. */
  readonly shift: number;
}

/** Everything about the selected observer. */
export interface ObserverDetail {
  readonly id: string;
  readonly bits: number;
  readonly quant_min: number;
  readonly quant_max: number;
  readonly observed_low: number;
  readonly observed_high: number;
  /** float32 [bins]: how many values fell into each equal bin of [observed_low, observed_high]. */
  readonly counts_buffer: number;
  readonly bins: number;
  /** The range in force, after the widening to include zero that quantization asks for. */
  readonly low: number;
  readonly high: number;
  readonly scale: number;
  readonly zero_point: number;
  /** Fraction of the values below the range, 0 to 1. */
  readonly clip_low: number;
  readonly clip_high: number;
  readonly sqnr: number | null;
  readonly candidates: readonly Candidate[];
  readonly curve: readonly CurvePoint[];
  readonly channel_dim: string | null;
  readonly channels: readonly Channel[];
  /** None where nothing can be chosen: the range is known without looking, or the observer is the program's own. */
  readonly settings: ObserverSettings | null;
  /** None until they are asked for, and there. */
  readonly values: ValuesBeforeAfter | null;
}

/** What the present ranges do to the whole model, where somebody measures it. */
export interface ModelFigures {
  readonly sqnr: number | null;
  readonly accuracy: number | null;
  readonly float_accuracy: number | null;
  /** Of how many samples of the held batch these are, where the others follow; None for all of them. */
  readonly samples: number | null;
  /** How many samples are held; None where nobody measures. */
  readonly held: number | null;
}

/** One observer that two sides set otherwise. */
export interface Difference {
  readonly id: string;
  readonly a: string;
  readonly b: string;
  readonly a_sqnr: number | null;
  readonly b_sqnr: number | null;
}

/** Two settings of all observers beside each other. */
export interface Comparison {
  readonly active: 'A' | 'B';
  readonly a: ModelFigures;
  readonly b: ModelFigures;
  /** At most 100. */
  readonly differences: readonly Difference[];
}

/** All observers of a model, one of them in detail. */
export interface HistogramState {
  readonly kind: 'histogram';
  readonly head: Head;
  readonly observers: readonly ObserverRow[];
  readonly selected: string | null;
  readonly detail: ObserverDetail | null;
  readonly model: ModelFigures;
  /** How many changes can be undone. */
  readonly undo: number;
  readonly redo: number;
  /** What the last change did, in words: "clipping 0.3 % more bought 1.7 dB". */
  readonly change: string;
  readonly refusal: Refusal | null;
  /** None unless settings were kept as A. */
  readonly comparison: Comparison | null;
  /** Whether values before and after quantization are asked for. */
  readonly show_values: boolean;
  /** Why there are none, in words; empty if there are, if they are on their way, or nobody asks. */
  readonly no_values: string;
  /** Why the selected observer has no detail, in words; empty if it has one. */
  readonly no_detail: string;
}

/** A person moved an observer's range. During a drag `final` is False: only its end can be undone. */
export interface SetRangeEvent {
  readonly type: 'set_range';
  readonly id: string;
  readonly low: number;
  readonly high: number;
  readonly final: boolean;
}

/** A person gave an observer's range back to the observer. */
export interface ResetRangeEvent {
  readonly type: 'reset_range';
  readonly id: string;
}

/** Take the last change back. */
export interface UndoEvent {
  readonly type: 'undo';
}

/** Make the change again that was taken back. */
export interface RedoEvent {
  readonly type: 'redo';
}

/** A person typed scale and zero point: a range in other words. */
export interface SetScaleEvent {
  readonly type: 'set_scale';
  readonly id: string;
  readonly scale: number;
  readonly zero_point: number;
}

/** A person chose settings of an observer; those that are None stay. */
export interface ChooseEvent {
  readonly type: 'choose';
  readonly id: string;
  readonly rule: string | null;
  readonly symmetric: boolean | null;
  readonly bits: number | null;
  readonly per_channel: boolean | null;
}

/** Keep the present settings as A and go on as B, go to the other side, or compare no longer. */
export interface CompareEvent {
  readonly type: 'compare';
  readonly what: 'keep' | 'switch' | 'leave';
}

/** Show values before and after quantization over the histogram, or no longer. */
export interface ShowValuesEvent {
  readonly type: 'show_values';
  readonly on: boolean;
}

/** Show what converting the model makes of its graph in the view of differences, an observer's node picked. */
export interface ShowDifferenceEvent {
  readonly type: 'show_difference';
  readonly id: string;
}

// link

/** Kernel to page, on the data comm: a view model exists and this is its newest state. */
export interface Announcement {
  readonly type: 'state';
  readonly version: number;
  readonly view: ViewName;
  /** Identity of the view model inside this kernel. */
  readonly model: string;
  /** Grows with every model that is shown: a panel shows the one of its view with the largest. */
  readonly order: number;
  /** Counts the pictures of this model that were sent, from 1. */
  readonly picture: number;
  readonly state: Readonly<Record<string, unknown>>;
}

/**
 * Kernel to page, on the data comm: fields of a view model's state that are others than in the picture before.
 *
 * A page that has not got that picture cannot use it; it says hello, and gets the whole state.
 */
export interface Update {
  readonly type: 'update';
  readonly version: number;
  readonly view: ViewName;
  readonly model: string;
  readonly order: number;
  /** One more than that of the picture which it changes. */
  readonly picture: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** For each buffer of the state its place among those of that picture; −1 for those that come with this message. */
  readonly kept: readonly number[];
}

/** Kernel to page: a view model is gone. */
export interface Withdrawal {
  readonly type: 'gone';
  readonly version: number;
  readonly model: string;
}

/** Kernel to page: no picture of a view model could be made, and why; the last one stays valid. */
export interface Trouble {
  readonly type: 'trouble';
  readonly version: number;
  readonly view: ViewName;
  readonly model: string;
  readonly reason: string;
}

/** Page to kernel, on the control comm: when it opens, when `views` changes, and every half minute. */
export interface Hello {
  readonly type: 'hello';
  readonly version: number;
  /** The views that the page draws now; only their states are made and sent. */
  readonly views: readonly string[];
  /** For each model the number of the last picture that came: one that was lost on the way is sent again. */
  readonly have: Readonly<Record<string, unknown>>;
}

/** Kernel to page, on the control comm: the answer to every hello. */
export interface Welcome {
  readonly type: 'welcome';
  readonly version: number;
  /** Identity of the kernel's process: another one after a restart. */
  readonly kernel: string;
  /** Identity of the data comm. */
  readonly data: string;
}

/** Page to kernel, on the control comm, which is served while a cell runs: an event for a view model. */
export interface Request {
  readonly type: 'event';
  readonly version: number;
  /** One load of one page, which numbers what it sends. */
  readonly sender: string;
  /** Counts from 1: a gesture that arrives again is answered again, and done once. */
  readonly number: number;
  /** The smallest number to which the sender has no answer yet. */
  readonly oldest: number;
  readonly model: string;
  readonly event: Readonly<Record<string, unknown>>;
}

/** Kernel to page, on the control comm: what became of a request. */
export interface Reply {
  readonly type: 'reply';
  readonly version: number;
  /** Whose request it answers; empty if that could not be read. */
  readonly sender: string;
  /** Which request of that sender; 0 if it is the answer to something else. */
  readonly number: number;
  readonly model: string;
  readonly accepted: boolean;
  readonly reason: string;
}

// runs

/** One run of the log; its place in the list is its number and its colour, for as long as the log is open. */
export interface RunsRun {
  readonly name: string;
  readonly shown: boolean;
  /** How many scalars it has written. */
  readonly values: number;
  /** The last step of these. */
  readonly last: number;
}

/** One kind of what a log holds. */
export interface RunsPage {
  readonly page: 'scalars' | 'histograms' | 'images' | 'texts' | 'curves' | 'table';
  /** How many there are of the runs that are shown, under tags that the pattern matches. */
  readonly cards: number;
}

/** One tag of one run, thinned out so that its extremes stay. */
export interface RunsLine {
  readonly run: number;
  readonly points: number;
  /**
   * float64 [3, points]: steps, values, and when they were written in seconds since the epoch; recall, precision and
   * threshold of a curve of these. Not a number where there is none.
   */
  readonly points_buffer: number;
  /** 0 for a curve of precision and recall. */
  readonly stretches: number;
  /** float64 [4, stretches]: last step of each stretch, mean of its values, how many it has, and when it ended */
  readonly means_buffer: number;
  /** Values that are not finite. */
  readonly missing: number;
  /** How many values there are. */
  readonly of: number;
  /** The last step, or that of the curve. */
  readonly step: number;
}

/** One tag, of all runs that have it and are shown. */
export interface RunsChart {
  readonly tag: string;
  readonly lines: readonly RunsLine[];
}

/** The histograms of one tag of one run, counted anew in equal bins, the same for all steps. */
export interface RunsDistribution {
  readonly tag: string;
  readonly run: number;
  readonly steps: readonly number[];
  /** How many steps there are; some are left out where these are many. */
  readonly of: number;
  readonly low: number;
  readonly high: number;
  readonly bins: number;
  /** float32 [steps, bins] */
  readonly counts_buffer: number;
}

/** One picture. */
export interface RunsPicture {
  readonly tag: string;
  readonly run: number;
  readonly step: number;
  /** Which of the tag's pictures it is. */
  readonly position: number;
  readonly of: number;
  /** Of what is sent; 0 where the picture cannot be read. */
  readonly height: number;
  readonly width: number;
  /** 1, 3 or 4 */
  readonly channels: number;
  /** uint8 [height, width, channels] */
  readonly pixels_buffer: number;
  readonly full_height: number;
  readonly full_width: number;
  /** Why it cannot be read. */
  readonly trouble: string;
}

/** One text, as it was written. */
export interface RunsText {
  readonly tag: string;
  readonly run: number;
  readonly step: number;
  readonly position: number;
  readonly of: number;
  readonly text: string;
  /** Characters behind what is sent. */
  readonly left_out: number;
}

/** A hyperparameter, or a figure that came of them. */
export interface RunsColumn {
  readonly name: string;
  readonly kind: 'setting' | 'metric';
  /** Whether all that there is are numbers. */
  readonly numbers: boolean;
}

/** The hyperparameters of a run and what came of them, in the order of the columns. */
export interface RunsRow {
  readonly run: number;
  /** The runs whose curves belong to it: itself, and the one in whose folder it lies. */
  readonly runs: readonly number[];
  readonly cells: readonly (string | number | null)[];
}

/** Hyperparameters and figures. */
export interface RunsTable {
  readonly columns: readonly RunsColumn[];
  readonly rows: readonly RunsRow[];
  /** Columns and rows that are not among them, because there are too many. */
  readonly left_out: number;
}

/** A page of a log. */
export interface RunsState {
  readonly kind: 'runs';
  readonly head: Head;
  readonly runs: readonly RunsRun[];
  /** Runs that are not among them, because there are too many. */
  readonly runs_left_out: number;
  /** The kinds of which there is something, whatever is filtered. */
  readonly pages: readonly RunsPage[];
  readonly page: 'scalars' | 'histograms' | 'images' | 'texts' | 'curves' | 'table';
  /** What the tags that are shown match; all where it is empty. */
  readonly pattern: string;
  /** Which card of the page's is the first here. */
  readonly first: number;
  /** Cards that are sent at once. */
  readonly most: number;
  readonly charts: readonly RunsChart[];
  readonly distributions: readonly RunsDistribution[];
  readonly pictures: readonly RunsPicture[];
  readonly texts: readonly RunsText[];
  readonly table: RunsTable | null;
  /** The step at which pictures, texts and curves are shown: of each the last one up to it. None is the latest. */
  readonly step: number | null;
  /** The last step of what the page shows. */
  readonly last_step: number;
  /** What could not be read. */
  readonly problems: readonly string[];
}

/** A person wants another kind of what there is, or other cards of it. */
export interface ShowPageEvent {
  readonly type: 'show_page';
  readonly page: 'scalars' | 'histograms' | 'images' | 'texts' | 'curves' | 'table';
  readonly first: number;
}

/** A person wants only tags that match a regular expression. */
export interface FilterTagsEvent {
  readonly type: 'filter_tags';
  readonly pattern: string;
}

/** A person put runs away; all others are shown. */
export interface ShowRunsEvent {
  readonly type: 'show_runs';
  readonly hidden: readonly number[];
}

/** A person wants to see pictures, texts and curves as they were at a step, or the latest. */
export interface ShowStepEvent {
  readonly type: 'show_step';
  readonly step: number | null;
}

/** A page that somebody looks at asks whether more was written. */
export interface TailEvent {
  readonly type: 'tail';
}

// scatter

/** Thumbnails, one a point, laid out row by row in one image. */
export interface Sprite {
  /** uint8 [rows * height, columns * width, channels] */
  readonly image_buffer: number;
  /** 1 for grey, 3 for red, green and blue */
  readonly channels: number;
  readonly height: number;
  readonly width: number;
  readonly columns: number;
  readonly rows: number;
}

/** A point near the picked one, by distance in the space before projection. */
export interface Neighbour {
  readonly index: number;
  readonly distance: number;
}

/** What is known of every point: a column of the metadata, or one that is computed. */
export interface ScatterColumn {
  readonly name: string;
  /** `offered` is computed when it is asked for; `away` is too large to travel, and `note` says so. */
  readonly kind: 'category' | 'number' | 'text' | 'offered' | 'away';
  /** What it is, in words; mostly empty. */
  readonly note: string;
  /** The distinct values of a category, in order. */
  readonly values: readonly string[];
  /**
   * category: uint16 [count], places in `values`; number: float32 or float64 [count], NaN where there is none;
   * text: UTF-8.
   */
  readonly buffer: number | null;
  /** text: uint32 [count], where each ends in the bytes. */
  readonly ends_buffer: number | null;
}

/** How far neighbours in the picture are those of the space, each from 0 to 1, the best. */
export interface ScatterQuality {
  /** None as long as nobody has judged it: what will be said then has its room already, so that nothing moves. */
  readonly trustworthiness: number | null;
  readonly continuity: number | null;
  /** Among how many nearest. */
  readonly k: number;
  /** How many points are judged, each against all. */
  readonly judged: number;
  /** How many there are in the picture. */
  readonly points: number;
}

/** One setting of a method, as text. */
export interface ScatterSetting {
  /** As Python has it. */
  readonly name: string;
  readonly label: string;
  readonly kind: 'whole' | 'number' | 'truth' | 'choice' | 'text';
  readonly value: string;
  readonly choices: readonly string[];
  /** What it does, in a sentence. */
  readonly note: string;
}

/** A way of projecting that can be asked for. */
export interface ScatterMethod {
  readonly name: string;
  readonly title: string;
  readonly note: string;
  readonly settings: readonly ScatterSetting[];
}

/** What is being computed; the picture moves meanwhile, or is the last one. */
export interface ScatterWork {
  readonly what: string;
  readonly done: number;
  readonly total: number | null;
  readonly seconds: number;
  /** What is counted: `steps`. */
  readonly unit: string;
  /** Whether it can be stopped. */
  readonly stops: boolean;
}

/** The neighbourhoods of these points in another embedding of them. */
export interface ScatterComparison {
  readonly name: string;
  readonly k: number;
  /** The share of neighbours that both have, over all points. */
  readonly kept: number;
  /** Of the picked point: near here and not there, nearest first. */
  readonly lost: readonly number[];
  /** Of the picked point: near there and not here. */
  readonly gained: readonly number[];
}

/** The sound of one point. */
export interface ScatterClip {
  readonly point: number;
  /** A WAV file. */
  readonly buffer: number;
}

/** Values of a column whose points are hidden. */
export interface ScatterHidden {
  readonly column: string;
  readonly values: readonly string[];
}

/** The part of a column of numbers whose points are shown, both ends included. */
export interface ScatterRange {
  readonly column: string;
  readonly low: number;
  readonly high: number;
}

/** How a person has arranged the picture: all that a bookmark keeps, and undo goes back to. */
export interface ScatterArrangement {
  readonly projection: string;
  /** yaw, pitch, zoom, shift to the right, shift upwards, and 1 for the plane; empty for the first look */
  readonly camera: readonly number[];
  /** Column that points are named by. */
  readonly label: string;
  /** Column that points are coloured by. */
  readonly colour: string;
  readonly hidden: readonly ScatterHidden[];
  readonly ranges: readonly ScatterRange[];
  /** The only points that are shown; None for all. */
  readonly isolated: readonly number[] | null;
  readonly selected: readonly number[];
  readonly metric: 'cosine' | 'euclidean';
  readonly k: number;
}

/** An arrangement with a name. */
export interface ScatterBookmark {
  readonly name: string;
  readonly arrangement: ScatterArrangement;
}

/** Points in the embedding projector. */
export interface ScatterState {
  readonly kind: 'scatter';
  readonly head: Head;
  readonly method: string;
  readonly count: number;
  /** How many points there are in all; the view says so when `count` is smaller. */
  readonly total: number;
  /** 2 or 3 */
  readonly dims: number;
  /** [count, dims], as `positions_coding` says */
  readonly positions_buffer: number;
  /**
   * float32; or a uint64 a point: 21 bits each for x, y and z from the lowest on, counted in equal steps from `low`
   * to `high`, and the highest bit set where the point has no place
   */
  readonly positions_coding: 'float32' | 'packed';
  /** The least finite coordinate along each dim. */
  readonly low: readonly number[];
  readonly high: readonly number[];
  /** What of the cloud is drawn where the whole is too much; None where each point is */
  readonly window: ScatterWindow | null;
  /** Fraction of the variance that each component explains; empty where that has no meaning. */
  readonly explained: readonly number[];
  /** What else must be known of the picture: steps, loss, that a method sampled; mostly empty. */
  readonly facts: string;
  /** None where it is not judged without being asked for, or cannot be. */
  readonly quality: ScatterQuality | null;
  /** Whether a page that has shown this picture for a while may ask how far it can be trusted (`JudgeEvent`). */
  readonly judges: boolean;
  /** The column that names points; empty if there is none. */
  readonly label_name: string;
  readonly columns: readonly ScatterColumn[];
  readonly sprite: Sprite | null;
  readonly selected: readonly number[];
  readonly metric: 'cosine' | 'euclidean';
  readonly k: number;
  /** Of the first selected point. */
  readonly neighbours: readonly Neighbour[];
  /** What this embedding was projected to, by name. */
  readonly projections: readonly string[];
  /** Which of them is drawn. */
  readonly projection: string;
  /** Those of them that belong together and are played one after another; the drawn one is among them. */
  readonly frames: readonly string[];
  readonly methods: readonly ScatterMethod[];
  /** The method whose settings were asked last. */
  readonly asked: string;
  readonly work: ScatterWork | null;
  /** Whether what was stopped can go on. */
  readonly resumes: boolean;
  /** What these points can be compared with. */
  readonly others: readonly string[];
  readonly comparison: ScatterComparison | null;
  readonly bookmarks: readonly ScatterBookmark[];
  /** Whether points have sounds. */
  readonly sounds: boolean;
  readonly clip: ScatterClip | null;
  /** How it is arranged at first; None for the plain way. */
  readonly arrangement: ScatterArrangement | null;
  /** Where the last page, or table, was written to; empty if none was. */
  readonly published: string;
  readonly refusal: Refusal | null;
}

/** A person picked points of the projector. */
export interface SelectPointsEvent {
  readonly type: 'select_points';
  readonly indices: readonly number[];
}

/** A person chose how distance between points is measured, and how many of the nearest are listed. */
export interface SetNeighboursEvent {
  readonly type: 'set_neighbours';
  readonly metric: 'cosine' | 'euclidean';
  readonly k: number;
}

/** What a person typed for one setting. */
export interface ScatterValue {
  readonly name: string;
  readonly value: string;
}

/** One end of a direction: the middle of points, or of the points that words name. */
export interface ScatterEnd {
  /** Names, parted by commas; empty where points are given. */
  readonly words: string;
  readonly points: readonly number[];
}

/** A direction that an axis of the picture follows. */
export interface ScatterAxis {
  readonly start: ScatterEnd;
  readonly end: ScatterEnd;
}

/** A person asked for a projection. */
export interface ProjectEvent {
  readonly type: 'project';
  readonly method: string;
  readonly dims: number;
  readonly settings: readonly ScatterValue[];
  /** For custom axes, two or three; else empty. */
  readonly axes: readonly ScatterAxis[];
}

/** A person asked for one of the projections that there are. */
export interface ShowProjectionEvent {
  readonly type: 'show_projection';
  readonly name: string;
}

/** A page has shown a finished picture for a while, and nobody did anything: there is time to judge it. */
export interface JudgeEvent {
  readonly type: 'judge';
  readonly projection: string;
}

/** A person asked for all points as a file, with exact coordinates. */
export interface WriteTableEvent {
  readonly type: 'write_table';
}

/** A person asked for a column that is offered. */
export interface ComputeColumnEvent {
  readonly type: 'compute_column';
  readonly name: string;
}

/** A person asked how neighbourhoods differ from those of another embedding; empty for none. */
export interface CompareWithEvent {
  readonly type: 'compare_with';
  readonly name: string;
}

/** A person kept the arrangement under a name, in the place of one of that name. */
export interface SaveBookmarkEvent {
  readonly type: 'save_bookmark';
  readonly name: string;
  readonly arrangement: ScatterArrangement;
}

/** A person removed a bookmark. */
export interface RemoveBookmarkEvent {
  readonly type: 'remove_bookmark';
  readonly name: string;
}

/** A person wants to hear a point. */
export interface PlayEvent {
  readonly type: 'play';
  readonly point: number;
}

/** A person asked for a page that needs no kernel, as it is arranged now. */
export interface PublishEvent {
  readonly type: 'publish';
  readonly arrangement: ScatterArrangement;
}

// scatter_window

/** The part of a cloud that travels where the whole would be too much. */
export interface ScatterWindow {
  /** The least coordinate of the part along each dim. */
  readonly low: readonly number[];
  readonly high: readonly number[];
  /** The least finite coordinate of the whole cloud along each dim. */
  readonly whole_low: readonly number[];
  readonly whole_high: readonly number[];
  /** How many points lie in the part. */
  readonly inside: number;
  /** uint32 [count]: how many points each of the drawn stands for; None where the points themselves are drawn */
  readonly weights_buffer: number | null;
  /** The sides of what each of the drawn stands for; empty where the points themselves are drawn. */
  readonly cell: readonly number[];
  /** uint32 [count], ascending: the points' numbers; None where each of the drawn stands for many */
  readonly numbers_buffer: number | null;
}

/** A person zoomed into a very large cloud, or out again. */
export interface LookCloserEvent {
  readonly type: 'look_closer';
  /** The least coordinate that can be seen along each dim; empty for the whole cloud. */
  readonly low: readonly number[];
  readonly high: readonly number[];
}

// shapes

/** Summary of a tensor's values; of the finite ones where a figure needs finite values. */
export interface Statistics {
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly mean: number | null;
  readonly std: number | null;
  /** Fraction of the values that are exactly zero, 0 to 1. */
  readonly zeros: number;
  readonly nan: number;
  readonly inf: number;
  /** Histogram of the finite values in equal bins over [minimum, maximum]; without the zeros where `apart`. */
  readonly counts: readonly number[];
  /** True if only a part of the values was looked at, to keep to the time allowed. */
  readonly sampled: boolean;
  /** True if most values are zeros: beside their bin all others would be flat, so `zeros` alone says how many. */
  readonly apart: boolean;
}

/** A dimension that the picture does not draw, and which of its entries is shown. */
export interface Slider {
  readonly dim: Dim;
  readonly axis: number;
  readonly index: number;
}

/** A small picture of a tensor, drawn from `values_buffer` (float32). */
export interface Picture {
  readonly kind: 'images' | 'heatmap' | 'line' | 'scalar';
  /** How many images lie in the buffer (1 for the other kinds). */
  readonly tiles: number;
  readonly height: number;
  readonly width: number;
  /** Buffer shape: [tiles, height, width, channels]. */
  readonly channels: number;
  /** The value drawn as the lower end of the colour map. */
  readonly low: number;
  readonly high: number;
  /** True if zero means something: the map is then the signed one with zero fixed at its middle. */
  readonly signed: boolean;
  readonly values_buffer: number;
  readonly row_dim: Dim | null;
  readonly column_dim: Dim | null;
  readonly tile_dim: Dim | null;
  readonly sliders: readonly Slider[];
}

/** One tensor: its dims by name, type, statistics and a small picture. */
export interface TensorState {
  readonly kind: 'tensor';
  readonly head: Head;
  readonly dtype: string;
  readonly device: string;
  readonly dims: readonly Dim[];
  readonly count: number;
  readonly nbytes: number;
  readonly requires_grad: boolean;
  readonly leaf: boolean;
  readonly statistics: Statistics | null;
  readonly picture: Picture | null;
}

/** One tensor that enters or leaves an op in the flow picture. */
export interface FlowOperand {
  readonly label: string;
  readonly dtype: string;
  readonly dims: readonly Dim[];
  /** Indices of dims that end in the op (hatched). */
  readonly contracted: readonly number[];
  /** Indices of dims that are reduced away (faded). */
  readonly reduced: readonly number[];
  /** Indices of dims that are stretched (dashed outline). */
  readonly broadcast: readonly number[];
  /** For each dim the index of the output's dim that it lives on as, None if it ends; empty if only names tell. */
  readonly becomes: readonly (number | null)[];
}

/** One op of the flow picture. */
export interface FlowRow {
  /** Identity of the graph's node: the selection shared with the graph view. */
  readonly node: string;
  readonly op: string;
  readonly scope: string;
  readonly source: string;
  readonly inputs: readonly FlowOperand[];
  readonly output: FlowOperand;
}

/** Dims flowing through ops, one row an op, time downward. */
export interface FlowState {
  readonly kind: 'flow';
  readonly head: Head;
  readonly rows: readonly FlowRow[];
  readonly selected: string | null;
}

/** One dimension of an operand in an error picture, and the line that gave it its size. */
export interface ClashDim {
  readonly name: string | null;
  readonly size: number;
  readonly origin: string;
  readonly clash: boolean;
}

/** One operand of the op that was refused. */
export interface ClashOperand {
  readonly label: string;
  readonly dims: readonly ClashDim[];
}

/** A name or shape error: the operands aligned from the right, the offending dims ringed and joined. */
export interface ClashState {
  readonly kind: 'clash';
  readonly head: Head;
  readonly op: string;
  readonly message: string;
  readonly operands: readonly ClashOperand[];
  /** Code that would work; empty if none is known. */
  readonly fix: string;
}

/** A person moved a slider of a tensor's picture. */
export interface SliceEvent {
  readonly type: 'slice';
  readonly axis: number;
  readonly index: number;
}

// training

/** One curve over the steps, thinned out so that its extremes stay. */
export interface TrainingCurve {
  /** `loss`, `learning rate`, `gradient norm`, `throughput`, or a metric's name. */
  readonly name: string;
  readonly kind: 'loss' | 'metric' | 'rate' | 'norm' | 'throughput';
  readonly part: 'train' | 'validation';
  readonly points: number;
  /** float64 [2, points]: steps, and the least and greatest values around them; not a number where there is none */
  readonly points_buffer: number;
  /** 0 where there is a value an epoch. */
  readonly stretches: number;
  /** float64 [3, stretches]: last step of each stretch, mean of its values, and how many steps it has */
  readonly means_buffer: number;
  /** Values that are not finite. */
  readonly missing: number;
}

/** Another training that this one is compared with. */
export interface TrainingRun {
  readonly name: string;
  readonly curves: readonly TrainingCurve[];
}

/** One number a layer, over the steps at which it was looked at. */
export interface TrainingStrip {
  readonly name: 'update / weight' | 'gradient norm' | 'dead units';
  readonly layers: readonly string[];
  /** Layers that were left out because there are too many. */
  readonly left_out: number;
  readonly steps: readonly number[];
  /** float32 [layers, steps]; not a number where there is none */
  readonly values_buffer: number;
}

/** The end of an epoch. */
export interface TrainingMark {
  readonly epoch: number;
  readonly step: number;
}

/** A step at which the loss stood out. */
export interface TrainingSpike {
  readonly step: number;
  readonly value: number;
  /** The median of the steps before it. */
  readonly usual: number;
}

/** What ended a training that did not end by itself. */
export interface TrainingFailure {
  /** Class of the error. */
  readonly kind: string;
  /** The step that was not taken, where the error knows it. */
  readonly step: number | null;
  /** What first held a value that is not finite, where that is known. */
  readonly culprit: string | null;
}

/** How far a training is. */
export interface TrainingCounters {
  /** Epochs completed. */
  readonly epoch: number;
  /** Epochs after which it ends; None where steps decide. */
  readonly epochs: number | null;
  readonly step: number;
  /** Steps after which it ends, where known. */
  readonly steps: number | null;
  /** Batches of this epoch. */
  readonly batch: number;
  /** Batches in an epoch, where known. */
  readonly batches: number | null;
  /** Samples of this epoch. */
  readonly samples: number;
  /** Steps left out because float16 overflowed. */
  readonly skipped: number;
  /** Time spent training, without what it was held. */
  readonly seconds: number;
  readonly seconds_left: number | null;
  /** Samples a second. */
  readonly rate: number | null;
}

/** A training: how far it is, its curves, and its layers over time. */
export interface TrainingState {
  readonly kind: 'training';
  readonly head: Head;
  readonly status: 'idle' | 'running' | 'paused' | 'stopped' | 'finished' | 'failed';
  /** What is asked for and comes after this batch. */
  readonly asked: '' | 'pause' | 'stop';
  /** Why it ended, where it ended by itself or with an error. */
  readonly message: string;
  readonly failure: TrainingFailure | null;
  readonly counters: TrainingCounters;
  readonly curves: readonly TrainingCurve[];
  readonly strips: readonly TrainingStrip[];
  readonly spikes: readonly TrainingSpike[];
  readonly epochs: readonly TrainingMark[];
  /** Trainings that this one is compared with, at most 7. */
  readonly others: readonly TrainingRun[];
  /** Code that would begin the training, or go on with it; empty where it runs. */
  readonly advice: string;
}

/** A person wants the training to wait after this batch. */
export interface PauseEvent {
  readonly type: 'pause';
}

/** A person lets a training that waits go on. */
export interface ResumeEvent {
  readonly type: 'resume';
}

/** A person wants the training to end after this batch. */
export interface StopEvent {
  readonly type: 'stop';
}

// views

/** What the shapes view can draw; told apart by `kind`. */
export type ShapesViewState = TensorState | FlowState | ClashState;

/** What the shapes view may send; told apart by `type`. */
export type ShapesViewEvent = SliceEvent | SelectEvent;

/** What the training view can draw; told apart by `kind`. */
export type TrainingViewState = TrainingState;

/** What the training view may send; told apart by `type`. */
export type TrainingViewEvent = PauseEvent | ResumeEvent | StopEvent;

/** What the runs view can draw; told apart by `kind`. */
export type RunsViewState = RunsState;

/** What the runs view may send; told apart by `type`. */
export type RunsViewEvent = ShowPageEvent | FilterTagsEvent | ShowRunsEvent | ShowStepEvent | TailEvent;

/** What the histogram view can draw; told apart by `kind`. */
export type HistogramViewState = HistogramState;

/** What the histogram view may send; told apart by `type`. */
export type HistogramViewEvent =
  | SelectEvent
  | SetRangeEvent
  | SetScaleEvent
  | ResetRangeEvent
  | ChooseEvent
  | CompareEvent
  | ShowValuesEvent
  | ShowDifferenceEvent
  | UndoEvent
  | RedoEvent;

/** What the graph view can draw; told apart by `kind`. */
export type GraphViewState = GraphState;

/** What the graph view may send; told apart by `type`. */
export type GraphViewEvent = SelectEvent;

/** What the diff view can draw; told apart by `kind`. */
export type DiffViewState = DiffState;

/** What the diff view may send; told apart by `type`. */
export type DiffViewEvent = SelectEvent;

/** What the heatmap view can draw; told apart by `kind`. */
export type HeatmapViewState = HeatmapState | BoardState;

/** What the heatmap view may send; told apart by `type`. */
export type HeatmapViewEvent = SampleEvent | AskEvent | SettingEvent | OpenRowEvent | StopEvent;

/** What the scatter view can draw; told apart by `kind`. */
export type ScatterViewState = ScatterState;

/** What the scatter view may send; told apart by `type`. */
export type ScatterViewEvent =
  | SelectPointsEvent
  | SetNeighboursEvent
  | ProjectEvent
  | StopEvent
  | ResumeEvent
  | ShowProjectionEvent
  | ComputeColumnEvent
  | CompareWithEvent
  | SaveBookmarkEvent
  | RemoveBookmarkEvent
  | PlayEvent
  | PublishEvent
  | LookCloserEvent
  | JudgeEvent
  | WriteTableEvent;

/** The states and events of each view. */
export interface Views {
  readonly shapes: { readonly state: ShapesViewState; readonly event: ShapesViewEvent };
  readonly training: { readonly state: TrainingViewState; readonly event: TrainingViewEvent };
  readonly runs: { readonly state: RunsViewState; readonly event: RunsViewEvent };
  readonly histogram: { readonly state: HistogramViewState; readonly event: HistogramViewEvent };
  readonly graph: { readonly state: GraphViewState; readonly event: GraphViewEvent };
  readonly diff: { readonly state: DiffViewState; readonly event: DiffViewEvent };
  readonly heatmap: { readonly state: HeatmapViewState; readonly event: HeatmapViewEvent };
  readonly scatter: { readonly state: ScatterViewState; readonly event: ScatterViewEvent };
}

/** The name of a view. */
export type ViewName = keyof Views;

/** What the page knows of a view. */
export interface ViewInfo {
  readonly title: string;
  /** Outline of its icon: the `d` of a path on 16 by 16. */
  readonly icon: string;
  /** The line that fills its section. */
  readonly run: string;
  /** Height of its section in pixels. */
  readonly height: number;
}

/** All views, in the order in which the sidebar shows them. */
export const VIEWS: Readonly<Record<ViewName, ViewInfo>> = {
  shapes: {
    title: 'Shapes',
    icon: 'M2 5h8.5v8.5H2zM4.5 2.5H13V11h-1.5V4h-7z',
    run: 'x = wb.rand(N=4, C=3)  # any tensor',
    height: 640
  },
  training: {
    title: 'Training',
    icon: 'M1.5 2H3v11.2h11.5v1.5h-13zM4.2 3.2l1.4-.7 2.2 4.9 2.6 2.2 4-.5.2 1.5-4.7.6-3.2-2.8z',
    run: 'wb.train.Trainer(model, loss, optimizer).fit(loader, epochs=5)',
    height: 640
  },
  runs: {
    title: 'Runs',
    icon: 'M1.5 2H3v11.2h11.5v1.5h-13zM4 10.6l2.6-4 2.4 2 4.4-5.6 1.2.9-5.4 6.9-2.5-2-1.5 2.6zM4.2 4.6h3v1.4h-3zM9.6 10.4h4v1.4h-4z',
    run: "wb.widgets.runs('runs')",
    height: 640
  },
  histogram: {
    title: 'Observers',
    icon: 'M1.5 9h2.6v5H1.5zM5.1 5h2.6v9H5.1zM8.7 2h2.6v12H8.7zM12.3 7h2.2v7h-2.2z',
    run: 'calibration = wb.quantization.Calibration(wb.quantization.prepare(model.eval()))',
    height: 640
  },
  graph: {
    title: 'Graph',
    icon: 'M5.7 1.5h4.6V5H9.1l2.2 5H14v4h-4.6v-4h.5L8 5.8 6.1 10h.5v4H2v-4h2.7l2.2-5H5.7z',
    run: 'wb.widgets.graph(model, batch)',
    height: 640
  },
  diff: {
    title: 'Diff',
    icon: 'M2 2h5v12H2zM3.3 3.3v9.4h2.4V3.3zM9 2h5v12H9zM11 4v1.8H9.8v1.2H11v1.8h1.2V7h1.2V5.8h-1.2V4zM9.8 10.4v1.2h3.6v-1.2z',
    run: 'wb.graph.diff(before, after)',
    height: 640
  },
  heatmap: {
    title: 'Attribution',
    icon: 'M2 2h3.4v3.4H2zM6.3 2h3.4v3.4H6.3zM11.3 2.7h2v2h-2zM2 6.3h3.4v3.4H2zM6.3 6.3h3.4v3.4H6.3zM10.6 6.3H14v3.4h-3.4zM2.7 11.3h2v2h-2zM6.3 10.6h3.4V14H6.3zM11.3 11.3h2v2h-2z',
    run: 'wb.attribution.explain(model, batch)',
    height: 640
  },
  scatter: {
    title: 'Projector',
    icon: 'M2.5 11a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0zM5.5 7a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0zM3 3.5a1.3 1.3 0 1 0 2.6 0a1.3 1.3 0 1 0-2.6 0zM9 11.8a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0zM10.6 4.8a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0z',
    run: 'wb.embedding.Embedding(vectors, labels).project()',
    height: 640
  }
};

/** Their names. */
export const VIEW_NAMES = Object.keys(VIEWS) as readonly ViewName[];
