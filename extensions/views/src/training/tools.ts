/** The row above the charts: smoothing, scale, the steps that are shown, runs that are compared, and what marks mean. */
import type { TrainingState } from '../protocol';
import { h, replace } from '../common/dom';
import { grouped } from '../common/numbers';
import { button, Segments } from '../common/parts';
import { runColour } from './lines';
import { Smoothing } from './smoothing';
import type { Steps } from './window';
import { hasFocus } from '../common/focus';

const USUAL = 0.9;

/** Whom the tools tell. */
export interface ToolsHost {
  /** Smoothing or scale changed. */
  changed(): void;
  /** Other steps are wanted; all of them where that is null. */
  zoom(part: Steps | null): void;
  /** Only charts whose titles have this in them are wanted. */
  filter(words: string): void;
}

function numberField(label: string, testid: string): HTMLInputElement {
  return h('input', {
    type: 'number',
    class: 'wb-input wb-input-number',
    'aria-label': label,
    'data-testid': testid
  });
}

/** The row with its state. */
export class Tools {
  readonly element: HTMLElement;
  log = false;
  /** Runs that a person has put away. */
  readonly hidden = new Set<number>();
  private readonly smoothing: Smoothing;
  private readonly low = numberField('First step shown', 'wb-first-step');
  private readonly high = numberField('Last step shown', 'wb-last-step');
  private readonly all: HTMLButtonElement;
  private readonly search = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: 'find a chart  /',
    'aria-label': 'Show only charts with this in their name',
    'data-testid': 'wb-find-chart',
    hidden: true
  });
  private readonly runs = h('span', {
    class: 'wb-train-runs',
    role: 'group',
    'aria-label': 'Runs that are drawn',
    hidden: true
  });
  private readonly keys = h('span', { class: 'wb-train-keys' });
  private shown: Steps = { low: 0, high: 0 };

  constructor(private readonly host: ToolsHost) {
    const scale = new Segments<'linear' | 'log'>(
      'Scale of loss, learning rate and gradient norm',
      [
        ['linear', 'linear'],
        ['log', 'log']
      ],
      'linear',
      value => {
        this.log = value === 'log';
        host.changed();
      },
      'wb-scale'
    );
    scale.element.title = 'Of loss, learning rate and gradient norm';
    this.all = button('all', () => host.zoom(null), {
      'data-testid': 'wb-all-steps',
      title: 'Show all steps again (0 on a chart, or a double click)'
    });
    this.smoothing = new Smoothing(USUAL, () => host.changed());
    const steps = h(
      'span',
      { class: 'wb-field wb-train-steps' },
      'steps',
      this.low,
      '–',
      this.high,
      this.all
    );
    this.element = h(
      'div',
      { class: 'wb-train-tools' },
      this.smoothing.element,
      h('span', { class: 'wb-field' }, 'scale', scale.element),
      steps,
      this.search,
      this.keys,
      this.runs
    );
    for (const field of [this.low, this.high]) {
      field.addEventListener('change', () => this.readSteps());
    }
    this.search.addEventListener('input', () => host.filter(this.search.value));
    this.search.addEventListener('keydown', event => {
      if (event.key === 'Escape' && this.search.value !== '') {
        this.search.value = '';
        host.filter('');
        event.stopPropagation();
      }
    });
  }

  /** What stays of the average from one stretch of steps to the next. */
  get weight(): number {
    return this.smoothing.weight;
  }

  /** Shows which steps are drawn; a field that a person is in stays as it is. */
  showSteps(shown: Steps, all: Steps, narrow: boolean): void {
    this.shown = shown;
    for (const [field, value] of [
      [this.low, shown.low],
      [this.high, shown.high]
    ] as const) {
      field.min = String(all.low);
      field.max = String(all.high);
      if (!hasFocus(field)) {
        field.value = String(value);
      }
    }
    this.all.disabled = !narrow;
  }

  /** Offers a search where there are many charts. */
  offerSearch(many: boolean): void {
    this.search.hidden = !many;
  }

  /** Goes to the search, if there is one. */
  find(): boolean {
    this.search.focus();
    return !this.search.hidden;
  }

  /** Offers the runs that are compared; `names` has this one first, and is empty where there is one. */
  offerRuns(names: readonly string[], dark: boolean): void {
    this.runs.hidden = names.length === 0;
    const key = JSON.stringify([names, dark]);
    if (this.runs.dataset['key'] === key) {
      return;
    }
    this.runs.dataset['key'] = key;
    const buttons = names.map((name, run) => {
      const swatch = h('i', { 'aria-hidden': 'true' });
      swatch.style.background = runColour(run, dark);
      const toggle = h(
        'button',
        { type: 'button', class: 'wb-button', 'aria-pressed': 'true', title: name, 'data-testid': 'wb-run' },
        swatch,
        h('span', {}, name)
      );
      // The run that the view belongs to is always drawn.
      toggle.disabled = run === 0;
      toggle.setAttribute('aria-pressed', String(!this.hidden.has(run)));
      toggle.addEventListener('click', () => {
        if (!this.hidden.delete(run)) {
          this.hidden.add(run);
        }
        toggle.setAttribute('aria-pressed', String(!this.hidden.has(run)));
        this.host.changed();
      });
      return toggle;
    });
    replace(this.runs, h('span', {}, 'runs'), ...buttons, h('span', {}, '── train  ╌╌ validation'));
  }

  /** Says what the marks on the charts mean, those that there are. */
  explain(state: TrainingState, coarse: number): void {
    const marks: (readonly [string, string, string])[] = [];
    if (state.spikes.length > 0) {
      marks.push(['spike', '▼', 'jump of the loss']);
    }
    if (state.curves.some(curve => curve.missing > 0)) {
      marks.push(['missing', '✕', 'not finite']);
    }
    if (state.epochs.length > 0) {
      marks.push(['epoch', '┊', 'end of an epoch']);
    }
    if (coarse > 1) {
      marks.push(['coarse', '', `two points for every ${grouped(coarse)} steps`]);
    }
    const key = JSON.stringify(marks);
    if (this.keys.dataset['key'] !== key) {
      this.keys.dataset['key'] = key;
      replace(
        this.keys,
        ...marks.map(([kind, sign, words]) =>
          h('span', { 'data-key': kind }, sign ? h('i', {}, `${sign} `) : null, words)
        )
      );
    }
  }

  private readSteps(): void {
    const [low, high] = [Number(this.low.value), Number(this.high.value)];
    const typed = this.low.value !== '' && this.high.value !== '' && low < high;
    if (typed) {
      this.host.zoom({ low, high });
    } else {
      this.low.value = String(this.shown.low);
      this.high.value = String(this.shown.high);
    }
  }
}
