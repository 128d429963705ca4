/** Delta and time: always there; a delta over its tolerance says so, and why that matters. */
import type { HeatmapState } from '../protocol';
import { h, replace } from '../common/dom';
import { duration, figure, grouped } from '../common/numbers';
import { figureItem } from '../common/parts';
import type { PartData } from './part';

interface Judged {
  readonly delta: number | null;
  readonly tolerance: number | null;
  readonly seconds: number | null;
}

/** Whether attributions do not add up to what they explain. */
export function isOver({ delta, tolerance }: Pick<Judged, 'delta' | 'tolerance'>): boolean {
  return delta !== null && tolerance !== null && Math.abs(delta) > tolerance;
}

/** The line below the pictures. */
export class Verdict {
  readonly element = h('div', { class: 'wb-heat-verdict', 'data-testid': 'wb-verdict', role: 'status' });

  /** Its words, for a file. */
  get summary(): string {
    return this.element.textContent ?? '';
  }

  update(state: HeatmapState, data: readonly PartData[]): void {
    if (state.parts.every(part => part.attribution_buffer === null)) {
      replace(this.element, h('span', { class: 'wb-quiet' }, 'no answer yet'));
      this.element.toggleAttribute('data-over', false);
      return;
    }
    const missing = data
      .flatMap(one => one.maps.slice(0, 1))
      .reduce((sum, map) => sum + map.values.reduce((n, value) => n + (Number.isNaN(value) ? 1 : 0), 0), 0);
    const parts: Node[] = [...figures(state, state.other ? (state.controls?.model ?? '') : '')];
    const { other } = state;
    if (other) {
      parts.push(
        ...(other.trouble
          ? [
              h(
                'span',
                { 'data-testid': 'wb-other-trouble' },
                `${other.name} has no answer: ${other.trouble}`
              )
            ]
          : figures(other, other.name))
      );
    }
    if (missing > 0) {
      parts.push(h('b', { class: 'wb-loud' }, `${grouped(missing)} cells have no attribution`));
    }
    if (state.note) {
      parts.push(h('b', {}, state.note));
    }
    const over = isOver(state) || (other !== null && isOver(other));
    for (const one of [state, ...(other ? [other] : [])]) {
      if (isOver(one)) {
        parts.push(h('span', {}, words(one.delta!, one.tolerance!)));
      }
    }
    this.element.toggleAttribute('data-over', over || (other?.trouble ?? '') !== '');
    replace(this.element, ...parts);
  }
}

function words(delta: number, tolerance: number): string {
  return `The attributions do not add up to what the model’s output changed by: off by ${figure(Math.abs(delta))}, more than ${figure(tolerance)}. More steps would bring it down.`;
}

function figures({ delta, tolerance, seconds }: Judged, name: string): Node[] {
  const none = { class: 'wb-figure', 'data-figure': 'delta', title: 'this method promises no sum' };
  return [
    ...(name ? [h('b', {}, name)] : []),
    delta === null
      ? h('span', none, h('span', {}, 'delta'), 'none')
      : figureItem('delta', figure(delta), delta, { 'data-figure': 'delta' }),
    ...(tolerance === null ? [] : [figureItem('tolerance', figure(tolerance), tolerance)]),
    ...(seconds === null ? [] : [figureItem('time', duration(seconds), seconds, { 'data-figure': 'time' })])
  ];
}
