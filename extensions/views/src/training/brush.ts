/** Marking a part of the steps by dragging across a chart. */
import { Listeners, s, setAttributes } from '../common/dom';
import { clamp } from '../common/scales';
import { BOTTOM, type Field } from './marks';
import type { Steps } from './window';

/** Less than this many pixels is a click with an unsteady hand. */
const LEAST = 5;

/** What a brush asks, and whom it tells. */
interface BrushHost {
  /** The step at a pixel of the picture. */
  step(across: number): number;
  done(part: Steps): void;
}

/** The band that is drawn while a person drags. */
export class Brush {
  readonly element = s('rect', { class: 'wb-chart-brush', 'pointer-events': 'none', visibility: 'hidden' });
  private readonly listeners = new Listeners();
  private start: number | null = null;
  private end = 0;
  private field: Field | null = null;

  constructor(
    private readonly svg: SVGSVGElement,
    private readonly host: BrushHost
  ) {
    this.listeners.on(svg, 'pointerdown', event => {
      if (event.button === 0) {
        this.start = this.end = this.inside(event);
        svg.setPointerCapture(event.pointerId);
      }
    });
    this.listeners.on(svg, 'pointermove', event => {
      if (this.start !== null) {
        this.end = this.inside(event);
        this.draw();
      }
    });
    this.listeners.on(svg, 'pointerup', () => this.finish());
    this.listeners.on(svg, 'pointercancel', () => this.cancel());
  }

  /** Follows a chart that was drawn anew. */
  fit(field: Field): void {
    this.field = field;
    this.draw();
  }

  /** Lets go of what is being marked; returns whether there was something. */
  cancel(): boolean {
    const busy = this.start !== null;
    this.start = null;
    this.draw();
    return busy;
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private inside(event: PointerEvent): number {
    const across = event.clientX - this.svg.getBoundingClientRect().left;
    return this.field ? clamp(across, this.field.x.from, this.field.x.to) : across;
  }

  private finish(): void {
    const { start, end } = this;
    this.cancel();
    if (start !== null && Math.abs(end - start) >= LEAST) {
      const [low, high] = [Math.min(start, end), Math.max(start, end)];
      this.host.done({ low: this.host.step(low), high: this.host.step(high) });
    }
  }

  private draw(): void {
    const { start, end, field } = this;
    const wide = start === null ? 0 : Math.abs(end - start);
    if (!field || start === null || wide < LEAST) {
      this.element.setAttribute('visibility', 'hidden');
      return;
    }
    const box = {
      x: Math.min(start, end),
      y: field.top,
      width: wide,
      height: field.height - BOTTOM - field.top
    };
    setAttributes(this.element, { ...box, visibility: 'visible' });
  }
}
