/** Everything about one observer: candidates, the histogram with its handles, curves, figures and controls. */
import type { Answer } from '../host';
import type { Candidate, HistogramState, HistogramViewEvent, ObserverDetail, ObserverRow } from '../protocol';
import { categoryColour } from '../common/colours';
import { h, replace, s, setText } from '../common/dom';
import { decibels, exact, figure, grouped, parse } from '../common/numbers';
import { button, Notice, Segments } from '../common/parts';
import type { Theme } from '../common/theme';
import { RangeControl } from './control';
import { channelAt, drawChannels, drawCurve } from './curve';
import { accuracyText } from './list';
import { RangePlot, type End } from './plot';
import { optimum, previewSqnr, spiky } from './range';

type Send = (event: HistogramViewEvent) => Promise<Answer | void>;

/** The detail on the right. */
export class DetailPane {
  readonly element = h('div', { class: 'wb-detail', 'data-testid': 'wb-detail' });
  readonly plot: RangePlot;
  readonly control: RangeControl;
  private readonly title = h('div', { class: 'wb-detail-title', 'data-testid': 'wb-observer-title' });
  private readonly broken = new Notice('wrong', 'wb-nan-notice');
  private readonly refusal: Notice;
  private readonly candidates = h('div', {
    class: 'wb-candidates',
    role: 'group',
    'aria-label': 'Ranges that rules would choose'
  });
  private readonly curve = s('svg', {
    class: 'wb-svg',
    role: 'img',
    'aria-label': 'SQNR against the width of the range',
    'data-testid': 'wb-curve'
  });
  private readonly channels = s('svg', { class: 'wb-svg', role: 'img', 'data-testid': 'wb-channels' });
  private readonly channelText = h('span', { 'aria-live': 'polite' });
  private readonly curveText = h('span');
  private readonly curveFigure: HTMLElement;
  private readonly channelFigure: HTMLElement;
  private readonly pair: HTMLElement;
  private readonly figures = h('div', { class: 'wb-figures', 'data-testid': 'wb-figures' });
  private readonly change = h('div', {
    class: 'wb-change',
    'data-testid': 'wb-change',
    'aria-live': 'polite'
  });
  private readonly inputs: Record<End, HTMLInputElement>;
  private readonly undo: HTMLButtonElement;
  private readonly redo: HTMLButtonElement;
  private readonly reset: HTMLButtonElement;
  private readonly scale: Segments<'linear' | 'log'>;
  private readonly around: Segments<'all' | 'range'>;
  private state: HistogramState | null = null;
  private detail: ObserverDetail | null = null;
  private counts: Float32Array = new Float32Array();
  private preview: Candidate | null = null;
  private dismissed = '';
  /** A person chose linear or log: from then on that holds for every observer. */
  private scaleChosen = false;

