import type { Host, Mount, MountOptions } from '../host';
import type { GaugeState, GaugeViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { exact, figure } from '../common/numbers';
import { button } from '../common/parts';
import { Picture } from '../common/picture';
import { clamp } from '../common/scales';

const GAUGE_CSS = `
.wb-gauge-track { height: 10px; border-radius: 5px; background: var(--wb-sunk); overflow: hidden; }
.wb-gauge-track > i { display: block; height: 100%; background: var(--wb-accent); }
.wb-gauge-line { display: flex; gap: 8px; align-items: baseline; }
`;

class GaugeView extends Picture<GaugeState, GaugeViewEvent> {
  private readonly fill = h('i');
  private readonly words = h('b', { 'data-testid': 'wb-gauge-value' });
  private readonly page = h(
    'div',
    { class: 'wb-content' },
    h('div', { class: 'wb-gauge-track', 'aria-hidden': 'true' }, this.fill),
    h(
      'div',
      { class: 'wb-gauge-line' },
      this.words,
      button('half', () => this.half(), { 'data-testid': 'wb-gauge-half' })
    )
  );

  constructor(root: HTMLElement, host: Host<GaugeViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'gauge',
      css: GAUGE_CSS,
      emptySentence: 'A level will be drawn here:',
      emptyCode: 'wb.widgets.gauge(0.3)'
    };
    super(root, host, identity, options);
  }

  protected accept(state: GaugeState): void {
    if (state.kind !== 'gauge') {
      throw new StateError(`the gauge view knows no state of the kind “${String(state.kind)}”`);
    }
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    setText(this.words, figure(state.value));
    this.words.title = exact(state.value);
  }

  protected draw(): void {
    const { low, high, value } = this.state!;
    const part = value === null ? 0 : clamp((value - low) / (high - low), 0, 1);
    this.fill.style.width = `${100 * part}%`;
  }

  protected exports(): Exports {
    const { state } = this;
    return state ? { csv: () => csv([['value'], [state.value]]), json: () => state } : {};
  }

  private half(): void {
    if (this.state) {
      void this.send({ type: 'preset', value: (this.state.low + this.state.high) / 2 });
    }
  }
}

/** The gauge view: one number between two ends. */
export const mountGauge: Mount<GaugeState, GaugeViewEvent> = (root, host, options) =>
  new GaugeView(root, host, options);
