/** The selected points with their rows, only as many of them in the page as are in sight. */
import { csv } from '../common/exporting';
import { h, replace, setText } from '../common/dom';
import { grouped } from '../common/numbers';
import { button } from '../common/parts';
import { isHere, textOf } from './columns';
import { pointsAt } from './near';
import { numberOf, numbersOf, thumbnail } from './cloud';
import { pointName, type Asks, type Part, type Scene } from './scene';

const ROW = 30;
const MOST_COLUMNS = 20;

/** The list of what is selected. */
export class Rows implements Part {
  readonly element: HTMLElement;
  private readonly title = h('h3', {});
  private readonly body = h('div', { class: 'wb-rows-body' });
  private readonly scroller = h(
    'div',
    {
      class: 'wb-rows',
      tabindex: 0,
      role: 'group',
      'aria-label': 'Selected points',
      'data-testid': 'wb-rows'
    },
    this.body
  );
  private readonly tools: HTMLElement;
  private readonly all: HTMLButtonElement;
  private scene: Scene | null = null;

  constructor(private readonly asks: Asks) {
    const isolate = button('isolate', () => this.isolate(), {
      title: 'Show only the selected points (i)',
      'data-testid': 'wb-isolate'
    });
    this.all = button('show all', () => asks.arrange({ hidden: [], ranges: [], isolated: null }), {
      title: 'Show all points again: no filter, nothing isolated (a)',
      'data-testid': 'wb-show-all'
    });
    const clear = button('clear', () => asks.choose([]), {
      title: 'Select nothing (Esc)',
      'data-testid': 'wb-clear'
    });
    const invert = button('invert', () => this.invert(), {
      title: 'Select what is shown and not selected'
    });
    const copy = button('copy CSV', () => this.copy(copy), {
      title: 'Copy the rows of the selected points as CSV',
      'data-testid': 'wb-copy-rows'
    });
    this.tools = h('div', { class: 'wb-line wb-wrap' }, isolate, this.all, clear, invert, copy);
    this.element = h(
      'div',
      { class: 'wb-panel', 'data-testid': 'wb-picked' },
      this.title,
      this.tools,
      this.scroller
    );
    this.scroller.addEventListener('scroll', () => this.write());
  }

  update(scene: Scene): void {
    this.scene = scene;
    const count = scene.selected.length;
    setText(
      this.title,
      count === 0
        ? 'nothing is selected'
        : `${grouped(count)} of ${grouped(scene.cloud.count)} points selected`
    );
    for (const element of this.tools.querySelectorAll('button')) {
      element.disabled = count === 0 && element !== this.all;
    }
    this.all.disabled = scene.shown === null;
    this.scroller.hidden = count === 0;
    this.write();
  }

  private write(): void {
    const { scene } = this;
    if (!scene) {
      return;
    }
    const { selected } = scene;
    this.body.style.height = `${selected.length * ROW}px`;
    const height = this.scroller.clientHeight || 240;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - 2);
    const shown = selected.slice(first, first + Math.ceil(height / ROW) + 4);
    replace(this.body, ...shown.map((point, index) => this.row(scene, point, first + index)));
  }

  private row(scene: Scene, point: number, at: number): HTMLElement {
    const facts = rowOf(scene, point);
    const element = h(
      'button',
      {
        type: 'button',
        class: 'wb-row',
        'data-index': point,
        'data-testid': 'wb-row',
        title: [
          `point ${numberOf(scene.cloud, point)}`,
          ...facts.map(([name, value]) => `${name}: ${value}`)
        ].join('\n')
      },
      thumbnail(scene.cloud, point, 22),
      h('b', {}, pointName(scene, point)),
      h('span', { class: 'wb-quiet' }, facts.map(([name, value]) => `${name} ${value}`).join(' · '))
    );
    element.style.top = `${at * ROW}px`;
    pointsAt(element, point, this.asks);
    return element;
  }

  private isolate(): void {
    if (this.scene && this.scene.selected.length > 0) {
      this.asks.arrange({ isolated: numbersOf(this.scene.cloud, this.scene.selected) });
    }
  }

  private invert(): void {
    const { scene } = this;
    if (scene) {
      const chosen = new Set(scene.selected);
      const others: number[] = [];
      for (let point = 0; point < scene.cloud.count; point++) {
        if (!chosen.has(point) && (scene.shown === null || scene.shown[point] === 1)) {
          others.push(point);
        }
      }
      this.asks.choose(others);
    }
  }

  private copy(told: HTMLButtonElement): void {
    if (this.scene) {
      this.asks.copy(rowsTable(this.scene, this.scene.selected));
      setText(told, 'copied');
      setTimeout(() => setText(told, 'copy CSV'), 1200);
    }
  }
}

/** Names and values of a point's row, without the label that names it already. */
export function rowOf(scene: Scene, point: number): (readonly [string, string])[] {
  return [...scene.columns.values()]
    .filter(column => isHere(column) && column.name !== scene.now.label)
    .slice(0, MOST_COLUMNS)
    .map(column => [column.name, textOf(column, point)] as const)
    .filter(([, value]) => value !== '');
}

/** Rows of points as CSV, with all columns that are here. */
export function rowsTable(scene: Scene, points: readonly number[]): string {
  const columns = [...scene.columns.values()].filter(isHere);
  return csv([
    ['index', ...columns.map(column => column.name)],
    ...points.map(point => [numberOf(scene.cloud, point), ...columns.map(column => textOf(column, point))])
  ]);
}
