/** Which points are shown, and which stand out: kept beside their colours, and changed where something changed. */
import type { Rgb } from '../common/colours';

/** How a point is shown: the two lowest bits of its fourth byte; the others are its shape. */
export const HIDDEN = 0;
export const USUAL = 1;
export const BRIGHT = 2;
const MODE = 3;
export const SHAPE_SHIFT = 2;

/** Points from one up to another. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Colour, shape and emphasis of every point. */
export class Styles {
  /** Red, green, blue, and mode with shape, of each point. */
  readonly bytes: Uint8Array;
  /** Whether something stands out, so that the usual points are dimmed. */
  dimmed = false;
  private bright: readonly number[] = [];
  private stale: Span | null;

  constructor(readonly count: number) {
    this.bytes = new Uint8Array(count * 4);
    this.stale = { from: 0, to: count };
    for (let at = 3; at < this.bytes.length; at += 4) {
      this.bytes[at] = USUAL;
    }
  }

  /** How one point is shown. */
  mode(point: number): number {
    return point >= 0 && point < this.count ? this.bytes[point * 4 + 3]! & MODE : HIDDEN;
  }

  /** The shape of a point, by its place in `SHAPES`. */
  shape(point: number): number {
    return this.bytes[point * 4 + 3]! >> SHAPE_SHIFT;
  }

  /** Takes other colours and shapes, four bytes a point (`coloursBy`); one colour for all where there are none. */
  paint(colours: Uint8Array | null, plain: Rgb): void {
    const { bytes } = this;
    for (let at = 3; at < bytes.length; at += 4) {
      bytes[at - 3] = colours ? colours[at - 3]! : plain[0];
      bytes[at - 2] = colours ? colours[at - 2]! : plain[1];
      bytes[at - 1] = colours ? colours[at - 1]! : plain[2];
      bytes[at] = (bytes[at]! & MODE) | ((colours?.[at] ?? 0) << SHAPE_SHIFT);
    }
    this.stale = { from: 0, to: this.count };
  }

  /** Hides what has no place, and what is not among the `shown`: one byte a point, null where all are. */
  hide(positions: Float32Array, shown: Uint8Array | null): void {
    const { bytes, count, bright } = this;
    for (let point = 0; point < count; point++) {
      const gone = Number.isNaN(positions[point * 3]!) || shown?.[point] === 0;
      const at = point * 4 + 3;
      bytes[at] = (bytes[at]! & ~MODE) | (gone ? HIDDEN : USUAL);
    }
    this.stale = { from: 0, to: count };
    this.bright = [];
    this.raise(bright);
  }

  /** Lets these points stand out instead of those before; touches no others. */
  raise(points: Iterable<number>): void {
    for (const point of this.bright) {
      this.change(point, BRIGHT, USUAL);
    }
    const bright = [...points];
    for (const point of bright) {
      this.change(point, USUAL, BRIGHT);
    }
    this.bright = bright;
    this.dimmed = bright.length > 0;
  }

  /** The points that changed since this was asked for last; null where none did. */
  takeStale(): Span | null {
    const { stale } = this;
    this.stale = null;
    return stale;
  }

  private change(point: number, from: number, to: number): void {
    if (this.mode(point) === from) {
      this.bytes[point * 4 + 3] = (this.bytes[point * 4 + 3]! & ~MODE) | to;
      this.stale = {
        from: Math.min(point, this.stale?.from ?? point),
        to: Math.max(point + 1, this.stale?.to ?? 0)
      };
    }
  }
}
