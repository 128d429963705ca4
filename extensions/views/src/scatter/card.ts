/** The card beside the point under the pointer. */
import { h } from '../common/dom';
import { numberOf, thumbnail } from './cloud';
import { rowOf } from './rows';
import { pointName, type Scene } from './scene';

/** More columns than these are read at the side. */
const MOST_LINES = 8;

/** What is known of a point: its picture, its name, and its row. */
export function card(scene: Scene, point: number): HTMLElement {
  const name = pointName(scene, point);
  const number = `point ${numberOf(scene.cloud, point)}`;
  const facts = rowOf(scene, point);
  const lines = facts.slice(0, MOST_LINES).map(([column, value]) => h('div', {}, `${column}: ${value}`));
  const more = facts.length - lines.length;
  const distance = scene.state.neighbours.find(one => one.index === point)?.distance;
  const words = h(
    'div',
    {},
    h('b', {}, name),
    name === number ? null : h('div', { class: 'wb-quiet' }, number),
    ...lines,
    more > 0 ? h('div', { class: 'wb-quiet' }, `and ${more} more`) : null,
    distance === undefined
      ? null
      : h('div', { class: 'wb-quiet' }, `${scene.state.metric} distance ${distance.toPrecision(3)}`)
  );
  return h('div', { class: 'wb-card' }, thumbnail(scene.cloud, point, 48), words);
}
