/** The line above every view: what it is, where from, how fresh, and one menu. */
import type { Host, Place, Status } from '../host';
import type { Head } from '../protocol';
import { download, fileName, htmlPage, png, svgText, type Exports } from './exporting';
import { h, Listeners, replace, setText } from './dom';
import { openMenu, type MenuItem } from './float';
import { ago } from './numbers';
import { writeCode } from './parts';
import { hex } from './colours';
import { themeOf } from './theme';

/** The same in a cell, at the side and in a tab: a menu that is another one everywhere is learned nowhere. */
const PLACES: readonly (readonly [Place, string])[] = [
  ['side', 'Open at the side'],
  ['tab', 'Open in a tab']
];

/** What the freshness mark says. */
export function freshness(
  status: Status,
  head: Pick<Head, 'live' | 'updated'> | null,
  now: number
): readonly [string, string] {
  if (status.kind === 'disconnected') {
    return ['○', head ? `${status.reason}: last picture` : status.reason];
  }
  if (status.kind === 'stale') {
    return ['◌', ago(now - status.since)];
  }
  if (!head) {
    return ['●', 'connected'];
  }
  return head.live ? ['●', 'live'] : ['◌', ago(now - head.updated * 1000)];
}

/** The head of one view. */
export class HeadLine {
  readonly element: HTMLElement;
  private readonly title = h('h2', { class: 'wb-head-title', 'data-testid': 'wb-title', hidden: true });
  private readonly dot = h('span', { class: 'wb-dot', 'aria-hidden': 'true' });
  private readonly age = h('span', {});
  private readonly status: HTMLElement;
  private readonly waiting = h('span', {
    class: 'wb-head-waiting',
    role: 'status',
    'data-testid': 'wb-waiting'
  });
  private readonly menuButton: HTMLButtonElement;
  private source: HTMLElement = h('span', { class: 'wb-head-source' });
  private head: Head | null = null;
  private readonly listeners = new Listeners();
  private readonly timer: ReturnType<typeof setInterval>;
  private closeMenu: (() => void) | null = null;

  constructor(
    private readonly view: HTMLElement,
    private readonly host: Host<never>,
    private readonly exports: () => Exports,
    private readonly failed: (message: string) => void
  ) {
    this.status = h(
      'span',
      // Never read out: it changes every second.
      { class: 'wb-head-status', 'data-testid': 'wb-status', role: 'status', 'aria-live': 'off' },
      this.dot,
      this.age
    );
    this.menuButton = h(
      'button',
      {
        type: 'button',
        class: 'wb-menu-button',
        'aria-label': 'Menu of this view',
        'aria-haspopup': 'menu',
        'aria-expanded': 'false',
        'data-testid': 'wb-menu-button'
      },
      '⋯'
    );
    this.element = h(
      'header',
      { class: 'wb-head' },
      this.title,
      this.source,
      this.waiting,
      this.status,
      this.menuButton
    );
    this.listeners.on(this.menuButton, 'click', () => this.toggleMenu());
    this.listeners.add(host.onStatus(() => this.refresh()));
    this.timer = setInterval(() => this.refresh(), 1000);
    this.refresh();
  }

  /** Shows another head. */
  update(head: Head): void {
    this.head = head;
    setText(this.title, head.title);
    this.title.title = head.title;
    this.title.hidden = false;
    this.refreshSource(head.source);
    this.refresh();
  }

  /** Lets go of timers and listeners. */
  destroy(): void {
    clearInterval(this.timer);
    this.closeMenu?.();
    this.listeners.release();
  }

  private refreshSource(source: string): void {
    if (source === this.source.textContent) {
      return;
    }
    const linked = source !== '' && this.host.openSource !== undefined;
    const next = linked
      ? h('button', { type: 'button', class: 'wb-head-source', title: `Go to ${source}` }, source)
      : h('span', { class: 'wb-head-source', title: source }, source);
    next.dataset['testid'] = 'wb-source';
    if (linked) {
      next.addEventListener('click', () => this.host.openSource?.(source));
    }
    this.source.replaceWith(next);
    this.source = next;
  }

  private refresh(): void {
    const [dot, text] = freshness(this.host.status, this.head, Date.now());
    this.status.dataset['status'] = this.host.status.kind;
    setText(this.dot, dot);
    setText(this.age, text);
    this.refreshWaiting(this.host.waiting ?? 0);
    const made = this.head ? `Made ${new Date(this.head.updated * 1000).toLocaleString()}` : '';
    // Where it is cut, its words are read by pointing at it.
    this.status.title = this.host.status.kind === 'disconnected' && made ? `${text}. ${made}` : made || text;
  }

  private refreshWaiting(count: number): void {
    const text = count === 0 ? '' : `${count} waiting`;
    if (text !== this.waiting.dataset['count']) {
      this.waiting.dataset['count'] = text; // what is said aloud is said once, not every second
      const more = h('span', { class: 'wb-hidden' }, ' for Python; nothing needs to be done again');
      replace(this.waiting, ...(count === 0 ? [] : [h('span', { 'aria-hidden': 'true' }, '↻'), text, more]));
      this.waiting.title =
        count === 0 ? '' : `Python has not confirmed ${count === 1 ? 'a gesture' : `${count} gestures`} yet`;
    }
  }

  private toggleMenu(): void {
    if (this.menuButton.getAttribute('aria-expanded') === 'true') {
      this.closeMenu?.();
      return;
    }
    this.closeMenu = openMenu(this.menuButton, this.items(), this.view.dataset['theme'] ?? 'light');
  }

  private items(): (MenuItem | null)[] {
    const { host, head } = this;
    const items: (MenuItem | null)[] = [];
    if (host.openIn) {
      for (const [place, label] of PLACES) {
        items.push({ label, run: () => host.openIn?.(place) });
      }
      items.push(null);
    }
    if (head) {
      items.push(...this.exportItems(head.title));
    }
    if (head?.code) {
      items.push(null, { label: 'Write as code', run: () => void writeCode(host, head.code) });
    }
    return items.length > 0 ? items : [{ label: 'Nothing to export yet', run: () => undefined }];
  }

  private exportItems(title: string): MenuItem[] {
    const given = this.exports();
    const theme = themeOf(this.view);
    const paper = hex(theme.paper);
    const save = (ending: string, type: string, make: () => Promise<Blob> | string) => ({
      label: `Export ${ending.toUpperCase()}`,
      run: () => void this.save(fileName(title, ending), type, make)
    });
    const items: MenuItem[] = [];
    if (given.canvas || given.svg) {
      items.push(save('png', 'image/png', () => png(given, paper)));
    }
    if (given.svg) {
      const svg = given.svg;
      items.push(save('svg', 'image/svg+xml', () => svgText(svg(), paper)));
    }
    if (given.canvas || given.svg) {
      const ink = theme.dark ? '#eeeeee' : '#212121';
      items.push(save('html', 'text/html', () => htmlPage(title, given, paper, ink)));
    }
    if (given.csv) {
      const item = save('csv', 'text/csv', given.csv);
      const note = given.csvNote ? ` (${given.csvNote})` : '';
      items.push({ label: `${item.label}${note}`, run: given.writeCsv ?? item.run });
    }
    if (given.json) {
      const json = given.json;
      items.push(save('json', 'application/json', () => JSON.stringify(json(), null, 1)));
    }
    return items;
  }

  private async save(name: string, type: string, make: () => Promise<Blob> | string): Promise<void> {
    try {
      const made = await make();
      const data = typeof made === 'string' ? new Blob([made], { type }) : made;
      (this.host.save ?? download)(name, data);
    } catch (error) {
      this.failed(`Export of ${name} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
