/** Work that is done once before the next picture, however often it is asked for. */
export class Frame {
  private handle = 0;

  constructor(private readonly work: () => void) {}

  /** Asks for the work. */
  request(): void {
    if (this.handle === 0) {
      this.handle = requestAnimationFrame(() => {
        this.handle = 0;
        this.work();
      });
    }
  }

  /** Does the work now if it was asked for: before an export. */
  flush(): void {
    if (this.handle !== 0) {
      this.cancel();
      this.work();
    }
  }

  /** Takes the request back. */
  cancel(): void {
    cancelAnimationFrame(this.handle);
    this.handle = 0;
  }
}

/** Calls back, once a frame, when an element has another size. */
export function watchSize(element: HTMLElement, changed: () => void): () => void {
  if (typeof ResizeObserver === 'undefined') {
    return () => undefined;
  }
  let width = -1;
  let height = -1;
  const observer = new ResizeObserver(() => {
    if (element.clientWidth !== width || element.clientHeight !== height) {
      width = element.clientWidth;
      height = element.clientHeight;
      changed();
    }
  });
  observer.observe(element);
  return () => observer.disconnect();
}

/** Whether the person asked for less motion. */
export function reducedMotion(): boolean {
  return typeof matchMedia === 'function' && matchMedia('(prefers-reduced-motion: reduce)').matches;
}

interface Waiter<R> {
  readonly resolve: (answer: R | void) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Sends values one at a time: while one is on its way only the newest is kept, and the last is never lost.
 * A send that is not answered within `patience` milliseconds counts as lost, so that a dead link blocks nothing.
 */
export class Latest<T, R> {
  private busy = false;
  private waiting: { value: T; waiters: Waiter<R>[] } | null = null;

  constructor(
    private readonly transmit: (value: T) => Promise<R | void>,
    private readonly patience = 2000
  ) {}

  /** Sends, or keeps as the newest; resolves with the answer to this value or to the one that replaced it. */
  push(value: T): Promise<R | void> {
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      if (this.busy) {
        this.waiting = { value, waiters: [...(this.waiting?.waiters ?? []), waiter] };
      } else {
        void this.go(value, [waiter]);
      }
    });
  }

  /** Whether something is on its way. */
  get pending(): boolean {
    return this.busy;
  }

  private async go(value: T, waiters: readonly Waiter<R>[]): Promise<void> {
    this.busy = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const lost = new Promise<void>(resolve => {
      timer = setTimeout(resolve, this.patience);
    });
    const settled = await Promise.race([this.transmit(value), lost]).then(
      answer => (waiter: Waiter<R>) => waiter.resolve(answer),
      (reason: unknown) => (waiter: Waiter<R>) => waiter.reject(reason)
    );
    clearTimeout(timer);
    this.busy = false;
    const next = this.waiting;
    this.waiting = null;
    if (next) {
      void this.go(next.value, next.waiters);
    }
    waiters.forEach(settled);
  }
}
