import type { Host, Mount, MountOptions } from '../host';
import type { TrainingState, TrainingViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { categoryColour } from '../common/colours';
import { h, replace, s, setAttributes, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { figure, grouped } from '../common/numbers';
import { codeBlock, emptyState, Segments } from '../common/parts';
import { Picture } from '../common/picture';
import { clamp } from '../common/scales';
import { Chart, type Setting } from './chart';
import { TRAINING_CSS } from './css';
import { arrange, decode, epochOf, type ChartData, type Line } from './series';
import { StatusLine } from './status';
import { decodeStrip, Strip, type Layers } from './strip';

type StripName = Layers['strip']['name'];

const HEIGHTS = { large: 178, small: 112 } as const;
const HINT = 'Point at a curve, or use the arrow keys, for exact values';
const SPIKE_HINT = '; s: next spike';

class TrainingView extends Picture<TrainingState, TrainingViewEvent> {
  private readonly status = new StatusLine(event => this.send(event));
  private readonly end = h('div', { class: 'wb-train-end', 'data-testid': 'wb-end' });
  private readonly readout = h('div', {
    class: 'wb-readout',
    'aria-live': 'polite',
    'data-testid': 'wb-readout'
  });
  private readonly large = h('div', { class: 'wb-charts' });
  private readonly small = h('div', { class: 'wb-charts', 'data-size': 'small' });
  private readonly strip = new Strip((step, words) => this.point(step, words));
  private readonly smoothing = h('input', {
    type: 'range',
    class: 'wb-range',
    min: 0,
    max: 0.99,
    step: 0.01,
    value: 0.9,
    'aria-label': 'Smoothing',
    'data-testid': 'wb-smoothing'
  });
  private readonly smoothingField = h('input', {
    type: 'number',
    class: 'wb-input wb-input-number',
    min: 0,
    max: 0.99,
    step: 0.01,
    value: 0.9,
    'aria-label': 'Smoothing, as a number',
    'data-testid': 'wb-smoothing-field'
  });
  private readonly keys = h('span', { class: 'wb-train-keys' });
  private readonly layersHead = h('div', {}, h('b', {}, 'layers over time'));
  private readonly layersPart = h(
    'div',
    { class: 'wb-train-layers', 'data-testid': 'wb-layers' },
    this.layersHead,
    this.strip.element
  );
  private readonly scroll: HTMLElement;
  private readonly nothing = h('div', {});
  private readonly page: HTMLElement;
  private readonly charts = new Map<string, Chart>();
  private data: ChartData[] = [];
  private layers = new Map<StripName, Layers>();
  private stripChoice: Segments<StripName> | null = null;
  private chosen: StripName | null = null;
  private weight = 0.9;
  private log = false;
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
    const scale = new Segments<'linear' | 'log'>(
      'Scale of loss, learning rate and gradient norm',
      [
        ['linear', 'linear'],
        ['log', 'log']
      ],
      'linear',
      value => {
        this.log = value === 'log';
        this.frame.request();
      },
      'wb-scale'
    );
    const tools = h(
      'div',
      { class: 'wb-train-tools' },
      h('label', { class: 'wb-field' }, 'smoothing', this.smoothing, this.smoothingField),
      h('span', { class: 'wb-field' }, 'scale', scale.element),
      this.keys
    );
    this.scroll = h(
      'div',
      { class: 'wb-train-scroll' },
      tools,
      this.readout,
      this.large,
      this.small,
      this.layersPart
    );
    this.page = h(
      'div',
      { style: 'display: contents' },
      this.status.element,
      this.end,
      this.nothing,
      this.scroll
    );
    this.listeners.on(this.smoothing, 'input', () => this.smooth(Number(this.smoothing.value)));
    this.listeners.on(this.smoothingField, 'change', () => this.smooth(Number(this.smoothingField.value)));
    this.listeners.add(host.onStatus(() => this.writeStatus()));
  }

  override destroy(): void {
    this.charts.forEach(chart => chart.destroy());
    this.strip.destroy();
    super.destroy();
  }

  protected accept(state: TrainingState, buffers: readonly DataView[]): void {
    if (state.kind !== 'training') {
      throw new StateError(`the training view knows no state of the kind “${String(state.kind)}”`);
    }
    const data = arrange(state.curves.map(curve => decode(curve, buffers)));
    const layers = new Map(state.strips.map(strip => [strip.name, decodeStrip(strip, buffers)] as const));
    this.data = data;
    this.layers = layers;
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    this.placeCharts();
    this.writeStatus(state);
    this.writeEnd(state);
    this.writeLayers();
    this.scroll.hidden = data.length === 0;
    this.nothing.hidden = data.length > 0;
    if (data.length === 0 && this.nothing.dataset['status'] !== state.status) {
      this.nothing.dataset['status'] = state.status;
      replace(this.nothing, this.begin(state));
    }
  }

  protected draw(): void {
    const { state, theme } = this;
    if (!state || this.data.length === 0) {
      return;
    }
    this.element.style.setProperty('--wb-spike', categoryColour(5, theme.dark));
    const setting = this.setting(state);
    this.writeKeys(state);
    for (const { key, kind } of this.data) {
      const chart = this.charts.get(key)!;
      const size = kind === 'loss' || kind === 'metric' ? 'large' : 'small';
      chart.draw(Math.max(120, chart.element.clientWidth), HEIGHTS[size], setting, theme);
    }
    this.drawCursor();
  }

  protected exports(): Exports {
    const { state } = this;
    if (!state || this.data.length === 0) {
      return state ? { json: () => state } : {};
    }
    const charts = this.data.map(({ key }) => this.charts.get(key)!);
    return {
      svg: () => this.sheet(charts),
      caption: () => [this.status.summary, this.end.innerText].filter(text => text.trim() !== ''),
      csv: () => csv([['curve', 'part', 'step', 'value'], ...charts.flatMap(chart => chart.rows())]),
      json: () => ({
        ...state,
        curves: this.data.flatMap(chart => chart.lines.map(plain)),
        strips: [...this.layers.values()].map(({ strip, values }) => ({
          ...strip,
          values: Array.from(values)
        }))
      })
    };
  }

  private setting(state: TrainingState): Setting {
    const steps = this.data.flatMap(chart =>
      chart.lines.flatMap(line => [line.steps[0]!, line.steps.at(-1)!])
    );
    return {
      low: Math.min(...steps),
      high: Math.max(...steps, state.failure?.step ?? -Infinity),
      weight: this.weight,
      log: this.log,
      marks: state.epochs,
      spikes: state.spikes,
      failed: state.failure?.step ?? null
    };
  }

  /** Charts stay while their curves do, so that neither focus nor place is lost. */
  private placeCharts(): void {
    const wanted = new Set(this.data.map(chart => chart.key));
    for (const [key, chart] of this.charts) {
      if (!wanted.has(key)) {
        chart.destroy();
        chart.element.remove();
        this.charts.delete(key);
      }
    }
    for (const data of this.data) {
      let chart = this.charts.get(data.key);
      if (!chart) {
        chart = new Chart(data.key, (step, from) => this.point(step, '', from));
        this.charts.set(data.key, chart);
      }
      chart.accept(data);
    }
    for (const [home, large] of [
      [this.large, true],
      [this.small, false]
    ] as const) {
      const elements = this.data
        .filter(({ kind }) => (kind === 'loss' || kind === 'metric') === large)
        .map(({ key }) => this.charts.get(key)!.element);
      if (elements.some((element, index) => home.children[index] !== element)) {
        replace(home, ...elements);
      }
      home.hidden = elements.length === 0;
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
    this.charts.forEach(chart => chart.show(step, theme));
    this.strip.show(step);
    if (!this.layersPart.hidden) {
      const { low, high } = this.setting(state);
      this.strip.draw(Math.max(120, this.strip.element.clientWidth), low, high, theme);
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

  private smooth(weight: number): void {
    this.weight = Number.isFinite(weight) ? clamp(weight, 0, 0.99) : this.weight;
    this.smoothing.value = String(this.weight);
    this.smoothingField.value = String(this.weight);
    this.frame.request();
  }

  private writeStatus(state: TrainingState | null = this.state): void {
    if (state) {
      const { status } = this.host;
      this.status.update(state, status.kind === 'disconnected' ? status.reason : '');
    }
  }

  private writeKeys(state: TrainingState): void {
    const count = state.spikes.length;
    replace(
      this.keys,
      count > 0
        ? h(
            'span',
            {},
            h('i', {}, '▼ '),
            `${count === 1 ? 'a spike' : `${count} spikes`} of the loss, by step`
          )
        : null,
      state.epochs.length > 0 ? h('span', {}, '┊ end of an epoch') : null
    );
  }

  /** Why it ended, where that was not the plan, and how to go on. */
  private writeEnd(state: TrainingState): void {
    const { status, failure, message, advice, counters } = state;
    const key = JSON.stringify([status, failure, message, advice]);
    if (this.end.dataset['key'] === key) {
      return;
    }
    this.end.dataset['key'] = key;
    replace(this.end);
    const at = `step ${grouped(failure?.step ?? counters.step)}`;
    if (status === 'failed') {
      const culprit = failure?.culprit ? [', first seen in ', h('code', {}, failure.culprit)] : [];
      const what = h('b', {}, `${failure?.kind ?? 'Error'} at ${at}`, ...culprit);
      const sign = h('span', { 'aria-hidden': 'true' }, '✕');
      const text = h('div', {}, what, h('span', {}, message || 'The error says nothing.'));
      this.end.append(
        h(
          'div',
          { class: 'wb-notice', 'data-kind': 'wrong', role: 'alert', 'data-testid': 'wb-failure' },
          sign,
          text
        )
      );
    } else if (message !== '') {
      this.end.append(h('p', {}, `${status === 'stopped' ? 'Stopped' : 'Ended'} at ${at}: ${message}`));
    }
    if (advice !== '' && status !== 'idle') {
      this.end.append(
        h(
          'p',
          { class: 'wb-quiet' },
          status === 'failed' ? 'To go on, once that is mended:' : 'To go on at the very next batch:'
        ),
        codeBlock(advice, text => this.host.copy(text), 'wb-advice')
      );
    }
    this.end.hidden = this.end.childNodes.length === 0;
  }

  /** What stands in place of the charts before the first step. */
  private begin({ status, advice }: TrainingState): HTMLElement {
    const words = {
      idle: 'Nothing was trained yet. To begin:',
      running: 'The first step is under way.',
      paused: 'It waits before its first step.'
    };
    const sentence =
      status in words ? words[status as keyof typeof words] : 'It ended before its first step.';
    const code = status === 'idle' ? advice || this.identity.emptyCode : '';
    return emptyState(sentence, code, text => this.host.copy(text));
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

  /** All charts and the strip on one sheet, where they stand on the page: for a file. */
  private sheet(charts: readonly Chart[]): SVGSVGElement {
    const { theme } = this;
    const sheet = s('svg', { 'font-family': theme.font, fill: theme.ink });
    const base = this.large.hidden ? this.small : this.large;
    const { left, top } = base.getBoundingClientRect();
    charts.forEach(chart => sheet.append(...chart.copy(left, top, theme)));
    let end = charts.at(-1)!.element.getBoundingClientRect();
    if (!this.layersPart.hidden) {
      const { picture } = this.strip;
      end = picture.getBoundingClientRect();
      const place = { x: end.left - left, y: end.top - top, width: end.width, height: end.height };
      const title = { x: 0, y: place.y - 12, 'font-size': 12, 'font-weight': 600 };
      sheet.append(
        s('text', title, `layers over time: ${this.chosen ?? ''}`),
        s('image', { ...place, href: picture.toDataURL('image/png') })
      );
    }
    const [width, height] = [Math.ceil(base.clientWidth), Math.ceil(end.bottom - top + 8)];
    setAttributes(sheet, { width, height, viewBox: `0 0 ${width} ${height}` });
    return sheet;
  }
}

function plain(line: Line): Record<string, unknown> {
  const { name, kind, part, missing } = line;
  return { name, kind, part, missing, steps: Array.from(line.steps), values: Array.from(line.values) };
}

/** The training view: curves, layers over time, and buttons that reach the training. */
export const mountTraining: Mount<TrainingState, TrainingViewEvent> = (root, host, options) =>
  new TrainingView(root, host, options);
