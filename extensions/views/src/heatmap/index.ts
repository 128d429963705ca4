import type { HeatmapViewEvent, HeatmapViewState } from '../protocol';
import type { Host, Mount, View } from '../host';
import { h, replace } from '../common/dom';

/** The heatmap view. */
export const mountHeatmap: Mount<HeatmapViewState, HeatmapViewEvent> = (
  root: HTMLElement,
  _host: Host<HeatmapViewEvent>,
): View<HeatmapViewState> => {
  const body = h('div', { class: 'wb-view wb-heatmap', 'data-testid': 'wb-heatmap' });
  replace(root, body);
  return {
    update: (state) => replace(body, state.head.title),
    resize: () => undefined,
    destroy: () => root.replaceChildren(),
  };
};
