/** The charts and ridges of a page: each stays while what it shows does, so that neither focus nor place is lost. */
import { h, replace } from '../common/dom';
import { Chart, type ChartHost } from '../training/chart';
import type { ChartData } from '../training/series';
import { Sight } from '../training/sight';
import { RidgeCard, type Ridges } from './ridges';

interface Card {
  readonly tag: string;
  readonly element: HTMLElement;
}

/** Holds the cards; those of one folder stand together. */
export class Cards {
  readonly element = h('div', { class: 'wb-charts' });
  private readonly sight: Sight;
  private readonly charts = new Map<string, Chart>();
  private readonly ridges = new Map<string, RidgeCard>();

  constructor(
    private readonly host: ChartHost,
    private readonly say: (words: string) => void,
    appeared: () => void
  ) {
    this.sight = new Sight(appeared);
  }

  /** Shows these, and nothing else. */
  place(data: readonly ChartData[], distributions: readonly Ridges[]): void {
    const cards = [
      ...data.map(one => ({ tag: one.key, element: this.accepted(one).element })),
      ...distributions.map(one => ({ tag: one.distribution.tag, element: this.ridge(one).element }))
    ];
    this.forget(this.charts, new Set(data.map(one => one.key)));
    this.forget(this.ridges, new Set(distributions.map(keyOf)));
    this.fill(cards);
    this.element.hidden = cards.length === 0;
  }

  /** The chart of these curves, which it has taken. */
  accepted(data: ChartData): Chart {
    const chart = this.kept(this.charts, data.key, () => new Chart(data.key, this.host));
    chart.accept(data);
    return chart;
  }

  /** The card of these ridges. */
  ridge(ridges: Ridges): RidgeCard {
    const key = keyOf(ridges);
    return this.kept(this.ridges, key, () => new RidgeCard(key, this.say));
  }

  /** The chart of that name. */
  chart(key: string): Chart | undefined {
    return this.charts.get(key);
  }

  /** Whether a card can be seen, as far as is known. */
  sees(card: { readonly element: HTMLElement }): boolean {
    return this.sight.sees(card.element);
  }

  /** Puts the cursor of the charts that can be seen where each is told. */
  cursor(at: (chart: Chart) => number | null): void {
    this.charts.forEach(chart => this.sees(chart) && chart.show(at(chart)));
  }

  /** Lets go. */
  destroy(): void {
    this.forget(this.charts, new Set());
    this.forget(this.ridges, new Set());
    this.sight.destroy();
  }

  private kept<C extends Chart | RidgeCard>(cards: Map<string, C>, key: string, make: () => C): C {
    let card = cards.get(key);
    if (!card) {
      card = make();
      cards.set(key, card);
      this.sight.follow(card.element);
    }
    return card;
  }

  private forget(cards: Map<string, Chart> | Map<string, RidgeCard>, wanted: ReadonlySet<string>): void {
    for (const [key, card] of cards) {
      if (!wanted.has(key)) {
        card.destroy();
        this.sight.forget(card.element);
        cards.delete(key);
      }
    }
  }

  private fill(cards: readonly Card[]): void {
    const grid = this.element;
    const folders = cards.map(({ tag }) => (tag.includes('/') ? tag.slice(0, tag.lastIndexOf('/')) : ''));
    const several = new Set(folders).size > 1;
    const key = JSON.stringify([several, folders]);
    const kept = key === grid.dataset['key'] ? [...grid.querySelectorAll('.wb-runs-group')] : [];
    let heading = 0;
    const children = cards.flatMap(({ element }, index) => {
      if (!several || (index > 0 && folders[index - 1] === folders[index])) {
        return [element];
      }
      const words = folders[index] === '' ? 'without a folder' : folders[index]!;
      return [
        (kept[heading++] as HTMLElement | undefined) ?? h('h3', { class: 'wb-runs-group' }, words),
        element
      ];
    });
    grid.dataset['key'] = key;
    const same =
      children.length === grid.children.length && children.every((one, at) => grid.children[at] === one);
    if (!same) {
      replace(grid, ...children);
    }
  }
}

function keyOf({ distribution: { tag, run } }: Ridges): string {
  return `${run} ${tag}`;
}
