/** The tools in the corner of the cloud: what a drag does, and whether points are drawn as density. */
import { h, setText } from '../common/dom';
import { Segments } from '../common/parts';
import type { Cloud } from './cloud';
import type { Tool } from './gestures';
import type { Manner } from './stage';

/** Fewer points are never drawn as density, and need no choice. */
const FEW = 2_000;

/** Tool and manner. */
export class Tools {
  readonly element: HTMLElement;
  private readonly tools: Segments<Tool>;
  private readonly manners: Segments<Manner>;
  private readonly words = h('span', { class: 'wb-quiet', 'data-testid': 'wb-drawn-as' });

  constructor(redraw: () => void) {
    this.tools = new Segments<Tool>(
      'Dragging',
      [
        ['move', 'move'],
        ['box', 'box'],
        ['lasso', 'lasso']
      ],
      'move',
      () => undefined,
      'wb-tool'
    );
    this.manners = new Segments<Manner>(
      'Draw the crowd as',
      [
        ['auto', 'auto'],
        ['points', 'points'],
        ['density', 'density']
      ],
      'auto',
      redraw,
      'wb-manner'
    );
    this.element = h('div', { class: 'wb-tools' }, this.tools.element, this.manners.element, this.words);
  }

  /** What a drag does. */
  get tool(): Tool {
    return this.tools.value;
  }

  /** How many points are drawn. */
  get manner(): Manner {
    return this.manners.value;
  }

  /** Takes another tool. */
  take(tool: Tool): void {
    this.tools.set(tool);
  }

  /** Goes on to the next manner. */
  turn(): void {
    this.manners.set({ auto: 'points', points: 'density', density: 'auto' }[this.manner] as Manner);
  }

  /** Offers what a cloud allows. */
  offer(cloud: Cloud): void {
    this.manners.element.style.display = cloud.count > FEW && cloud.weights === null ? '' : 'none';
  }

  /** Says how the picture was drawn, where it is not drawn as points. */
  say(drawnAs: 'points' | 'density'): void {
    setText(this.words, drawnAs === 'density' ? 'the denser, the stronger the colour' : '');
  }
}
