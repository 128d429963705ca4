/** The instant controls: which signs count, how input and heatmap are mixed, how far the map reaches, which map. */
import type { MapName } from '../common/colours';
import { h, setText } from '../common/dom';
import { Segments, select } from '../common/parts';
import type { Sign, Tone } from './tone';

/** Controls that ask nobody. */
export class ToneBar {
  readonly element: HTMLElement;
  tone: Tone = { sign: 'all', map: 'viridis', blend: 0.75, percentile: 99 };
  private readonly blendText = h('output');
  private readonly percentText = h('output');
  private readonly mapChoice: HTMLSelectElement;

  constructor(private readonly changed: () => void) {
    const sign = new Segments<Sign>(
      'Sign',
      (['all', 'positive', 'negative', 'absolute'] as const).map(one => [one, one] as const),
      this.tone.sign,
      value => this.set({ sign: value }),
      'wb-sign'
    );
    const map = select<MapName>(
      'map',
      (['viridis', 'grey'] as const).map(one => [one, one] as const),
      'viridis',
      value => this.set({ map: value }),
      'wb-map'
    );
    this.mapChoice = map.input;
    this.element = h(
      'div',
      { class: 'wb-heat-controls' },
      sign.element,
      this.slider('blend', 0, 100, this.tone.blend * 100, this.blendText, value => ({ blend: value / 100 })),
      this.slider('percentile', 50, 100, this.tone.percentile, this.percentText, value => ({
        percentile: value
      })),
      map.element
    );
    this.write();
  }

  private set(change: Partial<Tone>): void {
    this.tone = { ...this.tone, ...change };
    this.write();
    this.changed();
  }

  private slider(
    label: string,
    low: number,
    high: number,
    value: number,
    output: HTMLElement,
    change: (value: number) => Partial<Tone>
  ): HTMLElement {
    const input = h('input', {
      type: 'range',
      class: 'wb-range',
      min: low,
      max: high,
      step: 1,
      value,
      'aria-label': label,
      'data-testid': `wb-${label}`
    });
    input.addEventListener('input', () => this.set(change(Number(input.value))));
    return h('label', { class: 'wb-field' }, label, input, output);
  }

  private write(): void {
    setText(this.blendText, `${Math.round(this.tone.blend * 100)} %`);
    setText(this.percentText, `${this.tone.percentile} %`);
    this.mapChoice.disabled = this.tone.sign === 'all';
    this.mapChoice.title =
      this.tone.sign === 'all' ? 'With both signs the map is blue to orange, with zero at its middle' : '';
  }
}
