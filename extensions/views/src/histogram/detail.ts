/** Everything about one observer: candidates, the histogram with its handles, curves, figures and controls. */
import type { Answer } from '../host';
import type { HistogramState, HistogramViewEvent, ObserverDetail, ObserverRow } from '../protocol';
import { h, replace, s, setText } from '../common/dom';
import { decibels, figure, grouped } from '../common/numbers';
import { button, Notice, Segments } from '../common/parts';
import type { Theme } from '../common/theme';
import { Candidates } from './candidates';
import { Channels } from './channels';
import { Compare } from './compare';
import { RangeControl } from './control';
import { drawCurve } from './curve';
import { RangeFields } from './fields';
import { writeFigures } from './figures';
import { SettingsMenus } from './menus';
import { RangePlot } from './plot';
import { optimum, previewSqnr, spiky } from './range';
import { ScaleFields } from './scale';
import { ValuesLegend, type Overlay } from './values';

const VALUES_TITLE =
  'Values of this layer on the held batch, in the floating point model and in the integer one';

const CURVE_TITLE =
  'SQNR is the ratio of signal to quantization noise: 6 dB more halve the error. Too narrow a range clips, too wide a one rounds coarsely';

type Send = (event: HistogramViewEvent) => Promise<Answer | void>;

/** What the detail asks of the view around it. */
export interface Around {
  /** Opens another observer. */
  open(id: string): void;
  /** Writes code where it can be run; says what was done. */
  write(code: string): string;
  /** Opens the difference of the model's two forms; says why it cannot, or nothing. */
  openDiff(): string;
}

/** The detail on the right. */
export class DetailPane {
  readonly element = h('div', { class: 'wb-detail', 'data-testid': 'wb-detail' });
  readonly plot: RangePlot;
  readonly control: RangeControl;
  private readonly title = h('div', { class: 'wb-detail-title', 'data-testid': 'wb-observer-title' });
  private readonly broken = new Notice('wrong', 'wb-nan-notice');
  private readonly refusal: Notice;
  private readonly candidates: Candidates;
  private readonly fields: RangeFields;
  private readonly scales: ScaleFields;
  private readonly menus: SettingsMenus;
  private readonly compare: Compare;
  private readonly legend = new ValuesLegend();
  private readonly values: HTMLButtonElement;
  private overlay: Overlay | null = null;
  private readonly curve = s('svg', {
    class: 'wb-svg',
    role: 'img',
    'aria-label': 'SQNR against the width of the range',
    'data-testid': 'wb-curve'
  });
  private readonly channels = new Channels();
  private readonly curveText = h('span');
  private readonly curveFigure: HTMLElement;
  private readonly pair: HTMLElement;
  private readonly figures = h('div', { class: 'wb-figures', 'data-testid': 'wb-figures' });
  private readonly change = h('div', {
    class: 'wb-change',
    'data-testid': 'wb-change',
    'aria-live': 'polite'
  });
  private readonly done = h('div', {
    class: 'wb-change',
    'data-testid': 'wb-done',
    'aria-live': 'polite',
    hidden: true
  });
  private forgetting: ReturnType<typeof setTimeout> | undefined;
  private readonly undo: HTMLButtonElement;
  private readonly redo: HTMLButtonElement;
  private readonly reset: HTMLButtonElement;
  private readonly scale: Segments<'linear' | 'log'>;
  private readonly around: Segments<'all' | 'range'>;
  private state: HistogramState | null = null;
  private detail: ObserverDetail | null = null;
  private counts: Float32Array = new Float32Array();
  private dismissed = '';
  /** A person chose linear or log: from then on that holds for every observer. */
  private scaleChosen = false;

