/** Panning and zooming: by pointer, wheel and keys, and the small map. */
import { h, Listeners, s } from '../common/dom';
import { clamp } from '../common/scales';
import type { Box, GraphLayout } from './layout';
import type { Camera } from './scene';

const LEAST = 0.02;
const MOST = 2.5;
/** So many pixels of a box make it one that is seen. */
const ENOUGH = 12;
/** Pixels between a picture that is too wide and the edge of the window. */
const EDGE = 8;
/** So many places are tried for a picture that is too wide. */
const SHIFTS = 12;
/** Pixels around a picture that fits. */
export const MARGIN = 20;
/** At a smaller scale the words on nodes cannot be read. */
const READABLE = 0.8;

/** The camera that shows the whole picture, or its top at a size that can be read if the whole would be too small. */
export function fitCamera(
  layout: { readonly width: number; readonly height: number; readonly boxes?: GraphLayout['boxes'] },
  width: number,
  height: number,
  whole: boolean
): Camera {
  const across = (width - 2 * MARGIN) / Math.max(1, layout.width);
  const down = (height - 2 * MARGIN) / Math.max(1, layout.height);
  const scale = clamp(
    whole
      ? Math.min(across, down)
      : Math.max(Math.min(across, down), Math.min(1, Math.max(across, READABLE))),
    LEAST,
    1.15
  );
  const fits = layout.height * scale <= height - MARGIN;
  const middle = (width - layout.width * scale) / 2;
  return {
    scale,
    x: middle >= 0 ? middle : beginning(layout, width, height, scale),
    y: fits ? (height - layout.height * scale) / 2 : MARGIN
  };
}

/**
 * Where a picture that is wider than the window is put: its topmost box is to be seen, with as many others as there can
 * be, and else in the middle; nothing is empty at a side.
 */
function beginning(
  layout: { readonly width: number; readonly boxes?: GraphLayout['boxes'] },
  width: number,
  height: number,
  scale: number
): number {
  const boxes = [...(layout.boxes?.values() ?? [])].filter(
    box => !(box.item.kind === 'scope' && box.item.open)
  );
  const place = (x: number): number => clamp(x, width - EDGE - layout.width * scale, EDGE);
  let top: Box | null = null;
  for (const box of boxes) {
    top = top === null || box.y < top.y ? box : top;
  }
  if (top === null) {
    return place((width - layout.width * scale) / 2);
  }
  const left = top.x * scale;
  const centred = place(width / 2 - left - (top.width * scale) / 2);
  const seen = boxes.filter(box => (box.y + box.height) * scale + MARGIN <= height);
  const count = (x: number): number =>
    seen.filter(box => box.x * scale + x >= 0 && (box.x + box.width) * scale + x <= width).length;
  let [best, most] = [centred, count(centred)];
  for (let step = 0; step <= SHIFTS; step++) {
    const x = place(MARGIN - left + ((width - 2 * MARGIN - top.width * scale) * step) / SHIFTS);
    const found = count(x);
    // Of two that show as much, that which is nearer to the middle.
    if (found > most || (found === most && Math.abs(x - centred) < Math.abs(best - centred))) {
      [best, most] = [x, found];
    }
  }
  return best;
}

/** The camera that shows the same middle in a window of another size; the whole graph if nothing would be seen there. */
export function keptCamera(
  layout: GraphLayout,
  camera: Camera,
  before: { readonly width: number; readonly height: number },
  now: { readonly width: number; readonly height: number }
): Camera {
  const x = camera.x + (now.width - before.width) / 2;
  const y = camera.y + (now.height - before.height) / 2;
  const { scale } = camera;
  // A folded scope or a node: the frame of an open scope may be in sight with nothing in it.
  const seen = [...layout.boxes.values()].some(
    box =>
      !(box.item.kind === 'scope' && box.item.open) &&
      Math.min(now.width, (box.x + box.width) * scale + x) - Math.max(0, box.x * scale + x) >= ENOUGH &&
      Math.min(now.height, (box.y + box.height) * scale + y) - Math.max(0, box.y * scale + y) >= ENOUGH
  );
  return seen ? { scale, x, y } : fitCamera(layout, now.width, now.height, true);
}

