/** Asks whether more was written, as long as somebody looks: not in a hidden page, nor where the view is out of sight. */

/** Milliseconds between two questions. */
const EVERY = 2000;

/** Asks by itself. */
export class Tail {
  /** Whether a person wants it. */
  on = true;
  private busy = false;
  private seen = true;
  private readonly timer: ReturnType<typeof setInterval>;
  private readonly observer: IntersectionObserver | null = null;

  constructor(
    private readonly element: HTMLElement,
    private readonly ask: () => Promise<unknown>
  ) {
    this.timer = setInterval(() => void this.look(), EVERY);
    if (typeof IntersectionObserver !== 'undefined') {
      this.observer = new IntersectionObserver(entries => {
        this.seen = entries.at(-1)!.isIntersecting;
      });
      this.observer.observe(element);
    }
  }

  /** Asks no longer. */
  destroy(): void {
    clearInterval(this.timer);
    this.observer?.disconnect();
  }

  private async look(): Promise<void> {
    const hidden = 'checkVisibility' in this.element && !this.element.checkVisibility();
    if (!this.on || this.busy || hidden || !this.seen || document.visibilityState === 'hidden') {
      return;
    }
    this.busy = true;
    try {
      await this.ask();
    } catch {
      // Whoever is gone is told of by the head; what a person does says so, too.
    } finally {
      this.busy = false;
    }
  }
}