  constructor(
    send: Send,
    private readonly redraw: () => void,
    around: Around
  ) {
    this.control = new RangeControl(send, redraw);
    this.plot = new RangePlot({
      move: (end, value, done) => this.control.moveEnd(end, value, done),
      current: () => this.control.range
    });
    this.refusal = new Notice('wrong', 'wb-refusal', () => this.dismiss());
    this.candidates = new Candidates({
      take: ({ low, high }) => this.control.move({ low, high }, true),
      redraw
    });
    this.fields = new RangeFields(this.control, redraw);
    const refused = (reason: string): void => this.refuse(reason);
    // What was refused before has been read when something else is done.
    const next: Send = event => {
      this.refuse('');
      return send(event);
    };
    this.scales = new ScaleFields(send, refused);
    this.menus = new SettingsMenus(send, refused);
    this.compare = new Compare(next, around.open);
    this.values = button(
      'float | int',
      () => void next({ type: 'show_values', on: !(this.state?.show_values ?? false) }),
      { 'data-testid': 'wb-show-values', 'aria-pressed': 'false', title: VALUES_TITLE }
    );
    const writeAsCode = (): void => {
      this.dismiss();
      this.told(around.write(this.state?.head.code ?? ''));
    };
    const write = button('write as code', writeAsCode, {
      'data-testid': 'wb-write-code',
      title: 'Put the QConfigMapping that does what is chosen here into a new cell, and copy it'
    });
    const difference = button('graph diff', () => void this.showDifference(next, around), {
      'data-testid': 'wb-show-difference',
      title: 'What converting the model by these ranges makes of its graph, with this layer picked'
    });
    this.undo = button('undo', () => void next({ type: 'undo' }), { 'data-testid': 'wb-undo' });
    this.redo = button('redo', () => void next({ type: 'redo' }), { 'data-testid': 'wb-redo' });
    this.reset = button(
      'reset',
      () => this.detail && void send({ type: 'reset_range', id: this.detail.id }),
      { 'data-testid': 'wb-reset', title: 'Give the range back to the observer' }
    );
    this.scale = new Segments(
      'Counts',
      [
        ['linear', 'linear'],
        ['log', 'log']
      ],
      'linear',
      () => {
        this.scaleChosen = true;
        redraw();
      },
      'wb-scale'
    );
    this.around = new Segments(
      'Show',
      [
        ['all', 'all'],
        ['range', 'zoom']
      ],
      'all',
      redraw,
      'wb-around'
    );
    this.curveFigure = h(
      'figure',
      {},
      h(
        'figcaption',
        {},
        h('span', { title: CURVE_TITLE }, 'SQNR in dB against width of the range'),
        this.curveText
      ),
      this.curve as unknown as HTMLElement
    );
    this.pair = h('div', { class: 'wb-pair' }, this.curveFigure, this.channels.element);
    this.element.addEventListener('keydown', event => this.key(event));
    const controls = h(
      'div',
      { class: 'wb-controls' },
      this.fields.labelled('low'),
      this.fields.labelled('high'),
      this.scales.labelled('scale'),
      this.scales.labelled('zero point'),
      this.reset,
      h('span', { class: 'wb-together' }, this.scale.element, this.around.element, this.values)
    );
    const choices = h(
      'div',
      { class: 'wb-controls' },
      this.menus.element,
      h('span', { class: 'wb-together' }, this.undo, this.redo, this.compare.buttons, write, difference)
    );
    this.element.append(
      this.title,
      this.broken.element,
      this.candidates.element,
      this.plot.element,
      this.legend.element,
      controls,
      choices,
      // Below what a hand is at, so that nothing moves under it.
      this.refusal.element,
      this.figures,
      h('div', { class: 'wb-news' }, this.change, this.done),
      this.compare.table,
      this.pair
    );
  }

  /** Shows another state. */
  accept(state: HistogramState, detail: ObserverDetail, counts: Float32Array, overlay: Overlay | null): void {
    const other = detail.id !== this.detail?.id;
    if (other) {
      this.plot.release();
      this.candidates.preview = null;
      this.fields.clear();
    }
    this.control.accept(detail);
    this.state = state;
    this.detail = detail;
    this.counts = counts;
    this.overlay = overlay;
    this.scales.accept(detail);
    this.menus.accept(detail);
    this.compare.accept(state.comparison);
    this.values.setAttribute('aria-pressed', String(state.show_values));
    if (other && !this.scaleChosen) {
      // Once an observer is shown its picture does not jump from one scale to the other while it fills.
      this.scale.set(spiky(counts) ? 'log' : 'linear');
    }
    const row = state.observers.find(observer => observer.id === detail.id);
    this.writeTitle(detail, row);
    this.channels.accept(detail);
    this.undo.disabled = state.undo === 0;
    this.redo.disabled = state.redo === 0;
    this.undo.title =
      state.undo > 0 ? `Take back the last of ${state.undo} changes (Ctrl+Z)` : 'Nothing to undo';
    this.redo.title =
      state.redo > 0 ? `Make ${state.redo} undone changes again (Ctrl+Shift+Z)` : 'Nothing to redo';
    this.reset.disabled = !row?.overridden;
    setText(this.change, state.change);
  }

