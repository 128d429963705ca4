/** Projections that belong together, an epoch or a layer each, played one after another. */
import { h, setAttributes, setText } from '../common/dom';
import { button } from '../common/parts';
import type { Asks, Part, Scene } from './scene';

/** Milliseconds that a frame stays. */
const PACE = 450;

/** The player. */
export class Frames implements Part {
  readonly element: HTMLElement;
  private readonly slider = h('input', {
    type: 'range',
    class: 'wb-range',
    min: 0,
    step: 1,
    'aria-label': 'Frame',
    'data-testid': 'wb-frame'
  });
  private readonly said = h('span', { class: 'wb-quiet', 'data-testid': 'wb-frame-name' });
  private readonly play = button('▶ play', () => this.toggle(), {
    'aria-pressed': 'false',
    'data-testid': 'wb-play'
  });
  private readonly menu = h('select', {
    class: 'wb-select',
    'aria-label': 'Projection that is shown',
    'data-testid': 'wb-projection'
  });
  private readonly player: HTMLElement;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private scene: Scene | null = null;
  private menuKey = '';

  constructor(private readonly asks: Asks) {
    this.player = h(
      'div',
      { class: 'wb-player' },
      h('div', { class: 'wb-line' }, this.play, this.slider),
      this.said
    );
    this.element = h(
      'div',
      { class: 'wb-part' },
      h('label', { class: 'wb-field' }, h('span', {}, 'shown'), this.menu),
      this.player
    );
    this.slider.addEventListener('input', () => {
      this.stop();
      this.go(Number(this.slider.value), 'frame');
    });
    this.menu.addEventListener('change', () => asks.arrange({ projection: this.menu.value }));
  }

  update(scene: Scene): void {
    this.scene = scene;
    const { projections, frames } = scene.state;
    const shown = scene.now.projection;
    const key = JSON.stringify(projections);
    if (key !== this.menuKey) {
      this.menuKey = key;
      this.menu.replaceChildren(...projections.map(name => h('option', { value: name }, name)));
    }
    this.menu.value = shown;
    this.element.hidden = projections.length < 2;
    this.player.hidden = frames.length < 2;
    const at = frames.indexOf(shown);
    setAttributes(this.slider, { max: Math.max(0, frames.length - 1), 'aria-valuetext': shown });
    this.slider.value = String(Math.max(0, at));
    setText(this.said, frames.length > 1 ? `${at + 1} of ${frames.length}: ${shown}` : '');
  }

  /** A frame on or back, by key. */
  step(by: number): boolean {
    const { scene } = this;
    if (!scene || scene.state.frames.length < 2) {
      return false;
    }
    const { frames } = scene.state;
    const at = frames.indexOf(scene.now.projection);
    this.go((at + by + frames.length) % frames.length, 'frame');
    return true;
  }

  /** Plays, or stops. */
  toggle(): boolean {
    if (this.timer === undefined) {
      if ((this.scene?.state.frames.length ?? 0) < 2) {
        return false;
      }
      this.play.setAttribute('aria-pressed', 'true');
      setText(this.play, '■ stop');
      this.next();
    } else {
      this.stop();
    }
    return true;
  }

  /** Stops. */
  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.play.setAttribute('aria-pressed', 'false');
    setText(this.play, '▶ play');
  }

  private readonly next = (): void => {
    this.timer = setTimeout(() => {
      // A frame that has not come yet is waited for: none is left out.
      const { scene } = this;
      if (scene && scene.state.projection === scene.now.projection) {
        this.step(1);
      }
      this.next();
    }, PACE);
  };

  private go(index: number, kind: string): void {
    const name = this.scene?.state.frames[index];
    if (name !== undefined) {
      this.asks.arrange({ projection: name }, kind);
    }
  }
}
