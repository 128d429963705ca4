/** Which charts can be seen: the others are drawn when they come into sight. */

/** Drawn before they are scrolled into sight, so that nobody sees an old picture. */
const AHEAD = '300px';

/** Follows elements. Where a browser cannot tell, all of them can be seen. */
export class Sight {
  private readonly unseen = new WeakSet<Element>();
  private readonly observer: IntersectionObserver | null;

  constructor(appeared: () => void) {
    const follow = (entries: readonly IntersectionObserverEntry[]): void => {
      let some = false;
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) {
          this.unseen.add(target);
        } else if (this.unseen.delete(target)) {
          some = true;
        }
      }
      if (some) {
        appeared();
      }
    };
    this.observer =
      typeof IntersectionObserver === 'undefined'
        ? null
        : new IntersectionObserver(follow, { rootMargin: AHEAD });
  }

  /** Begins to follow an element. */
  follow(element: Element): void {
    this.observer?.observe(element);
  }

  /** Follows an element no longer. */
  forget(element: Element): void {
    this.observer?.unobserve(element);
  }

  /** Whether an element can be seen, as far as is known. */
  sees(element: Element): boolean {
    return !this.unseen.has(element);
  }

  /** Lets go. */
  destroy(): void {
    this.observer?.disconnect();
  }
}
