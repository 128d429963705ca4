/** What points are named and coloured by, and the legend that filters. */
import { categoryColour } from '../common/colours';
import { h, replace, s, setText } from '../common/dom';
import { grouped } from '../common/numbers';
import { button } from '../common/parts';
import { gradient } from '../common/raster';
import { hiddenOf, rangeOf, withHidden, withRange } from './arrangement';
import { Brush } from './brush';
import type { Category, Column, Numeric } from './columns';
import type { Asks, Part, Scene } from './scene';
import { categoryShape, shapePath } from './shapes';
import { hides } from './values';

/** With more the legend would be the view; the histogram of the column lists the others. */
const MOST_LISTED = 500;

/** The menus and the legend. */
export class Legend implements Part {
  readonly element: HTMLElement;
  private readonly label = menu('label by', 'wb-label-by');
  private readonly colour = menu('colour by', 'wb-colour-by');
  private readonly all = button('show all', () => this.showAll(), {
    'data-testid': 'wb-legend-all',
    hidden: true
  });
  private readonly note = h('p', { class: 'wb-quiet wb-note', hidden: true });
  private readonly list = h('div', { class: 'wb-legend', role: 'group', 'data-testid': 'wb-legend' });
  private readonly strip = h('div', { 'data-testid': 'wb-legend-range' });
  private scene: Scene | null = null;
  private key = '';
  private brush: Brush | null = null;

  constructor(private readonly asks: Asks) {
    this.element = h(
      'div',
      { class: 'wb-part' },
      h('div', { class: 'wb-named-by' }, this.label.element, this.colour.element),
      this.note,
      this.list,
      this.strip,
      h('div', { class: 'wb-line' }, this.all)
    );
    this.label.input.addEventListener('change', () => asks.arrange({ label: this.label.input.value }));
    this.colour.input.addEventListener('change', () => this.choose(this.colour.input.value));
  }

  update(scene: Scene): void {
    this.scene = scene;
    const columns = [...scene.columns.values()];
    this.label.offer(
      columns.filter(column => column.kind !== 'offered' && column.kind !== 'away'),
      scene.now.label
    );
    // Texts have no colours; what can be computed is offered where there is somebody who computes.
    this.colour.offer(
      columns.filter(
        column => column.kind === 'category' || column.kind === 'number' || column.kind === 'offered'
      ),
      scene.now.colour
    );
    const column = scene.columns.get(scene.now.colour);
    this.note.hidden = !column?.note;
    setText(this.note, column?.note ?? '');
    this.list.hidden = column?.kind !== 'category';
    this.strip.hidden = column?.kind !== 'number';
    if (column?.kind === 'category') {
      this.writeList(scene, column);
    } else if (column?.kind === 'number') {
      this.writeStrip(scene, column);
    } else {
      this.all.hidden = true;
      this.key = '';
    }
  }

  private choose(name: string): void {
    const column = this.scene?.columns.get(name);
    if (column?.kind === 'offered') {
      void this.asks.send({ type: 'compute_column', name });
    }
    this.asks.arrange({ colour: name });
  }

  private showAll(): void {
    const { scene } = this;
    if (scene) {
      const name = scene.now.colour;
      this.asks.arrange({
        hidden: withHidden(scene.now, name, []).hidden,
        ranges: withRange(scene.now, name, null).ranges
      });
    }
  }

  private writeList(scene: Scene, column: Category): void {
    const { dark } = scene;
    const hidden = new Set(hiddenOf(scene.now, column.name));
    const key = JSON.stringify([column.name, column.values, column.sizes, dark]);
    if (key !== this.key) {
      this.key = key;
      this.list.setAttribute('aria-label', `${column.name}: press a value to hide or show its points`);
      const rest = column.values.length - MOST_LISTED;
      replace(
        this.list,
        ...column.values.slice(0, MOST_LISTED).map((value, index) => this.entry(column, value, index, dark)),
        rest > 0 ? h('span', { class: 'wb-quiet' }, `and ${grouped(rest)} more`) : null
      );
    }
    for (const element of this.list.querySelectorAll<HTMLElement>('[data-label]')) {
      element.setAttribute('aria-pressed', String(!hidden.has(element.dataset['label']!)));
    }
    this.all.hidden = hidden.size === 0;
  }

  private entry(column: Category, value: string, index: number, dark: boolean): HTMLElement {
    const element = h('button', {
      type: 'button',
      class: 'wb-button',
      'data-label': value,
      title: `${value}: ${grouped(column.sizes[index] ?? 0)} points. Click hides or shows them; double click, or Shift and Enter, shows these alone.`
    });
    hides(element, column, value, () => this.scene?.now, this.asks);
    element.style.setProperty('--wb-mark', categoryColour(index, dark));
    replace(
      element,
      s('svg', { viewBox: '0 0 12 12' }, s('path', { d: shapePath(categoryShape(index), 6, 6, 4.5) })),
      h('span', {}, value === '' ? '(empty)' : value),
      h('em', {}, grouped(column.sizes[index] ?? 0))
    );
    return element;
  }

  private writeStrip(scene: Scene, column: Numeric): void {
    const key = JSON.stringify(['range', column.name]);
    if (key !== this.key || !this.brush) {
      this.key = key;
      const background = h('div', { class: 'wb-gradient' });
      background.style.background = gradient('viridis', 'to right', false, [255, 255, 255]);
      this.brush = new Brush(column.name, background, (range, done) => {
        if (this.scene) {
          const { ranges } = withRange(this.scene.now, column.name, range);
          this.asks.arrange({ ranges }, done ? '' : `range ${column.name}`);
        }
      });
      replace(this.strip, this.brush.element);
    }
    const range = rangeOf(scene.now, column.name);
    this.brush.update(column.low, column.high, range);
    this.all.hidden = range === null;
  }
}

/** A menu of columns; the first entry stands for none. */
function menu(
  label: string,
  testid: string
): {
  readonly element: HTMLElement;
  readonly input: HTMLSelectElement;
  offer(columns: readonly Column[], chosen: string): void;
} {
  const input = h('select', { class: 'wb-select', 'aria-label': label, 'data-testid': testid });
  let key = '';
  return {
    element: h('label', { class: 'wb-field' }, h('span', {}, label), input),
    input,
    offer: (columns, chosen) => {
      const next = JSON.stringify(columns.map(column => [column.name, column.kind]));
      if (next !== key) {
        key = next;
        replace(
          input,
          h('option', { value: '' }, 'nothing'),
          ...columns.map(({ name, kind }) =>
            h('option', { value: name }, kind === 'offered' ? `${name} (compute)` : name)
          )
        );
      }
      input.value = chosen;
    }
  };
}
