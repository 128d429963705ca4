/** A person's hand on a range: what is shown while it moves, what is sent, and what is refused. */
import type { Answer } from '../host';
import type { ObserverDetail, SetRangeEvent } from '../protocol';
import { Latest } from '../common/frame';
import { whyNot, type Range } from './range';

/** How long a range that was sent stays on the screen if no new state comes, in milliseconds. */
const PATIENCE = 1500;

/** Keeps the range that a person sets until Python's own state has caught up with it. */
export class RangeControl {
  private local: Range | null = null;
  private start: Range | null = null;
  private sent = false;
  private settling = false;
  private detail: ObserverDetail | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly sender: Latest<SetRangeEvent, Answer>;
  /** Why the last thing a person tried was refused; empty if it was not. */
  refusal = '';

  constructor(
    send: (event: SetRangeEvent) => Promise<Answer | void>,
    private readonly changed: () => void
  ) {
    this.sender = new Latest(send);
  }

  /** Takes a new state in. A hand on the range is never overruled, unless the observer is another one. */
  accept(detail: ObserverDetail | null): void {
    if (detail?.id !== this.detail?.id) {
      this.forget();
      this.refusal = '';
    } else if (this.settling) {
      this.forget();
    }
    this.detail = detail;
  }

  /** The range to draw. */
  get range(): Range {
    return this.local ?? { low: this.detail?.low ?? 0, high: this.detail?.high ?? 1 };
  }

  /** Whether the range drawn is a person's and not yet Python's. */
  get ahead(): boolean {
    return this.local !== null;
  }

  /** Moves one end; where zero stands in the middle of the codes the other end is its mirror image. */
  moveEnd(end: keyof Range, value: number, done: boolean): void {
    if (this.detail?.settings?.symmetric) {
      const high = end === 'high' ? value : -value;
      this.move({ low: -high, high }, done);
    } else {
      this.move({ ...this.range, [end]: value }, done);
    }
  }

  /** Moves to a range; `done` ends the movement, and only then can it be undone. */
  move(next: Range, done: boolean): void {
    const { detail } = this;
    if (!detail) {
      return;
    }
    // Where the hand began, in case it ends where no range is.
    this.start ??= this.range;
    const problem = whyNot(next);
    this.refusal = problem && `Refused: ${problem}.`;
    this.local = next;
    // The hand is at it again: what was to end the last movement must not end this one.
    clearTimeout(this.timer);
    this.settling = false;
    if (!problem) {
      this.transmit(detail.id, next, done);
    } else if (done) {
      this.takeBack(detail.id);
    }
    if (done) {
      this.start = null;
      this.sent = false;
    }
    this.changed();
  }

  /** Says in place why something typed is no range; nothing changes. */
  refuse(reason: string): void {
    this.refusal = `Refused: ${reason}.`;
    this.changed();
  }

  /** Drops timers. */
  destroy(): void {
    clearTimeout(this.timer);
  }

  private takeBack(id: string): void {
    const start = this.start;
    this.refusal += ' The range stays as it was.';
    this.local = null;
    if (this.sent && start) {
      // The way to the nonsense led through ranges that were already tried: put back what was there.
      this.local = start;
      this.transmit(id, start, true);
    }
  }

  private transmit(id: string, { low, high }: Range, final: boolean): void {
    this.sent = true;
    const event: SetRangeEvent = { type: 'set_range', id, low, high, final };
    // The end of a movement can be undone by itself, so no later one may stand for it.
    const answer = final ? this.sender.pass(event) : this.sender.push(event);
    if (final) {
      const mine = this.local;
      void answer.then(reply => this.settle(mine, reply));
    } else {
      void answer.then(reply => this.heed(reply));
    }
  }

  private heed(reply: Answer | void): void {
    if (reply && !reply.accepted && reply.reason) {
      this.refusal = reply.reason;
      this.changed();
    }
  }

  private settle(mine: Range | null, reply: Answer | void): void {
    // The hand has moved on: this is the answer to an older range.
    if (this.local !== mine) {
      return;
    }
    this.heed(reply);
    if (reply && !reply.accepted) {
      this.forget();
    } else {
      // Accepted, and the state that shows it is still under way: until then the hand's range stands.
      this.settling = true;
      this.timer = setTimeout(() => {
        this.forget();
        this.changed();
      }, PATIENCE);
    }
    this.changed();
  }

  private forget(): void {
    clearTimeout(this.timer);
    this.local = null;
    this.start = null;
    this.sent = false;
    this.settling = false;
  }
}
