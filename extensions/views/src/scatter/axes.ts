/** Custom axes: each runs from one set of points to another, named by words or taken from the selection. */
import type { ScatterAxis, ScatterEnd } from '../protocol';
import { h } from '../common/dom';
import { grouped } from '../common/numbers';
import { button } from '../common/parts';
import { numbersOf } from './cloud';
import type { Scene } from './scene';

const NAMES = ['x', 'y', 'z'];

/** Fields for the ends of up to three axes. */
export class AxesForm {
  readonly element: HTMLElement;
  private readonly ends: readonly (readonly [EndField, EndField])[];
  private scene: Scene | null = null;

  constructor() {
    const selected = (): readonly number[] =>
      this.scene ? numbersOf(this.scene.cloud, this.scene.selected) : [];
    this.ends = NAMES.map(
      name => [new EndField(`${name} from`, selected), new EndField(`${name} to`, selected)] as const
    );
    this.element = h(
      'div',
      { class: 'wb-axes', hidden: true },
      ...this.ends.flatMap(([from, to]) => [from.element, to.element])
    );
  }

  update(scene: Scene): void {
    this.scene = scene;
    this.ends.flat().forEach(end => end.update(scene));
  }

  /** The first axes that have something in both ends, at most `dims`. */
  axes(dims: number): ScatterAxis[] {
    return this.ends
      .slice(0, dims)
      .map(([start, end]) => ({ start: start.value, end: end.value }))
      .filter(({ start, end }) => !isEmpty(start) || !isEmpty(end));
  }
}

function isEmpty(end: ScatterEnd): boolean {
  return end.words === '' && end.points.length === 0;
}

/** One end: words in a field, or the selection in its place. */
class EndField {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly take: HTMLButtonElement;
  private points: readonly number[] = [];

  constructor(label: string, selected: () => readonly number[]) {
    this.input = h('input', {
      type: 'text',
      class: 'wb-input',
      placeholder: 'words, or',
      'aria-label': `${label}: names of points, parted by commas`,
      'data-testid': `wb-axis-${label.replace(' ', '-')}`
    });
    this.take = button('selection', () => this.set(selected()), {
      'aria-label': `${label}: take the selected points`,
      title: 'The middle of the selected points'
    });
    this.element = h(
      'div',
      { class: 'wb-line' },
      h('span', { class: 'wb-quiet' }, label),
      this.input,
      this.take
    );
    this.input.addEventListener('input', () => (this.points = []));
    this.input.addEventListener('keydown', event => event.stopPropagation());
  }

  update(scene: Scene): void {
    this.take.disabled = scene.selected.length === 0;
  }

  get value(): ScatterEnd {
    return this.points.length > 0
      ? { words: '', points: [...this.points] }
      : { words: this.input.value.trim(), points: [] };
  }

  private set(points: readonly number[]): void {
    this.points = points;
    this.input.value = points.length === 1 ? `point ${points[0]}` : `${grouped(points.length)} points`;
  }
}
