/** How the neighbourhoods of these points differ in another embedding of them. */
import { h, replace, setText } from '../common/dom';
import { percent } from '../common/numbers';
import { pointOf } from './cloud';
import { pointsAt } from './near';
import { pointName, type Asks, type Part, type Scene } from './scene';

/** The column that says of each point how much it keeps, as Python calls it. */
const KEPT = 'neighbours kept';

/** The menu, the figure, and the neighbours that the picked point loses and gains. */
export class Comparison implements Part {
  readonly element: HTMLElement;
  private readonly menu = h('select', {
    class: 'wb-select',
    'aria-label': 'Compare with',
    'data-testid': 'wb-compare-with'
  });
  private readonly said = h('p', { class: 'wb-quiet wb-note', 'data-testid': 'wb-compared' });
  private readonly lists = h('div', { class: 'wb-changes' });
  private key = '';
  private scene: Scene | null = null;

  constructor(private readonly asks: Asks) {
    this.element = h(
      'div',
      { class: 'wb-part' },
      h('label', { class: 'wb-field' }, h('span', {}, 'compare with'), this.menu),
      this.said,
      this.lists
    );
    this.menu.addEventListener('change', () => {
      void asks.send({ type: 'compare_with', name: this.menu.value });
      const label = this.scene?.now.label ?? '';
      asks.arrange({ colour: this.menu.value === '' ? label : KEPT });
    });
  }

  update(scene: Scene): void {
    this.scene = scene;
    const { others, comparison } = scene.state;
    this.element.hidden = others.length === 0;
    const key = JSON.stringify(others);
    if (key !== this.key) {
      this.key = key;
      replace(
        this.menu,
        h('option', { value: '' }, 'nothing'),
        ...others.map(name => h('option', { value: name }, name))
      );
    }
    this.menu.value = comparison?.name ?? '';
    this.said.hidden = this.lists.hidden = comparison === null;
    if (comparison) {
      setText(
        this.said,
        `${percent(comparison.kept)} of the ${comparison.k} nearest are the same. Colours say what share each point keeps.`
      );
      const current = scene.selected[0] !== undefined && scene.selected[0] === scene.state.selected[0];
      replace(
        this.lists,
        current
          ? this.list(scene, '−', 'lost', comparison.lost)
          : h('span', { class: 'wb-quiet' }, 'pick a point to see which'),
        current ? this.list(scene, '+', 'gained', comparison.gained) : null
      );
    }
  }

  private list(scene: Scene, sign: string, word: string, points: readonly number[]): HTMLElement {
    return h(
      'div',
      { class: 'wb-moved', 'data-change': word, 'data-testid': `wb-${word}` },
      h('h4', {}, `${sign} ${word} (${points.length})`),
      ...points.map(number => {
        const point = pointOf(scene.cloud, number);
        const here = point >= 0;
        const element = h(
          'button',
          {
            type: 'button',
            class: 'wb-button',
            title: `point ${number}${here ? '' : ', which is not drawn'}`,
            disabled: !here
          },
          here ? pointName(scene, point) : `#${number}`
        );
        if (here) {
          pointsAt(element, point, this.asks);
        }
        return element;
      })
    );
  }
}
