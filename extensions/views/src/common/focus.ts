/**
 * An element that is built anew, or put in its place again, loses the focus, and with it the keys that a person presses
 * next: they would go to the page around the view. Whoever rebuilds gives the focus to what stands in its place.
 */

/** What an element is called, so that it is known again when it was built anew. */
function nameOf(element: Element): string {
  const attributes = [...element.attributes].filter(({ name }) => /^(data-|aria-label$|role$)/.test(name));
  return [element.tagName, ...attributes.map(({ name, value }) => `${name}=${value}`)].sort().join(' ');
}

/** Whether an element has the focus: whether a person is in it. */
export function hasFocus(element: Element): boolean {
  // A widget may stand in a shadow root, whose focus the document does not name.
  return (element.getRootNode() as Document | ShadowRoot).activeElement === element;
}

/** Writes into a field of text; of one that a person is in, what was selected stays so, to be typed over. */
export function rewrite(field: HTMLInputElement, text: string): void {
  if (field.value === text) {
    return;
  }
  const { selectionStart, selectionEnd, value } = field;
  const whole = value !== '' && selectionStart === 0 && selectionEnd === value.length;
  field.value = text;
  if (hasFocus(field)) {
    const [start, end] = whole ? [0, text.length] : [selectionStart, selectionEnd];
    field.setSelectionRange(start, end);
  }
}

/** Keeps the focus in a view over what rebuilds its parts. */
export class FocusKeeper {
  /** What had the focus and is not in the page at the moment: a later step of the rebuilding may bring it back. */
  private missing: HTMLElement | null = null;

  constructor(private readonly root: HTMLElement) {}

  /** Does `work`; what had the focus before has it afterwards, or what stands in its place. */
  during(work: () => void): void {
    const before = this.focused() ?? this.missing;
    work();
    this.missing = null;
    if (before && !this.focused() && this.isFree()) {
      const next = this.root.contains(before) ? before : this.successor(before);
      if (next) {
        next.focus({ preventScroll: true });
      } else {
        this.missing = before;
      }
    }
  }

  /** Whether nothing else in the page has the focus. */
  private isFree(): boolean {
    const active = this.active();
    return active === null || active === document.body;
  }

  private active(): Element | null {
    // A widget may stand in a shadow root, whose focus the document does not name.
    return (this.root.getRootNode() as Document | ShadowRoot).activeElement ?? null;
  }

  private focused(): HTMLElement | null {
    const active = this.active();
    return active instanceof HTMLElement && this.root.contains(active) ? active : null;
  }

  private successor(element: HTMLElement): HTMLElement | null {
    const wanted = nameOf(element);
    const same = [...this.root.querySelectorAll<HTMLElement>(element.tagName)];
    return same.find(one => nameOf(one) === wanted) ?? null;
  }
}
