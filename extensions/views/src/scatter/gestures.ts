/** Pointer, wheel and keys on the cloud: turn, shift, zoom, point, pick, and a rectangle. */
import { Listeners } from '../common/dom';
import { clamp } from '../common/scales';
import { zoomAt, type Camera } from './camera';

/** A rectangle of pixels. */
export interface PixelBox {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** What gestures ask for. */
export interface GestureEvents {
  camera(): Camera;
  moveCamera(camera: Camera): void;
  hover(x: number, y: number): void;
  leave(): void;
  pick(x: number, y: number, add: boolean): void;
  box(box: PixelBox | null, done: boolean, add: boolean): void;
  key(key: string): boolean;
}

/** Listens on the field that holds the cloud. */
export class Gestures {
  private readonly listeners = new Listeners();
  private press: {
    readonly x: number;
    readonly y: number;
    lastX: number;
    lastY: number;
    readonly mode: 'turn' | 'pan' | 'box';
    moved: boolean;
  } | null = null;

  constructor(
    private readonly field: HTMLElement,
    private readonly events: GestureEvents
  ) {
    this.listeners.on(field, 'pointerdown', event => this.down(event));
    this.listeners.on(field, 'pointermove', event => this.move(event));
    this.listeners.on(field, 'pointerup', event => this.up(event));
    this.listeners.on(field, 'pointercancel', event => this.cancel(event));
    this.listeners.on(field, 'pointerleave', () => events.leave());
    // The right button shifts the picture.
    this.listeners.on(field, 'contextmenu', event => event.preventDefault());
    this.listeners.on(field, 'wheel', event => this.wheel(event), { passive: false });
    this.listeners.on(field, 'keydown', event => this.key(event));
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private at(event: MouseEvent): readonly [number, number] {
    const box = this.field.getBoundingClientRect();
    // Inside of the border, where the canvas begins.
    return [event.clientX - box.left - this.field.clientLeft, event.clientY - box.top - this.field.clientTop];
  }

  private down(event: PointerEvent): void {
    // The middle button belongs to the browser, and so do those that go back and forth.
    if (event.button > 2 || event.button === 1) {
      return;
    }
    const [x, y] = this.at(event);
    const flat = this.events.camera().flat > 0.5;
    const mode =
      event.shiftKey && event.button === 0
        ? 'box'
        : event.button === 2 || event.ctrlKey || flat
          ? 'pan'
          : 'turn';
    this.press = { x, y, lastX: x, lastY: y, mode, moved: false };
    // Without this the page would jump to where the field begins.
    this.field.focus({ preventScroll: true });
    this.field.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  private move(event: PointerEvent): void {
    const [x, y] = this.at(event);
    const { press } = this;
    if (!press) {
      this.events.hover(x, y);
      return;
    }
    // A hand trembles: so much is still a click.
    if (!press.moved && Math.hypot(x - press.x, y - press.y) < 4) {
      return;
    }
    press.moved = true;
    this.field.toggleAttribute(press.mode === 'box' ? 'data-box' : 'data-drag', true);
    const camera = this.events.camera();
    const [dx, dy] = [x - press.lastX, y - press.lastY];
    const half = Math.min(this.field.clientWidth, this.field.clientHeight) / 2;
    if (press.mode === 'box') {
      this.events.box(boxOf(press.x, press.y, x, y), false, false);
    } else if (press.mode === 'pan') {
      this.events.moveCamera({ ...camera, panX: camera.panX + dx / half, panY: camera.panY - dy / half });
    } else {
      this.events.moveCamera({
        ...camera,
        yaw: camera.yaw + dx * 0.008,
        // Not quite to the pole: beyond it the picture would stand on its head.
        pitch: clamp(camera.pitch + dy * 0.008, -1.55, 1.55)
      });
    }
    press.lastX = x;
    press.lastY = y;
  }

  private up(event: PointerEvent): void {
    const { press } = this;
    this.end(event);
    if (!press) {
      return;
    }
    const [x, y] = this.at(event);
    if (press.mode === 'box' && press.moved) {
      this.events.box(boxOf(press.x, press.y, x, y), true, event.ctrlKey || event.metaKey);
    } else if (!press.moved && event.button === 0) {
      this.events.pick(x, y, event.shiftKey || event.metaKey);
    }
  }

  private cancel(event: PointerEvent): void {
    this.end(event);
    this.events.box(null, false, false);
  }

  private end(event: PointerEvent): void {
    this.press = null;
    this.field.removeAttribute('data-drag');
    this.field.removeAttribute('data-box');
    if (this.field.hasPointerCapture(event.pointerId)) {
      this.field.releasePointerCapture(event.pointerId);
    }
  }

  private wheel(event: WheelEvent): void {
    // A page must scroll past a cloud that nobody is using.
    if (!(event.ctrlKey || event.metaKey || this.field.contains(document.activeElement))) {
      return;
    }
    event.preventDefault();
    const [x, y] = this.at(event);
    // Firefox counts lines where others count pixels.
    const lines = event.deltaMode === 1 ? 16 : 1;
    const factor = Math.exp(-clamp(event.deltaY * lines, -120, 120) * 0.004);
    this.events.moveCamera(
      zoomAt(this.events.camera(), factor, x, y, this.field.clientWidth, this.field.clientHeight)
    );
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const camera = this.events.camera();
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const middle = [this.field.clientWidth / 2, this.field.clientHeight / 2] as const;
    const zoom = (factor: number): void =>
      this.events.moveCamera(
        zoomAt(camera, factor, ...middle, this.field.clientWidth, this.field.clientHeight)
      );
    if (arrow && (camera.flat > 0.5 || event.shiftKey)) {
      this.events.moveCamera({
        ...camera,
        panX: camera.panX - arrow[0]! * 0.08,
        panY: camera.panY - arrow[1]! * 0.08
      });
    } else if (arrow) {
      this.events.moveCamera({
        ...camera,
        yaw: camera.yaw + arrow[0]! * 0.1,
        pitch: clamp(camera.pitch - arrow[1]! * 0.1, -1.55, 1.55)
      });
    } else if (event.key === '+' || event.key === '=') {
      zoom(1.25);
    } else if (event.key === '-') {
      zoom(1 / 1.25);
    } else if (!this.events.key(event.key)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

function boxOf(x: number, y: number, toX: number, toY: number): PixelBox {
  return { left: Math.min(x, toX), top: Math.min(y, toY), right: Math.max(x, toX), bottom: Math.max(y, toY) };
}
