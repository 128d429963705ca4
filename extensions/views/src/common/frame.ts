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
  // jsdom has none.
  if (typeof ResizeObserver === 'undefined') {
    return () => undefined;
  }
  let width = -1;
  let height = -1;
  const observer = new ResizeObserver(() => {
    // Whole pixels only: a redraw that changes a fraction of one would be called back without end.
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
 * Sends values one at a time: while one is on its way only the newest is kept, and the last is never lost: it is sent
 * before the page is left, too. A send that is not answered within `patience` milliseconds no longer holds up the next.
 */
export class Latest<T, R> {
  private busy = false;
  /** Stands for the value that is on its way. */
  private under: ReturnType<typeof setTimeout> | undefined;
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
        this.keep({ value, waiters: [...(this.waiting?.waiters ?? []), waiter] });
      } else {
        void this.go(value, [waiter]);
      }
    });
  }

  /** Sends now, in the place of what is kept: for a value that no later one may replace. */
  pass(value: T): Promise<R | void> {
    const replaced = this.waiting?.waiters ?? [];
    this.keep(null);
    return new Promise((resolve, reject) => {
      void this.go(value, [...replaced, { resolve, reject }]);
    });
  }

  /** Whether something is on its way. */
  get pending(): boolean {
    return this.busy;
  }

  private keep(waiting: { value: T; waiters: Waiter<R>[] } | null): void {
    this.waiting = waiting;
    // What was typed last before a reload would be lost here.
    const change = waiting ? globalThis.addEventListener : globalThis.removeEventListener;
    change('pagehide', this.flush);
  }

  private readonly flush = (): void => {
    const last = this.waiting;
    this.keep(null);
    if (last) {
      void this.go(last.value, last.waiters);
    }
  };

  private async go(value: T, waiters: readonly Waiter<R>[]): Promise<void> {
    this.busy = true;
    const next = (): void => {
      clearTimeout(timer);
      this.under = undefined;
      this.busy = false;
      this.flush();
    };
    const timer = (this.under = setTimeout(next, this.patience));
    const settled = await this.transmit(value).then(
      answer => (waiter: Waiter<R>) => waiter.resolve(answer),
      (reason: unknown) => (waiter: Waiter<R>) => waiter.reject(reason)
    );
    // Patience may have run out since, and another value be on its way.
    if (this.under === timer) {
      next();
    }
    waiters.forEach(settled);
  }
}
