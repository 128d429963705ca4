/** The left rail: how points are projected, what is shown of it, what it is compared with, and what was kept. */
import { h } from '../common/dom';
import { Bookmarks } from './bookmarks';
import { Comparison } from './comparison';
import { Frames } from './frames';
import { Method } from './method';
import type { Asks, Part, Scene } from './scene';

/** The rail. */
export class Rail implements Part {
  readonly element: HTMLElement;
  readonly frames: Frames;
  private readonly parts: readonly Part[];

  constructor(asks: Asks) {
    this.frames = new Frames(asks);
    this.parts = [new Method(asks), this.frames, new Comparison(asks), new Bookmarks(asks)];
    this.element = h(
      'div',
      { class: 'wb-rail', role: 'group', 'aria-label': 'Projection and bookmarks', 'data-testid': 'wb-rail' },
      ...this.parts.map(part => part.element)
    );
  }

  update(scene: Scene): void {
    // A page without a kernel has nobody who projects.
    this.element.classList.toggle('wb-alone', scene.alone);
    this.parts.forEach(part => part.update(scene));
  }
}
