/** The neighbours of the picked point, in the space before projection, and how they are measured. */
import type { ScatterState } from '../protocol';
import { h, replace, setText } from '../common/dom';
import { exact, figure, grouped } from '../common/numbers';
import { button, Segments } from '../common/parts';
import { numberOf, thumbnail } from './cloud';
import { ownName, pointName, type Asks, type Part, type Scene } from './scene';
import { hasFocus } from '../common/focus';

type Metric = ScatterState['metric'];

const MOST_NEIGHBOURS = 999;

/** The list and its settings. */
export class Near implements Part {
  readonly element: HTMLElement;
  private readonly list = h('div', { class: 'wb-near', 'data-testid': 'wb-neighbours' });
  private readonly head = h('h3', {});
  private readonly note = h('p', { class: 'wb-quiet wb-note' });
  private readonly metrics: Segments<Metric>;
  private readonly k = h('input', {
    type: 'number',
    min: 1,
    max: MOST_NEIGHBOURS,
    step: 1,
    class: 'wb-input wb-input-number',
    'aria-label': `How many neighbours, 1 to ${MOST_NEIGHBOURS}`,
    'data-testid': 'wb-k'
  });
  private readonly select = button('select', () => this.selectAll(), {
    title: 'Select the point and its neighbours',
    'data-testid': 'wb-select-neighbours'
  });
  private scene: Scene | null = null;

  constructor(private readonly asks: Asks) {
    this.metrics = new Segments<Metric>(
      'Distance',
      [
        ['cosine', 'cosine'],
        ['euclidean', 'euclidean']
      ],
      'cosine',
      metric => asks.arrange({ metric }),
      'wb-metric'
    );
    this.k.addEventListener('change', () => {
      const k = Number(this.k.value);
      const right = Number.isInteger(k) && k >= 1 && k <= MOST_NEIGHBOURS;
      this.k.setAttribute('aria-invalid', String(!right));
      this.k.title = right ? '' : `a whole number from 1 to ${MOST_NEIGHBOURS}`;
      if (right) {
        asks.arrange({ k });
      }
    });
    this.k.addEventListener('keydown', event => event.stopPropagation());
    this.element = h(
      'div',
      { class: 'wb-panel' },
      h(
        'div',
        { class: 'wb-line' },
        h('label', { class: 'wb-field' }, h('span', {}, 'k'), this.k),
        this.metrics.element
      ),
      this.head,
      this.note,
      this.list
    );
  }

  update(scene: Scene): void {
    this.scene = scene;
    const { state, selected, now } = scene;
    this.metrics.set(now.metric);
    if (!hasFocus(this.k)) {
      this.k.value = String(now.k);
      this.k.setAttribute('aria-invalid', 'false');
    }
    const picked = selected[0];
    const current = picked !== undefined && state.selected[0] === picked;
    this.list.dataset['of'] = String(picked ?? '');
    const rows = current ? state.neighbours : [];
    replace(
      this.head,
      picked === undefined
        ? 'no point is picked'
        : `nearest to ${pointName(scene, picked)} ${ownName(scene, picked)}`.trim(),
      rows.length > 0 ? this.select : null
    );
    const cells = scene.cloud.weights !== null;
    setText(
      this.note,
      picked === undefined
        ? invitation(scene, cells)
        : current
          ? foundInWords(scene, rows.length)
          : 'looking …'
    );
    this.note.hidden = this.note.textContent === '';
    this.write(scene, rows);
  }

  private write(scene: Scene, rows: ScatterState['neighbours']): void {
    const lost = new Set(scene.state.comparison?.lost ?? []);
    const furthest = rows.at(-1)?.distance ?? 1;
    replace(
      this.list,
      ...rows.map(({ index, distance }) => {
        const bar = h('u', {});
        bar.style.width = `${furthest > 0 ? (100 * distance) / furthest : 0}%`;
        const name = pointName(scene, index);
        const number = numberOf(scene.cloud, index);
        const element = h(
          'button',
          {
            type: 'button',
            'data-index': index,
            'data-testid': 'wb-neighbour',
            'data-lost': lost.has(number),
            title: `${name} · point ${number}${lost.has(number) ? ' · no neighbour in the other embedding' : ''}`
          },
          thumbnail(scene.cloud, index, 24) ?? h('i'),
          h('span', {}, name, h('span', { class: 'wb-quiet' }, ` ${ownName(scene, index)}`)),
          h('span', { title: exact(distance) }, figure(distance)),
          bar
        );
        pointsAt(element, index, this.asks);
        return element;
      })
    );
  }

  private selectAll(): void {
    const { scene } = this;
    if (scene && scene.selected.length > 0) {
      this.asks.choose([scene.selected[0]!, ...scene.state.neighbours.map(({ index }) => index)]);
    }
  }
}

/** What a person may do to see neighbours, while no point is picked. */
function invitation({ state, alone }: Pick<Scene, 'state' | 'alone'>, cells: boolean): string {
  if (alone && cells) {
    return 'Many points are drawn as one here: there are none to pick, and no neighbours.';
  }
  const pick = cells ? 'Zoom in until points are drawn, and click one' : 'Click a point';
  const among = alone && state.window ? 'the points of this page' : 'all points';
  return `${pick}: its neighbours are found among ${among}, before projection.`;
}

/** Among what `count` neighbours were found: a page that stands alone has the vectors of the points that it draws. */
export function foundInWords({ state, alone }: Pick<Scene, 'state' | 'alone'>, count: number): string {
  if (count === 0) {
    return '';
  }
  if (alone && state.window) {
    return `exact, of the ${grouped(state.count)} points of this page, before projection`;
  }
  const away = state.window ? Math.min(state.k, state.total - 1) - count : 0;
  const outside = away > 0 ? `; ${away} of them outside of what is drawn` : '';
  return `exact, of all ${grouped(state.total)} points, before projection${outside}`;
}

/** Lets an element stand for a point: it is pointed at while the element is, and picked by a click. */
export function pointsAt(element: HTMLElement, point: number, asks: Asks): void {
  element.addEventListener('click', () => asks.choose([point]));
  element.addEventListener('pointerenter', () => asks.point(point));
  element.addEventListener('pointerleave', () => asks.point(null));
  element.addEventListener('focus', () => asks.point(point));
  element.addEventListener('blur', () => asks.point(null));
}
