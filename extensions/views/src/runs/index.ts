import type { Host, Mount, MountOptions } from '../host';
import type { RunsState, RunsViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { Latest } from '../common/frame';
import { grouped } from '../common/numbers';
import { Picture } from '../common/picture';
import { clamp } from '../common/scales';
import { middleOut } from '../common/text';
import type { Chart, Setting } from '../training/chart';
import { TRAINING_CSS } from '../training/css';
import { nearest, type ChartData } from '../training/series';
import { drawSheet } from '../training/sheet';
import { Window, type Steps } from '../training/window';
import { ACROSS, RECALL, type Over } from './across';
import { Cards } from './cards';
import { RUNS_CSS } from './css';
import { chartOf, decode, reach, type Curves } from './lines';
import { pictureCard, textCard } from './papers';
import { Rail } from './rail';
import { decodeRidges, type Ridges } from './ridges';
import { TablePart } from './table';
import { Tail } from './tail';
import { RunsTools } from './tools';
import { wordsOf } from './words';

const HINT: Readonly<Record<RunsState['page'], string>> = {
  scalars:
    'Point at a curve, or use the arrow keys, for exact values; drag across, or press + and −, to zoom',
  histograms: 'Point at a ridge, or use the arrow keys, for counts',
  images: '',
  texts: '',
  curves: 'Point at a curve, or use the arrow keys, for exact values',
  table:
    'Drag along an axis, or use the arrow keys on it, to keep runs; a run that is clicked stands out in the curves'
};
/** Pixels within which a pointer is at a curve. */
const NEAR = 40;
/** With more runs than this the list is the legend. */
const FEW_RUNS = 4;

interface Pointed {
  readonly at: number;
  readonly chart: Chart;
  readonly run: number | null;
}

class RunsView extends Picture<RunsState, RunsViewEvent> {
  private readonly rail = new Rail({ changed: () => this.showRuns(), picked: () => this.frame.request() });
  private readonly tools: RunsTools = new RunsTools({
    changed: () => this.frame.request(),
    across: () => this.turnAxis(),
    page: (page, first) => void this.send({ type: 'show_page', page, first }),
    filter: pattern => void this.send({ type: 'filter_tags', pattern }),
    step: step => void this.stepping.push(step),
    all: () => this.zoom(null),
    follow: on => {
      this.tail.on = on;
    }
  });
  private readonly table = new TablePart({
    brushed: runs => this.rail.brush(runs),
    pick: runs => this.rail.pick(runs),
    redraw: () => this.frame.request(),
    say: words => this.say(words)
  });
  private readonly stepping = new Latest((step: number | null) => this.send({ type: 'show_step', step }));
  private readonly hiding = new Latest((hidden: number[]) => this.send({ type: 'show_runs', hidden }));
  private readonly readout = h('div', {
    class: 'wb-readout',
    'aria-live': 'polite',
    'data-testid': 'wb-readout'
  });
  private readonly none = h('p', { class: 'wb-quiet', 'data-testid': 'wb-none' });
  private readonly cards = new Cards(
    {
      point: (at, from, down) => this.point(at, from, down),
      zoom: part => this.zoom(part),
      scale: (factor, around) => {
        if (this.window.scale(factor, around, this.all())) {
          this.frame.request();
        }
      },
      undo: () => {
        if (this.window.undo()) {
          this.frame.request();
        }
      },
      pick: run => this.rail.pick([run])
    },
    words => this.say(words),
    () => this.frame.request()
  );
  private readonly papers = h('div', { class: 'wb-runs-papers' });
  private readonly problems = h('details', { class: 'wb-runs-problems', 'data-testid': 'wb-problems' });
  private readonly main = h(
    'div',
    { class: 'wb-runs-main' },
    this.tools.element,
    this.readout,
    this.none,
    this.cards.element,
    this.papers,
    this.table.element
  );
  private readonly page = h(
    'div',
    { style: 'display: contents' },
    h('div', { class: 'wb-runs-top' }, this.tools.pages, this.tools.pager),
    this.problems,
    h('div', { class: 'wb-runs-body' }, this.rail.element, this.main)
  );
  private readonly tail: Tail;
  private readonly windows: Readonly<Record<Over | 'recall', Window>> = {
    step: new Window(ACROSS.step.grain),
    relative: new Window(ACROSS.relative.grain),
    wall: new Window(ACROSS.wall.grain),
    recall: new Window(RECALL.grain)
  };
  private curves: Curves[] = [];
  private data: ChartData[] = [];
  private distributions: Ridges[] = [];
  private pointed: Pointed | null = null;

  constructor(root: HTMLElement, host: Host<RunsViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'runs',
      css: TRAINING_CSS + RUNS_CSS,
      emptySentence:
        'The runs of a TensorBoard log will be drawn here, whoever writes it, while it is written:',
      emptyCode: "wb.widgets.runs('runs')"
    };
    super(root, host, identity, options);
    this.slashLeadsTo(this.tools.field);
    this.tail = new Tail(this.element, () =>
      this.state && this.host.status.kind !== 'disconnected'
        ? this.host.send({ type: 'tail' })
        : Promise.resolve()
    );
  }

  override destroy(): void {
    this.tail.destroy();
    this.tools.destroy();
    this.table.destroy();
    this.cards.destroy();
    super.destroy();
  }

  protected accept(state: RunsState, buffers: readonly DataView[]): void {
    if (state.kind !== 'runs') {
      throw new StateError(`the runs view knows no state of the kind “${String(state.kind)}”`);
    }
    const curves = state.charts.map(chart => decode(chart, buffers));
    const distributions = state.distributions.map(one => decodeRidges(one, buffers));
    const papers = this.paperCards(state, buffers);
    this.curves = curves;
    this.distributions = distributions;
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    this.tools.accept(state);
    this.rail.accept(state, !this.hiding.pending, this.theme.dark);
    this.table.accept(state);
    if (papers) {
      replace(this.papers, ...papers);
    }
    this.papers.toggleAttribute('data-wide', state.page === 'texts');
    this.papers.hidden = this.papers.childNodes.length === 0;
    this.table.element.hidden = state.table === null;
    this.writeProblems(state.problems);
    this.over();
    this.cards.place(this.data, this.distributions);
    if (this.pointed && !this.cards.chart(this.pointed.chart.name)) {
      this.pointed = null;
    }
    this.writeNone(state);
  }

  protected draw(): void {
    const { state, theme } = this;
    if (!state) {
      return;
    }
    const names = state.runs.map(run => run.name);
    if (state.page === 'table') {
      this.table.draw(Math.max(240, this.main.clientWidth - 6), this.rail.picked, theme);
    } else if (state.page === 'histograms') {
      this.drawRidges(names, false);
    } else {
      this.drawCharts(names, false);
    }
    this.tools.explain(
      this.window.narrow,
      Math.max(1, ...this.curves.flatMap(one => one.curves.map(curve => curve.counts[0] ?? 1)))
    );
    this.drawCursor();
  }

  protected exports(): Exports {
    const { state } = this;
    if (!state) {
      return {};
    }
    const names = state.runs.map(run => run.name);
    const json = (): unknown => ({
      ...state,
      charts: this.curves.map(({ tag, curves }) => ({
        tag,
        lines: curves.map(({ run, steps, values, times }) => ({
          run,
          steps: Array.from(steps),
          values: Array.from(values),
          times: Array.from(times)
        }))
      }))
    });
    if (state.page === 'table') {
      return { csv: () => csv(this.table.rows()), json, svg: () => this.table.parallel.svg };
    }
    const ridges = this.distributions.map(one => this.cards.ridge(one));
    if (state.page === 'histograms') {
      const head = ['run', 'tag', 'step', 'from', 'to', 'count'];
      const rows = (): (string | number)[][] =>
        this.distributions.flatMap(({ distribution }, index) =>
          ridges[index]!.rows(names[distribution.run] ?? '')
        );
      return { csv: () => csv([head, ...rows()]), json };
    }
    if (this.data.length === 0) {
      return { json };
    }
    const shown = this.data.map(({ key }) => this.cards.chart(key)!);
    return {
      svg: () => {
        this.drawCharts(names, true);
        return drawSheet({ base: this.cards.element, charts: shown, strip: null }, this.theme);
      },
      csv: () => csv([['run', 'tag', 'step', 'value', 'time'], ...this.rows(names)]),
      json
    };
  }

  protected override themeChanged(): void {
    if (this.state) {
      this.rail.accept(this.state, !this.hiding.pending, this.theme.dark);
    }
  }

  private get window(): Window {
    return this.windows[this.state?.page === 'curves' ? 'recall' : this.tools.over];
  }

  private rows(names: readonly string[]): (string | number)[][] {
    return this.curves.flatMap(({ tag, curves }) =>
      curves.flatMap(curve =>
        Array.from(curve.steps, (step, at) => [
          names[curve.run] ?? '',
          tag,
          step,
          String(curve.values[at]),
          curve.times[at]!
        ])
      )
    );
  }

  /** Hides and shows what a person wants now, and lets Python know, which sends no more of what is put away. */
  private showRuns(): void {
    const hidden = [...this.rail.hidden].sort((a, b) => a - b);
    void this.hiding.push(hidden);
    this.frame.request();
  }

  private turnAxis(): void {
    this.over();
    this.pointed = null;
    this.data.forEach(data => this.cards.chart(data.key)?.accept(data));
    this.frame.request();
  }

  /** Puts the curves over what runs across. */
  private over(): void {
    this.data = this.curves
      .map(curves =>
        chartOf(curves, this.isRecall ? 'step' : this.tools.over, this.isRecall ? 'metric' : 'scalar')
      )
      .filter(data => data.lines.length > 0);
  }

  private get isRecall(): boolean {
    return this.curves.some(one =>
      one.curves.some(curve => curve.ends.length === 0 && curve.steps.length > 0)
    );
  }

  private all(): Steps {
    const ends = this.data.map(data => reach(data, this.rail.hidden));
    return {
      low: Math.min(...ends.map(one => one.low)),
      high: Math.max(...ends.map(one => one.high))
    };
  }

  private zoom(part: Steps | null): void {
    if (this.state && this.data.length > 0 && this.window.show(part, this.all())) {
      this.frame.request();
    }
  }

  private drawCharts(names: readonly string[], all: boolean): void {
    const shown = this.data
      .map(data => ({ data, chart: this.cards.chart(data.key)! }))
      .filter(({ chart }) => all || this.cards.sees(chart));
    const { hidden, picked } = this.rail;
    const common = {
      weight: this.tools.smoothing.weight,
      log: this.tools.log && !this.isRecall,
      marks: [],
      spikes: [],
      failed: null,
      runs: names,
      hidden,
      picked,
      equal: true,
      legend: FEW_RUNS,
      across: this.isRecall ? RECALL : ACROSS[this.tools.over]
    };
    // All widths are asked for before anything is drawn: asking in between would lay the page out each time.
    const widths = shown.map(({ chart }) => Math.max(120, chart.element.clientWidth));
    shown.forEach(({ data, chart }, index) => {
      const width = widths[index]!;
      const setting: Setting = { ...common, ...this.window.of(reach(data, hidden)) };
      chart.draw(width, Math.round(clamp(width * 0.5, 150, 220)), setting, this.theme);
    });
  }

  private drawRidges(names: readonly string[], all: boolean): void {
    const shown = this.distributions
      .map(data => ({ data, card: this.cards.ridge(data) }))
      .filter(({ card }) => all || this.cards.sees(card));
    const widths = shown.map(({ card }) => Math.max(160, card.element.clientWidth));
    shown.forEach(({ data, card }, index) => {
      const width = widths[index]!;
      card.draw(data, names[data.distribution.run] ?? '', width, clamp(width * 0.62, 170, 250), this.theme);
    });
  }

  private point(at: number | null, chart: Chart, down: number | null): void {
    const near = at === null || down === null ? null : chart.closest(at, down, NEAR);
    const [first] = this.rail.picked;
    this.pointed = at === null ? null : { at, chart, run: down === null ? (first ?? null) : near };
    this.drawCursor();
  }

  private drawCursor(): void {
    const { pointed, state } = this;
    const at = pointed?.at ?? null;
    const all = this.tools.over === 'step' || at === null;
    this.cards.cursor(chart => (all || chart === pointed?.chart ? at : null));
    if (!state || !['scalars', 'curves'].includes(state.page)) {
      if (state && this.readout.childNodes.length === 0) {
        this.say('');
      }
      return;
    }
    const data = pointed && this.data.find(one => one.key === pointed.chart.name);
    if (!pointed || !data) {
      this.say('');
      this.rail.read(new Map(), null);
      return;
    }
    const values = new Map(
      data.lines.map(line => [line.run, line.values[nearest(line.steps, pointed.at)] ?? Number.NaN] as const)
    );
    this.rail.read(values, pointed.run);
    const across = this.isRecall ? RECALL : ACROSS[this.tools.over];
    const how = this.isRecall ? 'recall' : this.tools.over;
    const curves = this.curves.find(one => one.tag === data.key);
    const { run } = pointed;
    const name = run === null ? '' : (state.runs[run]?.name ?? '');
    const said = run === null ? '' : wordsOf(data, curves, run, pointed.at, name, how);
    const many = data.lines.filter(line => !this.rail.hidden.has(line.run)).length;
    replace(
      this.readout,
      h('b', {}, `${across.word} ${across.write(pointed.at)}`),
      ` — ${middleOut(data.title, 60)}: `,
      said !== '' ? said : `${grouped(many)} ${many === 1 ? 'run' : 'runs'}, their values stand in the list`
    );
    this.readout.title = this.readout.textContent ?? '';
  }

  /** Says something of what is pointed at, or what can be done. */
  private say(words: string): void {
    setText(this.readout, words || (this.state ? HINT[this.state.page] : ''));
    this.readout.title = words;
  }

  /** Pictures and texts; null where they are those that stand already. */
  private paperCards(state: RunsState, buffers: readonly DataView[]): HTMLElement[] | null {
    const { pictures, texts, runs } = state;
    const name = (run: number): string => runs[run]?.name ?? '';
    const plain = pictures.map(({ pixels_buffer: _, ...rest }) => rest);
    const key = JSON.stringify([plain, texts, this.theme.dark]);
    if (this.papers.dataset['key'] === key) {
      return null;
    }
    const cards = [
      ...pictures.map(one => pictureCard(one, buffers, name(one.run), this.theme.dark)),
      ...texts.map(one => textCard(one, name(one.run), this.theme.dark))
    ];
    this.papers.dataset['key'] = key;
    return cards;
  }

  private writeProblems(problems: readonly string[]): void {
    const key = JSON.stringify(problems);
    this.problems.hidden = problems.length === 0;
    if (this.problems.dataset['key'] !== key) {
      this.problems.dataset['key'] = key;
      replace(
        this.problems,
        h(
          'summary',
          {},
          problems.length === 1 ? '▲ a part of this log is not shown' : '▲ parts of this log are not shown'
        ),
        ...problems.map(problem => h('p', {}, problem))
      );
    }
  }

  private writeNone(state: RunsState): void {
    const cards = state.pages.find(one => one.page === state.page)?.cards ?? 0;
    this.none.hidden = cards > 0;
    const words =
      state.runs.length === 0
        ? 'There is no run in this folder yet.'
        : state.runs.every(run => !run.shown)
          ? 'All runs are put away.'
          : state.pattern !== ''
            ? `No tag of the runs that are shown matches ${state.pattern}.`
            : 'The runs that are shown have nothing of this kind.';
    setText(this.none, words);
  }
}

/** The runs view: curves, histograms, pictures, texts and hyperparameters of a log. */
export const mountRuns: Mount<RunsState, RunsViewEvent> = (root, host, options) =>
  new RunsView(root, host, options);
