/** Which points are selected: what a person chose is kept until Python has answered. */
import type { ScatterState } from '../protocol';
import { sameNumbers } from './choose';

/** The most points that one gesture selects; the view says so when it leaves some out. */
export const MOST_SELECTED = 5000;

/** The selection of one view. */
export class Choice {
  points: readonly number[] = [];
  private waiting = false;

  /** Follows a state, unless its maker has yet to hear of what was chosen here. */
  follow(state: ScatterState): void {
    if (!this.waiting || sameNumbers(state.selected, this.points)) {
      this.waiting = false;
      this.giveIn(state);
    }
  }

  /** Selects the points that exist, as many as one selection takes, and returns them. */
  take(points: readonly number[], count: number): readonly number[] {
    const taken: number[] = [];
    for (let at = 0; at < points.length && taken.length < MOST_SELECTED; at++) {
      const point = points[at]!;
      if (point >= 0 && point < count) {
        taken.push(point);
      }
    }
    this.points = taken;
    this.waiting = true;
    return this.points;
  }

  /** Notes that Python has answered; false where something else was chosen meanwhile. */
  answered(points: readonly number[]): boolean {
    const current = sameNumbers(points, this.points);
    if (current) {
      this.waiting = false;
    }
    return current;
  }

  /** Takes what Python has, as far as it is drawn. */
  giveIn(state: ScatterState): void {
    this.points = state.selected.filter(point => point < state.count);
  }

  /** The points with one more, or without it where it was among them. */
  with(point: number): readonly number[] {
    return this.points.includes(point)
      ? this.points.filter(other => other !== point)
      : [...this.points, point];
  }

  /** The neighbours of the one point that is selected, where the state tells of that point. */
  near(state: ScatterState): readonly number[] {
    return this.points.length === 1 && state.selected[0] === this.points[0]
      ? state.neighbours.map(each => each.index)
      : [];
  }
}
