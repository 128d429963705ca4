/** The right side: search, the legend, and below it the neighbours, the selection or the filters. */
import { h } from '../common/dom';
import { Segments } from '../common/parts';
import { Histograms } from './histograms';
import { Legend } from './legend';
import { Near } from './near';
import { Rows } from './rows';
import { SearchBox } from './searchbox';
import type { Asks, Part, Scene } from './scene';

type Tab = 'near' | 'rows' | 'filters';

/** The side. */
export class Side implements Part {
  readonly element: HTMLElement;
  readonly search: SearchBox;
  private readonly legend: Legend;
  private readonly panels: Readonly<Record<Tab, Part>>;
  private readonly tabs: Segments<Tab>;
  private scene: Scene | null = null;

  constructor(asks: Asks) {
    this.search = new SearchBox(asks);
    this.legend = new Legend(asks);
    this.panels = { near: new Near(asks), rows: new Rows(asks), filters: new Histograms(asks) };
    this.tabs = new Segments<Tab>(
      'What is listed',
      [
        ['near', 'neighbours'],
        ['rows', 'selection'],
        ['filters', 'filters']
      ],
      'near',
      () => this.show(),
      'wb-side-tab'
    );
    this.element = h(
      'div',
      { class: 'wb-side', role: 'group', 'aria-label': 'Search, labels, neighbours, selection and filters' },
      this.search.element,
      this.legend.element,
      h('div', { class: 'wb-line' }, this.tabs.element),
      ...Object.values(this.panels).map(panel => panel.element)
    );
    this.show();
  }

  update(scene: Scene): void {
    this.scene = scene;
    this.search.update(scene);
    this.legend.update(scene);
    this.panels[this.tabs.value].update(scene);
  }

  private show(): void {
    for (const [name, panel] of Object.entries(this.panels)) {
      panel.element.hidden = name !== this.tabs.value;
    }
    if (this.scene) {
      this.panels[this.tabs.value].update(this.scene);
    }
  }
}
