/** The card beside the point under the pointer. */
import type { ScatterState } from '../protocol';
import { h } from '../common/dom';
import { nameOf, thumbnail, type Cloud } from './cloud';

/** More columns than these are read at the side. */
const MOST_LINES = 8;

/** What is known of a point: its picture, its name, and its row where it is selected. */
export function card(cloud: Cloud, state: ScatterState, point: number): HTMLElement {
  const label = nameOf(cloud, point);
  const row = state.rows[state.selected.indexOf(point)];
  const lines = row
    ? state.columns
        .slice(0, MOST_LINES)
        .map((column, index) => h('div', {}, `${column}: ${row[index] ?? ''}`))
    : [];
  const more = row ? state.columns.length - lines.length : 0;
  const words = h(
    'div',
    {},
    h('b', {}, label || `point ${point}`),
    label ? h('div', { class: 'wb-quiet' }, `point ${point}`) : null,
    ...lines,
    more > 0 ? h('div', { class: 'wb-quiet' }, `and ${more} more`) : null
  );
  return h('div', { class: 'wb-card' }, thumbnail(cloud, point, 48), words);
}