  constructor(
    send: Send,
    private readonly redraw: () => void
  ) {
    this.control = new RangeControl(send, redraw);
    this.plot = new RangePlot({
      move: (end, value, done) => this.move(end, value, done),
      current: () => this.control.range
    });
    this.refusal = new Notice('wrong', 'wb-refusal', () => this.dismiss());
    this.inputs = { low: this.field('low'), high: this.field('high') };
    this.undo = button('undo', () => void send({ type: 'undo' }), { 'data-testid': 'wb-undo' });
    this.redo = button('redo', () => void send({ type: 'redo' }), { 'data-testid': 'wb-redo' });
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
      h('figcaption', {}, h('span', {}, 'SQNR in dB against width of the range'), this.curveText),
      this.curve as unknown as HTMLElement
    );
    this.channelFigure = h(
      'figure',
      {},
      h('figcaption', {}, this.channelText),
      this.channels as unknown as HTMLElement
    );
    this.pair = h('div', { class: 'wb-pair' }, this.curveFigure, this.channelFigure);
    this.channels.addEventListener('pointermove', event => this.pointChannel(event));
    this.channels.addEventListener('pointerleave', () => this.sayChannels());
    this.element.addEventListener('keydown', event => this.key(event));
    const label = (end: End): HTMLElement => h('label', { class: 'wb-field' }, end, this.inputs[end]);
    const spacer = h('span', { class: 'wb-spacer' });
    const controls = h(
      'div',
      { class: 'wb-controls' },
      label('low'),
      label('high'),
      this.reset,
      this.undo,
      this.redo,
      spacer,
      this.scale.element,
      this.around.element
    );
    this.element.append(
      this.title,
      this.broken.element,
      this.candidates,
      this.plot.element,
      this.refusal.element,
      controls,
      this.figures,
      this.change,
      this.pair
    );
  }

  /** Shows another state. */
  accept(state: HistogramState, detail: ObserverDetail, counts: Float32Array): void {
    const other = detail.id !== this.detail?.id;
    if (other) {
      this.plot.release();
      this.preview = null;
      for (const input of Object.values(this.inputs)) {
        input.removeAttribute('aria-invalid');
      }
    }
    this.control.accept(detail);
    this.state = state;
    this.detail = detail;
    this.counts = counts;
    if (other && !this.scaleChosen) {
      // Once an observer is shown its picture does not jump from one scale to the other while it fills.
      this.scale.set(spiky(counts) ? 'log' : 'linear');
    }
    const row = state.observers.find(observer => observer.id === detail.id);
    this.writeTitle(detail, row);
    this.sayChannels();
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
        preview: this.preview,
        stale: this.control.ahead
      },
      width,
      theme
    );
    this.writeCandidates(detail, theme);
    const hasCurve = detail.curve.length > 1;
    const hasChannels = detail.channels.length > 1;
    this.curveFigure.hidden = !hasCurve;
    this.channelFigure.hidden = !hasChannels;
    this.pair.hidden = !hasCurve && !hasChannels;
    this.pair.toggleAttribute('data-single', hasCurve !== hasChannels);
    if (hasCurve) {
      drawCurve(this.curve, detail, range, Math.max(160, this.curveFigure.clientWidth), theme);
      const best = optimum(detail.curve);
      setText(
        this.curveText,
        best ? `optimum ${decibels(best.sqnr)} at ${figure(best.low)} to ${figure(best.high)}` : ''
      );
    }
    if (hasChannels) {
      drawChannels(this.channels, detail, range, Math.max(160, this.channelFigure.clientWidth), theme);
    }
    this.writeFigures(state, detail);
    this.writeInputs(range);
    this.writeRefusal(state);
  }

  /** Takes timers down. */
  destroy(): void {
    this.control.destroy();
  }

  private move(end: End, value: number, done: boolean): void {
    this.control.move({ ...this.control.range, [end]: value }, done);
  }

  private field(end: End): HTMLInputElement {
    const input = h('input', {
      type: 'text',
      inputmode: 'decimal',
      class: 'wb-input wb-input-number',
      'aria-label': `${end} end of the range`,
      'data-testid': `wb-input-${end}`,
      autocomplete: 'off',
      spellcheck: 'false'
    });
    input.addEventListener('change', () => this.typed(end));
    input.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        input.removeAttribute('aria-invalid');
        input.value = figure(this.control.range[end]);
        this.control.refusal = '';
        this.redraw();
      } else if (event.key === 'Enter') {
        this.typed(end);
      }
      event.stopPropagation();
    });
    return input;
  }

  private typed(end: End): void {
    const input = this.inputs[end];
    if (input.value === input.dataset['shown']) {
      return;
    }
    const result = parse(input.value);
    const invalid = 'problem' in result;
    input.dataset['shown'] = input.value;
    if (invalid) {
      input.setAttribute('aria-invalid', 'true');
      this.control.refuse(result.problem);
      return;
    }
    this.move(end, result.value, true);
    input.toggleAttribute('aria-invalid', false);
    if (this.control.refusal) {
      input.setAttribute('aria-invalid', 'true');
    }
  }

  private writeInputs(range: { readonly low: number; readonly high: number }): void {
    for (const end of ['low', 'high'] as const) {
      const input = this.inputs[end];
      const text = figure(range[end]);
      if (input.getAttribute('aria-invalid') === 'true' && this.control.refusal) {
        continue;
      }
      input.removeAttribute('aria-invalid');
      if (document.activeElement !== input || input.value === input.dataset['shown']) {
        input.value = text;
        input.dataset['shown'] = text;
      }
      input.title = exact(range[end]);
    }
  }

  private writeTitle(detail: ObserverDetail, row: ObserverRow | undefined): void {
    const facts = [
      row?.dims.length ? `[${row.dims.join(' · ')}]` : '',
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

  private writeCandidates(detail: ObserverDetail, theme: Theme): void {
    const key = JSON.stringify(detail.candidates) + String(theme.dark) + detail.id;
    if (this.candidates.dataset['key'] === key) {
      return;
    }
    this.candidates.dataset['key'] = key;
    const best = Math.max(...detail.candidates.map(candidate => candidate.sqnr ?? -Infinity));
    const focused = this.candidates.contains(document.activeElement)
      ? document.activeElement?.getAttribute('data-name')
      : null;
    const buttons = detail.candidates.map((candidate, index) =>
      this.candidateButton(candidate, index, best, theme)
    );
    replace(this.candidates, h('span', { class: 'wb-quiet' }, 'candidates'), ...buttons);
    this.candidates.hidden = detail.candidates.length === 0;
    buttons.find(element => element.dataset['name'] === focused)?.focus();
  }

  private candidateButton(
    candidate: Candidate,
    index: number,
    best: number,
    theme: Theme
  ): HTMLButtonElement {
    const isBest = candidate.sqnr !== null && candidate.sqnr === best;
    const element = button('', () => this.control.move({ low: candidate.low, high: candidate.high }, true), {
      class: 'wb-button wb-candidate',
      title: `${candidate.name}: ${figure(candidate.low)} to ${figure(candidate.high)}${isBest ? ', the best of these' : ''}`,
      'data-name': candidate.name,
      'data-testid': 'wb-candidate',
      'data-best': isBest
    });
    replace(element, h('i'), candidate.name, h('small', {}, decibels(candidate.sqnr)));
    element.style.setProperty('--wb-mark', categoryColour(index + 1, theme.dark));
    const show = (shown: boolean) => () => {
      this.preview = shown ? candidate : null;
      this.redraw();
    };
    element.addEventListener('pointerenter', show(true));
    element.addEventListener('pointerleave', show(false));
    element.addEventListener('focus', show(true));
    element.addEventListener('blur', show(false));
    return element;
  }

  private writeFigures(state: HistogramState, detail: ObserverDetail): void {
    const ahead = this.control.ahead;
    const preview = ahead ? previewSqnr(detail.curve, this.control.range) : null;
    const sqnr = preview === null ? decibels(detail.sqnr) : `≈ ${decibels(preview)}`;
    const worse =
      state.model.accuracy !== null &&
      state.model.float_accuracy !== null &&
      state.model.accuracy < state.model.float_accuracy - 0.005;
    const list: readonly (readonly [string, string, string, boolean?])[] = [
      ['scale', figure(detail.scale), exact(detail.scale)],
      ['zero point', String(detail.zero_point).replace('-', '−'), exact(detail.zero_point)],
      ['q', `${figure(detail.quant_min)} … ${figure(detail.quant_max)}`, 'smallest and greatest integer'],
      [
        'layer',
        sqnr,
        preview === null ? exact(detail.sqnr) : 'read from the curve until Python has measured it'
      ],
      ['model', decibels(state.model.sqnr), exact(state.model.sqnr)],
      ['accuracy', accuracyText(state.model), exact(state.model.accuracy), worse]
    ];
    const key = JSON.stringify(list);
    if (this.figures.dataset['key'] === key) {
      return;
    }
    this.figures.dataset['key'] = key;
    const shown = list.filter(([, text]) => text !== '–');
    replace(
      this.figures,
      ...shown.map(([name, text, title, bad]) =>
        h(
          'span',
          { class: 'wb-figure', title, 'data-figure': name },
          h('span', {}, name),
          h('b', { class: bad ? 'wb-worse' : null }, text)
        )
      )
    );
  }

  private writeRefusal(state: HistogramState): void {
    const fromPython = state.refusal ? `Refused: ${state.refusal.reason}` : '';
    const text = this.control.refusal || (fromPython === this.dismissed ? '' : fromPython);
    if (!fromPython) {
      this.dismissed = '';
    }
    this.refusal.say(text);
  }

  private dismiss(): void {
    this.control.refusal = '';
    this.dismissed = this.state?.refusal ? `Refused: ${this.state.refusal.reason}` : '';
    for (const input of Object.values(this.inputs)) {
      input.removeAttribute('aria-invalid');
    }
    this.redraw();
  }

  private sayChannels(): void {
    const { detail } = this;
    if (!detail) {
      return;
    }
    const name = detail.channel_dim ?? 'channel';
    const outliers = detail.channels.filter(channel => channel.outlier);
    const first = outliers
      .slice(0, 3)
      .map(channel => `${name} ${channel.index}`)
      .join(', ');
    const more = outliers.length > 3 ? ` and ${outliers.length - 3} more` : '';
    setText(
      this.channelText,
      `range of each ${name}${outliers.length > 0 ? ` · outlier${outliers.length > 1 ? 's' : ''}: ${first}${more}` : ''}`
    );
    this.channels.setAttribute(
      'aria-label',
      `range of each of ${detail.channels.length} entries of ${name}; ${outliers.length} outliers`
    );
  }

  private pointChannel(event: PointerEvent): void {
    const box = this.channels.getBoundingClientRect();
    const channel = this.detail ? channelAt(this.detail, event.clientX - box.left, box.width) : null;
    if (channel) {
      const name = this.detail?.channel_dim ?? 'channel';
      setText(
        this.channelText,
        `${name} ${channel.index}: ${figure(channel.low)} to ${figure(channel.high)}${channel.outlier ? ' · outlier' : ''}`
      );
    } else {
      this.sayChannels();
    }
  }

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
