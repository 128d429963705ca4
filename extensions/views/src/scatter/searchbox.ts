/** The search of the projector: what is found is counted, walked through and selected. */
import { h, setText } from '../common/dom';
import { grouped } from '../common/numbers';
import { button } from '../common/parts';
import { find } from './finding';
import { pointName, type Asks, type Part, type Scene } from './scene';

/** The field and its buttons. */
export class SearchBox implements Part {
  readonly element: HTMLElement;
  readonly field = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: '/ text, /regex/, column: text, #17',
    'aria-label': 'Search points: text, an expression between slashes, column and text, or # and a number',
    title: 'seven · /^se/ · digit: seven · #17',
    'data-testid': 'wb-search'
  });
  private readonly said = h('span', {
    class: 'wb-quiet wb-said',
    'aria-live': 'polite',
    'data-testid': 'wb-found'
  });
  private readonly problem = h('div', {
    class: 'wb-problem',
    role: 'alert',
    'data-testid': 'wb-search-problem',
    hidden: true
  });
  private readonly steps: readonly HTMLButtonElement[];
  private readonly take = button('select', () => this.select(), {
    title: 'Select all that was found (Enter)',
    'data-testid': 'wb-search-select',
    disabled: true
  });
  private found: readonly number[] = [];
  private at = -1;
  private scene: Scene | null = null;

  constructor(private readonly asks: Asks) {
    const step = (sign: string, by: number, label: string): HTMLButtonElement =>
      button(sign, () => this.walk(by), {
        class: 'wb-button wb-button-plain',
        'aria-label': label,
        title: label,
        disabled: true
      });
    this.steps = [step('‹', -1, 'Previous found point'), step('›', 1, 'Next found point')];
    this.element = h(
      'div',
      { class: 'wb-part wb-finding', role: 'group', 'aria-label': 'Search' },
      h('div', { class: 'wb-line' }, this.field),
      h('div', { class: 'wb-line' }, this.said, ...this.steps, this.take),
      this.problem
    );
    this.field.addEventListener('input', () => this.look());
    this.field.addEventListener('keydown', event => this.key(event));
  }

  update(scene: Scene): void {
    // Other points or columns: what was found of the last ones is looked for anew.
    const other = this.scene?.cloud !== scene.cloud || this.scene.columns !== scene.columns;
    this.scene = scene;
    if (other && this.field.value !== '') {
      this.look();
    }
  }

  /** Forgets what was asked. */
  clear(): void {
    this.field.value = '';
    this.look();
  }

  private look(): void {
    const { scene } = this;
    if (!scene) {
      return;
    }
    const { cloud, state } = scene;
    const { points, problem } = find(this.field.value, [...scene.columns.values()], cloud, state.total);
    // What is filtered away is not found: nobody could see it.
    this.found = scene.shown ? points.filter(point => scene.shown![point] === 1) : points;
    this.at = -1;
    this.problem.hidden = problem === '';
    setText(this.problem, problem);
    this.field.setAttribute('aria-invalid', String(problem !== ''));
    const asked = this.field.value.trim() !== '' && problem === '';
    const away = points.length - this.found.length;
    setText(
      this.said,
      asked ? `${grouped(this.found.length)} found` + (away > 0 ? `, ${grouped(away)} hidden` : '') : ''
    );
    for (const element of [...this.steps, this.take]) {
      element.disabled = this.found.length === 0;
    }
    this.asks.mark(this.found);
  }

  private select(): void {
    if (this.found.length > 0) {
      this.asks.choose(this.found);
    }
  }

  private walk(by: number): void {
    const { scene, found } = this;
    if (!scene || found.length === 0) {
      return;
    }
    this.at = (Math.max(this.at, by > 0 ? -1 : 0) + by + found.length) % found.length;
    const point = found[this.at]!;
    setText(this.said, `${grouped(this.at + 1)} of ${grouped(found.length)}: ${pointName(scene, point)}`);
    this.asks.point(point);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === 'Enter') {
      if (this.at >= 0) {
        this.asks.choose([this.found[this.at]!]);
      } else {
        this.select();
      }
      event.preventDefault();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      this.walk(event.key === 'ArrowDown' ? 1 : -1);
      event.preventDefault();
    } else if (event.key === 'Escape') {
      this.clear();
    }
    // Keys of a field are no shortcuts of the view, nor of the notebook around it.
    event.stopPropagation();
  }
}
