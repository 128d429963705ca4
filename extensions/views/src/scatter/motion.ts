/** Points on their way to other places: a projection that runs moves them smoothly, and rebuilds nothing. */
import { reducedMotion } from '../common/frame';

const MOVE_MILLISECONDS = 150;

/** Where points are drawn now. */
export class Motion {
  positions: Float32Array = new Float32Array();
  private from: Float32Array = new Float32Array();
  private to: Float32Array = new Float32Array();
  private start = 0;

  /** Puts points where they belong, at once. */
  put(positions: Float32Array): void {
    this.positions = this.to = positions;
  }

  /** Lets the same points go to other places, from where they are drawn now. */
  go(positions: Float32Array, now: number): void {
    if (reducedMotion()) {
      this.put(positions);
      return;
    }
    this.from = this.positions.slice();
    this.to = positions;
    this.positions = this.from.slice();
    this.start = now;
  }

  /** Whether points are under way. */
  get moving(): boolean {
    return this.positions !== this.to;
  }

  /** Goes on, once a frame; returns whether anything moved. */
  step(now: number): boolean {
    if (!this.moving) {
      return false;
    }
    const t = Math.min(1, Math.max(0, (now - this.start) / MOVE_MILLISECONDS));
    if (t >= 1) {
      this.positions = this.to;
      return true;
    }
    // Slower towards the end, as things come to rest.
    const share = t * (2 - t);
    const { positions, from, to } = this;
    for (let at = 0; at < positions.length; at++) {
      const value = from[at]! + (to[at]! - from[at]!) * share;
      // What had no place, or loses it, does not travel.
      positions[at] = value === value ? value : to[at]!;
    }
    return true;
  }
}