/** A camera that is moved by hand. */
export class HandCamera {
  camera: Camera = { x: 0, y: 0, scale: 1 };
  /** Whether a person has moved it since it was last put in its place. */
  moved = false;
  private readonly listeners = new Listeners();
  private pan: { readonly x: number; readonly y: number; moved: boolean } | null = null;

  constructor(
    private readonly field: HTMLElement,
    private readonly changed: () => void
  ) {
    this.listeners.on(field, 'wheel', event => this.wheel(event), { passive: false });
    this.listeners.on(field, 'pointerdown', event => this.down(event));
    this.listeners.on(field, 'pointermove', event => this.drag(event));
    this.listeners.on(field, 'pointerup', event => this.up(event));
    this.listeners.on(field, 'pointercancel', event => this.up(event));
  }

  /** Puts the camera where the view wants it. */
  place(camera: Camera): void {
    this.camera = camera;
    this.moved = false;
  }

  /** Moves it as a person wants it. */
  move(camera: Camera): void {
    this.camera = camera;
    this.moved = true;
    this.changed();
  }

  /** Zooms about a point of the field. */
  zoom(factor: number, x = this.field.clientWidth / 2, y = this.field.clientHeight / 2): void {
    const { camera } = this;
    const scale = clamp(camera.scale * factor, LEAST, MOST);
    const ratio = scale / camera.scale;
    this.move({ scale, x: x - (x - camera.x) * ratio, y: y - (y - camera.y) * ratio });
  }

  /** Moves only if a box of the world is not in the window, and then to its middle. */
  reveal(box: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  }): void {
    const { camera, field } = this;
    // The upper margin keeps clear of the buttons.
    const [left, top, right, bottom] = [24, 44, field.clientWidth - 24, field.clientHeight - 24];
    const x = box.x * camera.scale + camera.x;
    const y = box.y * camera.scale + camera.y;
    const [width, height] = [box.width * camera.scale, box.height * camera.scale];
    const across = x < left || x + width > right ? (left + right - width) / 2 - x : 0;
    const down = y < top || y + height > bottom ? Math.max((top + bottom - height) / 2, top) - y : 0;
    if (across !== 0 || down !== 0) {
      this.move({ ...camera, x: camera.x + across, y: camera.y + down });
    }
  }

  /** Whether the press that just ended moved the picture, so that it was no click. */
  get panned(): boolean {
    return this.pan?.moved ?? false;
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private wheel(event: WheelEvent): void {
    // A page must scroll past a graph that nobody is using.
    if (!(event.ctrlKey || event.metaKey || this.field.contains(document.activeElement))) {
      return;
    }
    event.preventDefault();
    const box = this.field.getBoundingClientRect();
    // Firefox counts lines where others count pixels.
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(
      Math.exp(-clamp(event.deltaY * lines, -120, 120) * 0.004),
      event.clientX - box.left,
      event.clientY - box.top
    );
  }

  private down(event: PointerEvent): void {
    if (event.button === 0) {
      this.pan = { x: event.clientX - this.camera.x, y: event.clientY - this.camera.y, moved: false };
    }
  }

  private drag(event: PointerEvent): void {
    if (!this.pan || (event.buttons & 1) === 0) {
      return;
    }
    const x = event.clientX - this.pan.x;
    const y = event.clientY - this.pan.y;
    // A hand trembles: so much is still a click.
    if (!this.pan.moved && Math.hypot(x - this.camera.x, y - this.camera.y) > 4) {
      this.pan.moved = true;
      // Only now, for a captured press would be no click on what lies under it.
      this.field.setPointerCapture(event.pointerId);
      this.field.toggleAttribute('data-drag', true);
    }
    if (this.pan.moved) {
      this.move({ ...this.camera, x, y });
    }
  }

  private up(event: PointerEvent): void {
    this.field.toggleAttribute('data-drag', false);
    if (this.field.hasPointerCapture(event.pointerId)) {
      this.field.releasePointerCapture(event.pointerId);
    }
    // The click that follows must still be able to ask whether this was a pan.
    const ended = this.pan;
    setTimeout(() => {
      if (this.pan === ended) {
        this.pan = null;
      }
    }, 0);
  }
}

