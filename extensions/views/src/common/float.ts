/** Things that float above a view: the tooltip and the menu. They hang on the body, where nothing clips them. */
import { clamp } from './scales';
import { h, replace, type Child } from './dom';

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Where a floating box of the given size goes beside `anchor` without covering it, inside the window. */
export function beside(
  anchor: Box,
  size: { readonly width: number; readonly height: number },
  window: { readonly width: number; readonly height: number },
  gap = 10
): { readonly left: number; readonly top: number } {
  const across = clamp(
    (anchor.left + anchor.right - size.width) / 2,
    4,
    Math.max(4, window.width - size.width - 4)
  );
  const down = clamp(
    (anchor.top + anchor.bottom - size.height) / 2,
    4,
    Math.max(4, window.height - size.height - 4)
  );
  if (anchor.top - gap - size.height >= 4) {
    return { left: across, top: anchor.top - gap - size.height };
  }
  if (anchor.bottom + gap + size.height <= window.height - 4) {
    return { left: across, top: anchor.bottom + gap };
  }
  if (anchor.right + gap + size.width <= window.width - 4) {
    return { left: anchor.right + gap, top: down };
  }
  return { left: Math.max(4, anchor.left - gap - size.width), top: down };
}

function place(element: HTMLElement, anchor: Box): void {
  const size = { width: element.offsetWidth, height: element.offsetHeight };
  const spot = beside(anchor, size, { width: innerWidth, height: innerHeight });
  element.style.left = `${spot.left}px`;
  element.style.top = `${spot.top}px`;
}

/** One tooltip for a view. It explains an anchor and never covers it. */
export class Tooltip {
  private element: HTMLElement | null = null;

  constructor(private readonly view: HTMLElement) {}

  /** Shows children beside a box given in window pixels. */
  show(anchor: Box, ...children: Child[]): void {
    if (!this.element) {
      this.element = h('div', { class: 'wb-float wb-tooltip', role: 'tooltip', 'data-testid': 'wb-tooltip' });
      document.body.appendChild(this.element);
    }
    this.element.dataset['theme'] = this.view.dataset['theme'] ?? 'light';
    replace(this.element, ...children);
    place(this.element, anchor);
  }

  /** Hides it. */
  hide(): void {
    this.element?.remove();
    this.element = null;
  }
}

/** One entry of a menu; null draws a line. */
export interface MenuItem {
  readonly label: string;
  readonly run: () => void;
}

/** Opens a menu below a button; returns a function that closes it. */
export function openMenu(
  button: HTMLElement,
  items: readonly (MenuItem | null)[],
  theme: string
): () => void {
  const back = document.activeElement;
  const close = (): void => {
    menu.remove();
    button.setAttribute('aria-expanded', 'false');
    document.removeEventListener('pointerdown', outside, true);
    // What was clicked outside keeps the focus that it took.
    if (
      back instanceof HTMLElement &&
      (document.activeElement === document.body || !document.activeElement)
    ) {
      back.focus();
    }
  };
  const outside = (event: Event): void => {
    if (!menu.contains(event.target as Node) && !button.contains(event.target as Node)) {
      close();
    }
  };
  const entries = items.map(item => {
    if (item === null) {
      return h('div', { role: 'separator' });
    }
    const entry = h('button', { role: 'menuitem', type: 'button', tabindex: -1 }, item.label);
    entry.addEventListener('click', () => {
      close();
      item.run();
    });
    return entry;
  });
  const menu = h(
    'div',
    { class: 'wb-float wb-menu', role: 'menu', 'data-theme': theme, 'data-testid': 'wb-menu' },
    ...entries
  );
  const focusable = entries.filter((entry): entry is HTMLButtonElement => entry instanceof HTMLButtonElement);
  menu.addEventListener('keydown', event => {
    const at = focusable.indexOf(document.activeElement as HTMLButtonElement);
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      focusable[(at + step + focusable.length) % focusable.length]?.focus();
    } else if (event.key === 'Home' || event.key === 'End') {
      focusable.at(event.key === 'Home' ? 0 : -1)?.focus();
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      close();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  document.body.appendChild(menu);
  const box = button.getBoundingClientRect();
  menu.style.left = `${clamp(box.right - menu.offsetWidth, 4, innerWidth - menu.offsetWidth - 4)}px`;
  menu.style.top = `${box.bottom + menu.offsetHeight + 4 > innerHeight ? Math.max(4, box.top - menu.offsetHeight - 4) : box.bottom + 4}px`;
  button.setAttribute('aria-expanded', 'true');
  // While it is captured: on its way back a part of a view may stop it.
  document.addEventListener('pointerdown', outside, true);
  focusable[0]?.focus();
  return close;
}
