/** The figures of one observer and of its model. */
import type { HistogramState, ModelFigures, ObserverDetail } from '../protocol';
import { h, replace } from '../common/dom';
import { decibels, exact, figure, percent } from '../common/numbers';
import { accuracyText, LAYER_TITLE, SAMPLES_TITLE, samplesText } from './list';

const MODEL_TITLE = 'SQNR of the model’s results on the held batch, with everything in codes';

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
  const measured = state.model.held !== null && state.model.sqnr !== null;
  const list: readonly (readonly [string, string, string, boolean?])[] = [
    ['codes', `${figure(detail.quant_min)} … ${figure(detail.quant_max)}`, codesTitle(detail.bits)],
    [
      'layer',
      sqnr,
      preview === null
        ? `${exact(detail.sqnr)} · ${LAYER_TITLE}`
        : 'read from the curve until Python has measured it'
    ],
    ['model', decibels(state.model.sqnr), `${exact(state.model.sqnr)} · ${MODEL_TITLE}`],
    ['accuracy', accuracyText(state.model), accuracyTitle(state.model), worse],
    ['samples', measured ? samplesText(state.model) : '–', SAMPLES_TITLE]
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

function codesTitle(bits: number): string {
  const free = ' · one of 8 bits is left free, so that sums of products fit into 16 bits';
  return `smallest and greatest integer${bits === 7 ? free : ''}`;
}

function accuracyTitle({ accuracy, float_accuracy: plain }: ModelFigures): string {
  const before = plain === null ? '' : ` · ${percent(plain)} in floating point`;
  return `${exact(accuracy)} on the held batch${before}`;
}
