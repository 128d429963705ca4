/** The figures of one observer and of its model. */
import type { HistogramState, ObserverDetail } from '../protocol';
import { h, replace } from '../common/dom';
import { decibels, exact, figure } from '../common/numbers';
import { accuracyText } from './list';

/** Writes the figures; `preview` is what the curve says of a range that Python has not measured yet. */
export function writeFigures(
  element: HTMLElement,
  state: HistogramState,
  detail: ObserverDetail,
  preview: number | null
): void {
  const sqnr = preview === null ? decibels(detail.sqnr) : `≈ ${decibels(preview)}`;
  const worse =
    state.model.accuracy !== null &&
    state.model.float_accuracy !== null &&
    state.model.accuracy < state.model.float_accuracy - 0.005;
  const list: readonly (readonly [string, string, string, boolean?])[] = [
    ['codes', `${figure(detail.quant_min)} … ${figure(detail.quant_max)}`, 'smallest and greatest integer'],
    [
      'layer',
      sqnr,
      preview === null ? exact(detail.sqnr) : 'read from the curve until Python has measured it'
    ],
    ['model', decibels(state.model.sqnr), exact(state.model.sqnr)],
    ['accuracy', accuracyText(state.model), exact(state.model.accuracy), worse]
  ];
  const key = JSON.stringify(list);
  if (element.dataset['key'] === key) {
    return;
  }
  element.dataset['key'] = key;
  const shown = list.filter(([, text]) => text !== '–');
  replace(
    element,
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