/** The whole graph, small, with the window on it. */
export class Minimap {
  readonly element: HTMLElement;
  private readonly svg = s('svg', { preserveAspectRatio: 'xMidYMid meet' });
  private readonly path = s('path', { 'vector-effect': 'non-scaling-stroke' });
  private readonly window = s('rect', { 'vector-effect': 'non-scaling-stroke' });
  private layout: GraphLayout | null = null;

  constructor(
    private readonly hand: HandCamera,
    private readonly size: () => { readonly width: number; readonly height: number }
  ) {
    this.svg.append(this.path, this.window);
    this.element = h(
      'div',
      { class: 'wb-minimap', 'aria-hidden': 'true', 'data-testid': 'wb-minimap' },
      this.svg as unknown as HTMLElement
    );
    const jump = (event: PointerEvent): void => {
      if (event.buttons & 1 || event.type === 'pointerdown') {
        this.jump(event);
        event.stopPropagation();
      }
    };
    this.element.addEventListener('pointerdown', event => {
      this.element.setPointerCapture(event.pointerId);
      jump(event);
    });
    this.element.addEventListener('pointermove', jump);
  }

  /** Takes another picture. */
  reset(layout: GraphLayout): void {
    this.layout = layout;
    const pad = Math.max(layout.width, layout.height) * 0.03 + 4;
    // A long chain would be a hair: it is drawn as wide as the map instead.
    const ratio = layout.height / Math.max(1, layout.width);
    this.svg.setAttribute('preserveAspectRatio', ratio > 5 || ratio < 0.2 ? 'none' : 'xMidYMid meet');
    this.svg.setAttribute('viewBox', `${-pad} ${-pad} ${layout.width + 2 * pad} ${layout.height + 2 * pad}`);
    let d = '';
    for (const box of layout.boxes.values()) {
      if (!(box.item.kind === 'scope' && box.item.open)) {
        d += `M${box.x.toFixed(0)} ${box.y.toFixed(0)}h${box.width.toFixed(0)}v${box.height.toFixed(0)}h${-box.width.toFixed(0)}z`;
      }
    }
    this.path.setAttribute('d', d);
  }

  /** Draws the window; false where everything is in view, so that there is nothing to tell. */
  draw(): boolean {
    const { layout, hand } = this;
    if (!layout) {
      return false;
    }
    const { width, height } = this.size();
    const { x, y, scale } = hand.camera;
    const left = Math.max(0, -x / scale);
    const top = Math.max(0, -y / scale);
    const right = Math.min(layout.width, (width - x) / scale);
    const bottom = Math.min(layout.height, (height - y) / scale);
    const whole = right - left >= layout.width - 1 && bottom - top >= layout.height - 1;
    for (const [name, value] of Object.entries({
      x: left,
      y: top,
      width: Math.max(1, right - left),
      height: Math.max(1, bottom - top)
    })) {
      this.window.setAttribute(name, String(value));
    }
    return !whole;
  }

  private jump(event: PointerEvent): void {
    const matrix = this.svg.getScreenCTM();
    if (!matrix) {
      return;
    }
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const { width, height } = this.size();
    const { scale } = this.hand.camera;
    this.hand.move({ scale, x: width / 2 - point.x * scale, y: height / 2 - point.y * scale });
  }
}
