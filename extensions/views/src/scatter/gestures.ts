/** Pointer, wheel and keys on the cloud: turn, shift, zoom, point, pick, and rectangles and lassos. */
import { Listeners } from '../common/dom';
import { clamp } from '../common/scales';
import { zoomAt, type Camera } from './camera';
import type { Joining, Lasso, PixelBox } from './picking';

/** What a drag does: move the picture, or catch points. */
export type Tool = 'move' | 'box' | 'lasso';

/** What gestures ask for. */
export interface GestureEvents {
  camera(): Camera;
  tool(): Tool;
  moveCamera(camera: Camera): void;
  hover(x: number, y: number): void;
  leave(): void;
  pick(x: number, y: number, how: Joining): void;
  area(area: PixelBox | Lasso | null, done: boolean, how: Joining): void;
  closer(): void;
  key(key: string, how: Joining): boolean;
}

type Mode = 'turn' | 'pan' | 'box' | 'lasso';

interface Press {
  readonly x: number;
  readonly y: number;
  lastX: number;
  lastY: number;
  readonly mode: Mode;
  readonly lasso: number[];
  moved: boolean;
}

type Pixel = readonly [number, number];

/** Listens on the field that holds the cloud. */
export class Gestures {
  private readonly listeners = new Listeners();
  private press: Press | null = null;
  /** Fingers that lie on the field. */
  private readonly fingers = new Map<number, Pixel>();