  /** Draws at the size there is. */
  draw(theme: Theme): void {
    const { detail, state } = this;
    if (!detail || !state) {
      return;
    }
    const width = Math.max(200, this.element.clientWidth - 4);
    const range = this.control.range;
    this.plot.draw(
      {
        detail,
        counts: this.counts,
        range,
        log: this.scale.value === 'log',
        around: this.around.value,
        preview: this.candidates.preview,
        stale: this.control.ahead,
        overlay: state.show_values ? this.overlay : null
      },
      width,
      theme
    );
    this.legend.update(this.overlay, state.show_values, state.no_values, theme);
    this.candidates.update(detail, theme);
    const hasCurve = detail.curve.length > 1;
    const hasChannels = detail.channels.length > 1;
    this.curveFigure.hidden = !hasCurve;
    this.channels.element.hidden = !hasChannels;
    this.pair.hidden = !hasCurve && !hasChannels;
    this.pair.toggleAttribute('data-single', hasCurve !== hasChannels);
    if (hasCurve) {
      drawCurve(this.curve, detail, range, Math.max(160, this.curveFigure.clientWidth), theme);
      const best = optimum(detail);
      setText(
        this.curveText,
        best ? `optimum ${decibels(best.sqnr)} at ${figure(best.low)} to ${figure(best.high)}` : ''
      );
    }
    if (hasChannels) {
      this.channels.draw(detail, range, theme);
    }
    const preview = this.control.ahead ? previewSqnr(detail.curve, range) : null;
    writeFigures(this.figures, state, detail, preview);
    this.fields.update(range);
    this.writeRefusal(state);
  }

  /** Takes timers down. */
  destroy(): void {
    this.control.destroy();
    clearTimeout(this.forgetting);
  }

  /** Says for a while what was done that the picture does not show. */
  private told(text: string): void {
    clearTimeout(this.forgetting);
    setText(this.done, text);
    this.done.hidden = text === '';
    this.forgetting = setTimeout(() => (this.done.hidden = true), 6000);
  }

  private async showDifference(send: Send, around: Around): Promise<void> {
    const { detail } = this;
    const answer = detail && (await send({ type: 'show_difference', id: detail.id }));
    if (answer && !answer.accepted) {
      this.refuse(answer.reason);
    } else {
      this.told(around.openDiff());
    }
  }

  private writeTitle(detail: ObserverDetail, row: ObserverRow | undefined): void {
    const facts = [
      // Points for dims of which none has a name say nothing.
      row?.dims.some(dim => dim !== '·') ? `[${row.dims.join(', ')}]` : '',
      row?.dtype ?? '',
      row?.scheme ?? '',
      `${detail.bits} bit`,
      row ? `${grouped(row.batches)} batch${row.batches === 1 ? '' : 'es'}` : ''
    ];
    replace(
      this.title,
      h('b', {}, row?.name ?? detail.id),
      h('span', { class: 'wb-quiet' }, facts.filter(Boolean).join(' · '))
    );
    const nan = row?.nan ?? 0;
    const inf = row?.inf ?? 0;
    const seen = [nan > 0 ? `${grouped(nan)} NaN` : '', inf > 0 ? `${grouped(inf)} inf` : '']
      .filter(Boolean)
      .join(' and ');
    this.broken.say(
      seen &&
        `${seen} seen here. They are counted but lie outside every range: find out where they come from before you trust these figures.`
    );
  }

  private writeRefusal(state: HistogramState): void {
    const fromPython = state.refusal ? `Refused: ${state.refusal.reason}` : '';
    // What was put away stays away while Python's state still holds it.
    const text = this.control.refusal || (fromPython === this.dismissed ? '' : fromPython);
    if (!fromPython) {
      this.dismissed = '';
    }
    this.refusal.say(text);
  }

  /** Says in place why something was refused; nothing has changed. */
  private refuse(reason: string): void {
    if (reason) {
      this.control.refuse(reason.replace(/\.$/, ''));
    } else {
      this.control.refusal = '';
      this.redraw();
    }
  }

  private dismiss(): void {
    this.control.refusal = '';
    this.dismissed = this.state?.refusal ? `Refused: ${this.state.refusal.reason}` : '';
    this.fields.clear();
    this.redraw();
  }

  // In a field this takes back what was typed.
  private key(event: KeyboardEvent): void {
    if (
      (event.ctrlKey || event.metaKey) &&
      event.key.toLowerCase() === 'z' &&
      !(event.target instanceof HTMLInputElement)
    ) {
      const target = event.shiftKey ? this.redo : this.undo;
      if (!target.disabled) {
        target.click();
      }
      event.preventDefault();
      event.stopPropagation();
    }
  }
}
