/** How far a picture can be trusted is asked for by itself, once the picture is finished and has stood for a while. */
import type { ScatterState } from '../protocol';

/** So long nothing must change. */
const REST_MILLISECONDS = 1000;

/** Asks once for each picture. */
export class Judging {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private seen = '';

  constructor(private readonly ask: (projection: string) => unknown) {}

  /** Takes in what is drawn now. */
  update({ judges, projection, head }: Pick<ScatterState, 'judges' | 'projection' | 'head'>): void {
    const key = judges ? JSON.stringify([projection, head.updated]) : '';
    if (key !== this.seen) {
      this.seen = key;
      clearTimeout(this.timer);
      if (judges) {
        this.timer = setTimeout(() => this.ask(projection), REST_MILLISECONDS);
      }
    }
  }

  /** Asks no more. */
  destroy(): void {
    clearTimeout(this.timer);
  }
}