  constructor(
    private readonly field: HTMLElement,
    private readonly events: GestureEvents
  ) {
    this.listeners.on(field, 'pointerdown', event => this.down(event));
    this.listeners.on(field, 'pointermove', event => this.move(event));
    this.listeners.on(field, 'pointerup', event => this.up(event));
    this.listeners.on(field, 'pointercancel', event => this.cancel(event));
    this.listeners.on(field, 'pointerleave', () => events.leave());
    this.listeners.on(field, 'dblclick', () => events.closer());
    // The right button shifts the picture.
    this.listeners.on(field, 'contextmenu', event => event.preventDefault());
    this.listeners.on(field, 'wheel', event => this.wheel(event), { passive: false });
    this.listeners.on(field, 'keydown', event => this.key(event));
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private at(event: MouseEvent): Pixel {
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
    if (event.pointerType === 'touch') {
      this.fingers.set(event.pointerId, [x, y]);
    }
    if (this.fingers.size === 2) {
      // What the first finger began, the two of them do otherwise.
      this.press = null;
      this.events.area(null, false, 'replace');
    } else {
      const mode = this.modeOf(event);
      this.press = { x, y, lastX: x, lastY: y, mode, lasso: [x, y], moved: false };
    }
    // Without this the page would jump to where the field begins.
    this.field.focus({ preventScroll: true });
    this.field.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  private modeOf(event: PointerEvent): Mode {
    if (event.button === 2 || event.ctrlKey || event.metaKey) {
      return 'pan';
    }
    const tool = this.events.tool();
    if (tool !== 'move') {
      return tool;
    }
    // While the picture is moved by dragging, these keys catch points without another tool.
    if (event.shiftKey || event.altKey) {
      return 'box';
    }
    return this.events.camera().flat > 0.5 ? 'pan' : 'turn';
  }

  private move(event: PointerEvent): void {
    const [x, y] = this.at(event);
    const { press } = this;
    if (this.fingers.size === 2) {
      this.pinch(event.pointerId, [x, y]);
      return;
    }
    if (!press) {
      this.events.hover(x, y);
      return;
    }
    // A hand trembles: so much is still a click.
    if (!press.moved && Math.hypot(x - press.x, y - press.y) < 4) {
      return;
    }
    press.moved = true;
    const catching = press.mode === 'box' || press.mode === 'lasso';
    this.field.toggleAttribute(catching ? 'data-box' : 'data-drag', true);
    const camera = this.events.camera();
    const [dx, dy] = [x - press.lastX, y - press.lastY];
    const half = Math.min(this.field.clientWidth, this.field.clientHeight) / 2;
    if (press.mode === 'box') {
      this.events.area(boxOf(press.x, press.y, x, y), false, joining(event));
    } else if (press.mode === 'lasso') {
      if (Math.hypot(x - press.lasso.at(-2)!, y - press.lasso.at(-1)!) >= 2) {
        press.lasso.push(x, y);
        this.events.area(press.lasso, false, joining(event));
      }
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

  /** Two fingers shift by their middle and zoom by their distance. */
  private pinch(finger: number, to: Pixel): void {
    const [width, height] = [this.field.clientWidth, this.field.clientHeight];
    const middle = (): readonly [number, number, number] => {
      const [a, b] = [...this.fingers.values()] as [Pixel, Pixel];
      return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, Math.max(10, Math.hypot(a[0] - b[0], a[1] - b[1]))];
    };
    const [x, y, apart] = middle();
    this.fingers.set(finger, to);
    const [toX, toY, now] = middle();
    const half = Math.min(width, height) / 2;
    const camera = zoomAt(this.events.camera(), now / apart, x, y, width, height);
    this.events.moveCamera({
      ...camera,
      panX: camera.panX + (toX - x) / half,
      panY: camera.panY - (toY - y) / half
    });
  }

  private up(event: PointerEvent): void {
    const { press } = this;
    this.end(event);
    if (!press) {
      return;
    }
    const [x, y] = this.at(event);
    const how = joining(event);
    if (press.moved && press.mode === 'box') {
      this.events.area(boxOf(press.x, press.y, x, y), true, how);
    } else if (press.moved && press.mode === 'lasso') {
      this.events.area(press.lasso, true, how);
    } else if (!press.moved && event.button === 0) {
      this.events.pick(x, y, event.metaKey || event.ctrlKey ? 'add' : how);
    }
  }

  private cancel(event: PointerEvent): void {
    this.end(event);
    this.events.area(null, false, 'replace');
  }

  private end(event: PointerEvent): void {
    this.press = null;
    this.fingers.delete(event.pointerId);
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
    if (event.ctrlKey || event.metaKey || this.moveByKey(event)) {
      return;
    }
    // By the place of the key: with Alt some keyboards write another letter.
    const letter = /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : event.key;
    if ((event.altKey && letter !== 'v') || !this.events.key(letter, joining(event))) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Turns, shifts or zooms by a key that does so. */
  private moveByKey(event: KeyboardEvent): boolean {
    const camera = this.events.camera();
    const [width, height] = [this.field.clientWidth, this.field.clientHeight];
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const zoom = { '+': 1.25, '=': 1.25, '-': 1 / 1.25 }[event.key];
    if (event.altKey || (!arrow && zoom === undefined)) {
      return false;
    }
    if (zoom !== undefined) {
      this.events.moveCamera(zoomAt(camera, zoom, width / 2, height / 2, width, height));
    } else if (camera.flat > 0.5 || event.shiftKey) {
      this.events.moveCamera({
        ...camera,
        panX: camera.panX - arrow![0]! * 0.08,
        panY: camera.panY - arrow![1]! * 0.08
      });
    } else {
      this.events.moveCamera({
        ...camera,
        yaw: camera.yaw + arrow![0]! * 0.1,
        pitch: clamp(camera.pitch - arrow![1]! * 0.1, -1.55, 1.55)
      });
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}

/** Shift takes points up beside those that are selected, Alt lets them go. */
function joining(event: { readonly shiftKey: boolean; readonly altKey: boolean }): Joining {
  return event.altKey ? 'subtract' : event.shiftKey ? 'add' : 'replace';
}

function boxOf(x: number, y: number, toX: number, toY: number): PixelBox {
  return { left: Math.min(x, toX), top: Math.min(y, toY), right: Math.max(x, toX), bottom: Math.max(y, toY) };
}
