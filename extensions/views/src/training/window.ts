/** The steps that are shown: all of them, or a part that a person chose, with the way back. */

/** From a step to a step. */
export interface Steps {
  readonly low: number;
  readonly high: number;
}

/** What is shown, and what was before. */
export class Window {
  /** Places less than `grain` apart are one. */
  constructor(private readonly grain = 1) {}

  private chosen: Steps | null = null;
  private readonly past: (Steps | null)[] = [];

  /** Whether a part is shown. */
  get narrow(): boolean {
    return this.chosen !== null;
  }

  /** What to show of all steps. A part stays where it is while new steps come. */
  of(all: Steps): Steps {
    const { chosen } = this;
    return chosen && chosen.low < all.high && chosen.high > all.low ? chosen : all;
  }

  /** Shows a part of all steps, or all of them again; returns whether that is something else. */
  show(part: Steps | null, all: Steps): boolean {
    const next = part && fitted(part, all, this.grain);
    if (next === undefined || same(next, this.chosen)) {
      return false;
    }
    this.past.push(this.chosen);
    this.chosen = next;
    return true;
  }

  /** Shows more or less around a step: `factor` 0.5 is half as many steps. */
  scale(factor: number, around: number, all: Steps): boolean {
    const { low, high } = this.of(all);
    const { grain } = this;
    const wide = Math.max(2 * grain, (high - low) * factor);
    const share = (around - low) / (high - low || 1);
    const from = rounded(around - share * wide, grain);
    return this.show({ low: from, high: from + rounded(wide, grain) }, all);
  }

  /** Goes back to what was shown before. */
  undo(): boolean {
    const before = this.past.pop();
    // `null` is something to go back to: all steps.
    if (before === undefined) {
      return false;
    }
    this.chosen = before;
    return true;
  }
}

function rounded(value: number, grain: number): number {
  return Math.round(value / grain) * grain;
}

/** A part inside all steps, at whole steps; all of them if nothing is left out, and nothing if it is too small. */
function fitted(part: Steps, all: Steps, grain: number): Steps | null | undefined {
  const low = Math.max(all.low, rounded(Math.min(part.low, part.high), grain));
  const high = Math.min(all.high, rounded(Math.max(part.low, part.high), grain));
  if (!(high - low >= grain)) {
    return undefined;
  }
  return low <= all.low && high >= all.high ? null : { low, high };
}

function same(a: Steps | null, b: Steps | null): boolean {
  return a === b || (a !== null && b !== null && a.low === b.low && a.high === b.high);
}
