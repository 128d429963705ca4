import type { Host, Mount, MountOptions } from '../host';
import type { TrainingState, TrainingViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { categoryColour } from '../common/colours';
import { h, replace, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { figure, grouped } from '../common/numbers';
import { Segments } from '../common/parts';
import { Picture } from '../common/picture';
import { clamp } from '../common/scales';
import { STEPS } from './axis';
import { Chart, type Setting } from './chart';
import { TRAINING_CSS } from './css';
import { beginning, Ending } from './ending';
import { isFine, arrange, decode, epochOf, type ChartData, type Line } from './series';
import { drawSheet } from './sheet';
import { Sight } from './sight';
import { StatusLine } from './status';
import { decodeStrip, Strip, type Layers } from './strip';
import { Tools } from './tools';
import { Window, type Steps } from './window';

type StripName = Layers['strip']['name'];

/** More metrics than this are drawn small. */
const FEW_METRICS = 4;
/** More charts than this can be searched. */
const FEW_CHARTS = 8;
const NONE: ReadonlySet<number> = new Set();
const HINT =
  'Point at a curve, or use the arrow keys, for exact values; drag across, or press + and −, to zoom';
const SPIKE_HINT = '; s: next spike';

class TrainingView extends Picture<TrainingState, TrainingViewEvent> {
  private readonly status = new StatusLine(event => this.send(event));
  private readonly end = new Ending(text => this.host.copy(text));
  private readonly readout = h('div', {
    class: 'wb-readout',
    'aria-live': 'polite',
    'data-testid': 'wb-readout'
  });
  private readonly large = h('div', { class: 'wb-charts' });
  private readonly small = h('div', { class: 'wb-charts', 'data-size': 'small' });
  private readonly none = h('p', { class: 'wb-quiet', hidden: true }, 'No chart has this in its name.');
  private readonly strip = new Strip((step, words) => this.point(step, words));
  private readonly tools = new Tools({
    changed: () => this.frame.request(),
    zoom: part => this.zoom(part),
    filter: words => {
      this.wanted = words.trim().toLowerCase();
      this.placeCharts();
      this.frame.request();
    }
  });
  private readonly layersHead = h('div', {}, h('b', {}, 'layers over time'));
  private readonly layersPart = h(
    'div',
    { class: 'wb-train-layers', 'data-testid': 'wb-layers' },
    this.layersHead,
    this.strip.element
  );
  private readonly scroll = h(
    'div',
    { class: 'wb-train-scroll' },
    this.tools.element,
    this.readout,
    this.none,
    this.large,
    this.small,
    this.layersPart
  );
  private readonly nothing = h('div', {});
  private readonly page = h(
    'div',
    { style: 'display: contents' },
    this.status.element,
    this.end.element,
    this.nothing,
    this.scroll
  );
  private readonly charts = new Map<string, Chart>();
  private readonly window = new Window();
  private readonly sight = new Sight(() => this.frame.request());
  private data: ChartData[] = [];
  private layers = new Map<StripName, Layers>();
  private stripChoice: Segments<StripName> | null = null;
  private chosen: StripName | null = null;
  private wanted = '';
  private pointed: { readonly step: number; readonly words: string; readonly chart: Chart | null } | null =
    null;

  constructor(root: HTMLElement, host: Host<TrainingViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'training',
      css: TRAINING_CSS,
      emptySentence: 'Loss, metrics and layers of a training will be drawn here while it runs. To begin one:',
      emptyCode: 'wb.train.Trainer(model, loss, optimizer).fit(loader, epochs=5)'
    };
    super(root, host, identity, options);
    this.listeners.on(this.element, 'keydown', event => {
      // In a field a slash is a slash.
      const typing = event.target instanceof HTMLInputElement;
      if (event.key === '/' && !typing && this.tools.find()) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
    this.listeners.add(host.onStatus(() => this.writeStatus()));
  }

  override destroy(): void {
    this.charts.forEach(chart => chart.destroy());
    this.strip.destroy();
    this.sight.destroy();
    super.destroy();
  }

  protected accept(state: TrainingState, buffers: readonly DataView[]): void {
    if (state.kind !== 'training') {
      throw new StateError(`the training view knows no state of the kind “${String(state.kind)}”`);
    }
    const runs = [state.curves, ...state.others.map(other => other.curves)];
    const data = arrange(runs.flatMap((curves, run) => curves.map(curve => decode(curve, buffers, run))));
    const layers = new Map(state.strips.map(strip => [strip.name, decodeStrip(strip, buffers)] as const));
    this.data = data;
    this.layers = layers;
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    this.placeCharts();
    this.writeStatus(state);
    this.writeLayers();
    this.scroll.hidden = data.length === 0;
    this.nothing.hidden = data.length > 0;
    // Only where it says something else, so that a selection in it stays.
    if (data.length === 0 && this.nothing.dataset['status'] !== state.status) {
      this.nothing.dataset['status'] = state.status;
      replace(
        this.nothing,
        beginning(state, this.identity.emptyCode, text => this.host.copy(text))
      );
    }
  }

  protected draw(): void {
    const { state, theme } = this;
    if (!state || this.data.length === 0) {
      return;
    }
    this.element.style.setProperty('--wb-spike', categoryColour(5, theme.dark));
    const setting = this.setting(state);
    const names = runNames(state);
    this.tools.showSteps(setting, this.all(state), this.window.narrow);
    this.tools.explain(state, this.window.narrow ? coarseness(this.data) : 1);
    this.tools.offerRuns(names, theme.dark);
    this.drawCharts(setting, false);
    this.drawCursor();
  }

  protected exports(): Exports {
    const { state } = this;
    if (!state || this.data.length === 0) {
      return state ? { json: () => state } : {};
    }
    const shown = this.data.filter(data => this.matches(data)).map(({ key }) => this.charts.get(key)!);
    const all = this.data.map(({ key }) => this.charts.get(key)!);
    const names = runNames(state);
    const columns = ['curve', 'part', 'step', 'value', ...(names.length > 0 ? ['run'] : [])];
    const title = `layers over time: ${this.chosen ?? ''}`;
    const strip = this.layersPart.hidden ? null : { title, picture: this.strip.picture };
    const base = this.large.hidden ? this.small : this.large;
    return {
      svg: () => {
        // Charts that were never in sight have not been drawn yet.
        this.drawCharts(this.setting(state), true);
        return drawSheet({ base, charts: shown, strip }, this.theme);
      },
      caption: () => [this.status.summary, this.end.element.innerText].filter(text => text.trim() !== ''),
      csv: () => csv([columns, ...all.flatMap(chart => chart.rows())]),
      json: () => ({
        ...state,
        curves: this.data.flatMap(chart => chart.lines.filter(line => line.run === 0).map(plain)),
        others: state.others.map(({ name }, index) => ({
          name,
          curves: this.data.flatMap(chart => chart.lines.filter(line => line.run === index + 1).map(plain))
        })),
        strips: [...this.layers.values()].map(({ strip: one, values }) => ({
          ...one,
          values: Array.from(values)
        }))
      })
    };
  }

  /** Draws the charts that can be seen, or all that are wanted. */
  private drawCharts(setting: Setting, all: boolean): void {
    const shown = this.data
      .filter(data => this.matches(data))
      .map(({ key, kind }) => ({ chart: this.charts.get(key)!, kind }))
      .filter(({ chart }) => all || this.sight.sees(chart.element));
    // All widths are asked for before anything is drawn: asking in between would lay the page out each time.
    const widths = shown.map(({ chart }) => Math.max(120, chart.element.clientWidth));
    shown.forEach(({ chart, kind }, index) => {
      const width = widths[index]!;
      const height = this.isLarge(kind) ? clamp(width * 0.3, 178, 260) : clamp(width * 0.24, 112, 150);
      chart.draw(width, Math.round(height), setting, this.theme);
    });
  }

  /** All steps that there is something of. */
  private all(state: TrainingState): Steps {
    const steps = this.data.flatMap(chart =>
      chart.lines.flatMap(line => [line.steps[0]!, line.steps.at(-1)!])
    );
    return { low: Math.min(...steps), high: Math.max(...steps, state.failure?.step ?? -Infinity) };
  }

  private setting(state: TrainingState): Setting {
    return {
      ...this.window.of(this.all(state)),
      weight: this.tools.weight,
      log: this.tools.log,
      marks: state.epochs,
      spikes: state.spikes,
      failed: state.failure?.step ?? null,
      runs: runNames(state),
      hidden: this.tools.hidden,
      picked: NONE,
      equal: false,
      legend: Infinity,
      across: STEPS
    };
  }

  private zoom(part: Steps | null): void {
    if (this.state && this.window.show(part, this.all(this.state))) {
      this.frame.request();
    }
  }

  /** Losses are large; metrics, too, unless there are many. */
  private isLarge(kind: ChartData['kind']): boolean {
    const metrics = this.data.filter(data => data.kind === 'metric').length;
    return kind === 'loss' || (kind === 'metric' && metrics <= FEW_METRICS);
  }

  private matches({ title }: ChartData): boolean {
    return this.wanted === '' || title.toLowerCase().includes(this.wanted);
  }

  /** Charts stay while their curves do, so that neither focus nor place is lost. */
  private placeCharts(): void {
    const wanted = new Set(this.data.map(chart => chart.key));
    for (const [key, chart] of this.charts) {
      if (!wanted.has(key)) {
        chart.destroy();
        this.sight.forget(chart.element);
        chart.element.remove();
        this.charts.delete(key);
      }
    }
    for (const data of this.data) {
      let chart = this.charts.get(data.key);
      if (!chart) {
        chart = new Chart(data.key, {
          point: (step, from) => this.point(step, '', from),
          zoom: part => this.zoom(part),
          scale: (factor, around) => {
            if (this.state && this.window.scale(factor, around, this.all(this.state))) {
              this.frame.request();
            }
          },
          undo: () => {
            if (this.window.undo()) {
              this.frame.request();
            }
          }
        });
        this.charts.set(data.key, chart);
        this.sight.follow(chart.element);
      }
      chart.accept(data);
      chart.element.hidden = !this.matches(data);
    }
    this.tools.offerSearch(this.data.length > FEW_CHARTS);
    this.none.hidden = this.data.some(data => this.matches(data));
    for (const [home, large] of [
      [this.large, true],
      [this.small, false]
    ] as const) {
      const own = this.data.filter(({ kind }) => this.isLarge(kind) === large);
      const elements = own.map(({ key }) => this.charts.get(key)!.element);
      if (elements.length !== home.children.length || elements.some((one, at) => home.children[at] !== one)) {
        replace(home, ...elements);
      }
      home.hidden = !own.some(data => this.matches(data));
    }
  }

  private point(step: number | null, words: string, chart: Chart | null = null): void {
    this.pointed = step === null ? null : { step, words, chart };
    this.drawCursor();
  }

  private drawCursor(): void {
    const { state, theme, pointed } = this;
    if (!state) {
      return;
    }
    const step = pointed?.step ?? null;
    this.charts.forEach(chart => this.sight.sees(chart.element) && chart.show(step));
    this.strip.show(step);
    if (!this.layersPart.hidden) {
      const width = Math.max(120, this.strip.element.clientWidth);
      this.strip.draw(width, this.window.of(this.all(state)), state.counters.step, theme);
    }
    if (!pointed) {
      setText(this.readout, HINT + (state.spikes.length > 0 ? SPIKE_HINT : ''));
      this.readout.title = '';
      return;
    }
    const spike = state.spikes.find(one => one.step === pointed.step);
    const parts = pointed.chart ? pointed.chart.read(pointed.step) : [pointed.words];
    const name = pointed.chart && parts.length > 1 ? `${pointed.chart.name}: ` : '';
    const epoch = epochOf(pointed.step, state.epochs, state.counters.epoch);
    replace(
      this.readout,
      h('b', {}, `step ${grouped(pointed.step)}`),
      ` · ${epoch} — `,
      spike ? h('b', {}, `▼ spike, usual is ${figure(spike.usual)} — `) : null,
      name + parts.join(' · ')
    );
    this.readout.title = this.readout.textContent ?? '';
  }

  private writeStatus(state: TrainingState | null = this.state): void {
    if (state) {
      const { status } = this.host;
      const lost = status.kind === 'disconnected' ? status.reason : '';
      this.status.update(state, lost);
      this.end.update(state, lost !== '');
    }
  }

  private writeLayers(): void {
    const names = [...this.layers.keys()];
    this.layersPart.hidden = names.length === 0;
    if (names.length === 0) {
      return;
    }
    if (!this.chosen || !this.layers.has(this.chosen)) {
      this.chosen = names[0]!;
    }
    if (this.layersHead.dataset['names'] !== names.join()) {
      this.layersHead.dataset['names'] = names.join();
      this.stripChoice?.element.remove();
      this.stripChoice = new Segments<StripName>(
        'What is drawn of each layer',
        names.map(name => [name, name] as const),
        this.chosen,
        name => {
          this.chosen = name;
          this.writeLayers();
          this.frame.request();
        },
        'wb-strip-choice'
      );
      this.layersHead.append(this.stripChoice.element);
    }
    this.strip.accept(this.layers.get(this.chosen)!);
  }
}

/** Names of this run and of those it is compared with; none where there are no others. */
function runNames({ head, others }: TrainingState): readonly string[] {
  return others.length > 0 ? [head.title, ...others.map(other => other.name)] : [];
}

/** How many steps have two points between them, of the curve that says least. */
function coarseness(data: readonly ChartData[]): number {
  const lines = data.flatMap(chart => chart.lines).filter(line => line.run === 0 && !isFine(line));
  return Math.max(1, ...lines.map(line => line.counts[0] ?? 1));
}

function plain(line: Line): Record<string, unknown> {
  const { name, kind, part, missing } = line;
  return { name, kind, part, missing, steps: Array.from(line.steps), values: Array.from(line.values) };
}

/** The training view: curves, layers over time, and buttons that reach the training. */
export const mountTraining: Mount<TrainingState, TrainingViewEvent> = (root, host, options) =>
  new TrainingView(root, host, options);
