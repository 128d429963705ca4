import type { Host, Mount, MountOptions } from '../host';
import type { DiffNode, DiffRow, DiffState, DiffViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { Finder } from '../common/finder';
import { button, Segments } from '../common/parts';
import { Picture } from '../common/picture';
import { DIFF_CSS } from './css';
import { LongList } from './list';
import { buildFold, buildRow, heightOf, said, type Mode } from './row';
import {
  before,
  differs,
  entryOf,
  findable,
  hay,
  items,
  nodeOf,
  shownNode,
  SIGNS,
  WORDS,
  type Item,
  type Side
} from './rows';
import { sheet } from './sheet';

/** Below this width two columns have no room. */
const NARROW = 560;
/** So many lines of what is different besides nodes are shown at first. */
const MOST_NOTES = 3;

class DiffView extends Picture<DiffState, DiffViewEvent> {
  private readonly counts = h('div', { class: 'wb-d-counts', 'data-testid': 'wb-diff-counts' });
  private readonly modes = new Segments<Mode>(
    'Both graphs',
    [
      ['split', 'side by side'],
      ['joined', 'joined']
    ],
    'split',
    mode => {
      this.wanted = mode;
      this.frame.request();
    },
    'wb-diff-mode'
  );
  private readonly finder = new Finder<readonly [number, DiffRow]>({
    all: () => findable(this.state?.rows ?? []),
    hay: ([, row]) => hay(row),
    entry: ([index, row]) => entryOf(row, index),
    show: id => this.reveal(Number(id)),
    choose: id => this.jump(Number(id)),
    leave: () => this.main.element.focus(),
    redraw: () => this.frame.request()
  });
  private readonly unfold = button('show all', () => this.showAll(), {
    'aria-pressed': 'false',
    'data-testid': 'wb-diff-all'
  });
  private readonly steps = [
    button('↑', () => this.step(-1), {
      'aria-label': 'Previous difference',
      title: 'Previous difference (p)'
    }),
    button('↓', () => this.step(1), { 'aria-label': 'Next difference', title: 'Next difference (n)' })
  ];
  private readonly notes = h('ul', { class: 'wb-d-notes', 'data-testid': 'wb-diff-notes', tabindex: 0 });
  private readonly sideTitle = h('div', { class: 'wb-d-title' });
  private readonly side = new LongList('Differences', 'wb-diff-list', index =>
    this.jump(this.changes[index]!)
  );
  private readonly sideBox = h('div', { class: 'wb-d-side' }, this.sideTitle, this.side.element);
  private readonly heads = h('div', { class: 'wb-d-heads' });
  private readonly main = new LongList(
    'Nodes of both graphs',
    'wb-diff-rows',
    index => this.picked(index),
    index => this.enter(index)
  );
  private readonly readout = h('div', {
    class: 'wb-readout',
    'aria-live': 'polite',
    'data-testid': 'wb-readout'
  });
  private readonly same = h('p', { class: 'wb-d-same', 'data-testid': 'wb-diff-none' });
  private readonly rest = h('p', { class: 'wb-quiet', 'data-testid': 'wb-truncated' });
  private readonly page = [
    h(
      'div',
      { class: 'wb-d-bar' },
      this.counts,
      h('div', { class: 'wb-d-tools' }, this.finder.element, ...this.steps, this.unfold, this.modes.element)
    ),
    this.notes,
    this.same,
    h(
      'div',
      { class: 'wb-d-body' },
      this.sideBox,
      h('div', { class: 'wb-d-main' }, this.heads, this.main.element)
    ),
    this.readout,
    this.rest
  ];
  private wanted: Mode = 'split';
  private mode: Mode = 'split';
  private shown: readonly Item[] = [];
  /** Rows that are differences, in order. */
  private changes: readonly number[] = [];
  private open = new Set<number>();
  private all = false;
  private allNotes = false;
  /** The chosen row. */
  private row = -1;
  /** The row that was picked elsewhere and is not in sight yet. */
  private arriving = -1;
  private asked = 0;
  private drawnFor = '';
  private version = 0;

  constructor(root: HTMLElement, host: Host<DiffViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'diff',
      css: DIFF_CSS,
      emptySentence: 'What is different between two graphs will be drawn here. To see it, run:',
      emptyCode: 'wb.graph.diff(before, after)'
    };
    super(root, host, identity, options);
    this.slashLeadsTo(this.finder.field);
    this.listeners.add(() => this.main.destroy());
    this.listeners.add(() => this.side.destroy());
    this.listeners.on(this.content, 'keydown', event => this.key(event));
    this.listeners.add(
      host.onSelect?.(selection => {
        if (selection.node !== undefined && selection.from !== 'diff') {
          this.follow(selection.node);
        }
      })
    );
  }

  protected accept(state: DiffState): void {
    if (state.kind !== 'diff') {
      throw new StateError(`the view of differences knows no state of the kind “${String(state.kind)}”`);
    }
    const old = this.state;
    const same =
      old !== null && old.rows.length === state.rows.length && old.head.updated === state.head.updated;
    if (!same) {
      this.open = new Set();
      this.allNotes = false;
      this.row = -1;
      this.version += 1;
    }
    if (this.page[0]!.parentNode !== this.content) {
      replace(this.content, ...this.page);
    }
    this.changes = state.rows.flatMap((row, index) => (differs(row) ? [index] : []));
    this.showCounts(state);
    if (state.selected !== null && this.asked === 0) {
      const row = state.rows.findIndex(one => one.after?.id === state.selected);
      // Picked elsewhere: it is shown as soon as the rows are drawn.
      this.arriving = row !== this.row ? row : this.arriving;
      this.row = row;
    }
  }

  protected draw(): void {
    const { state } = this;
    if (!state) {
      return;
    }
    const mode = this.width < NARROW ? 'joined' : this.wanted;
    const key = [this.version, mode, this.all, [...this.open].join(), this.theme.dark].join(' ');
    this.modes.element.hidden = this.width < NARROW;
    if (key !== this.drawnFor) {
      this.drawnFor = key;
      this.mode = mode;
      this.rebuild(state);
    }
    const { arriving } = this;
    this.arriving = -1;
    if (arriving >= 0) {
      this.reveal(arriving);
      const change = this.changes.indexOf(arriving);
      if (change >= 0) {
        this.side.go(change);
      }
    }
    this.main.draw();
    this.side.draw();
    this.say();
  }

  protected exports(): Exports {
    const { state } = this;
    if (!state) {
      return {};
    }
    return {
      svg: () => this.drawing(state),
      csv: () => this.table(state),
      json: () => state,
      caption: () => [this.countText(state), ...state.notes]
    };
  }

  protected override themeChanged(): void {
    this.drawnFor = '';
  }

  // ------------------------------------------------------------------------------------------------- parts

  private showCounts(state: DiffState): void {
    replace(
      this.counts,
      ...state.counts.map(([status, count]) => this.count(status as DiffRow['status'], Number(count)))
    );
    this.showNotes(state);
    const none = this.changes.length === 0 && state.notes.length === 0;
    const nodes = state.rows.reduce((sum, row) => sum + (row.left_out || 1), 0);
    replace(this.same, h('b', {}, 'No difference. '), `${nodes.toLocaleString('en')} nodes are the same.`);
    this.same.hidden = !none || state.rows.some(row => row.status !== 'same');
    this.steps.forEach(one => (one.hidden = this.changes.length === 0));
    setText(
      this.rest,
      state.truncated > 0 ? `${state.truncated.toLocaleString('en')} more rows are not drawn.` : ''
    );
    this.rest.hidden = state.truncated === 0;
    setText(
      this.sideTitle,
      `${this.changes.length.toLocaleString('en')} difference${this.changes.length === 1 ? '' : 's'}`
    );
    this.sideBox.hidden = this.changes.length === 0;
  }

  /** What is different besides nodes; of many lines the first, as the nodes are what a person looks for. */
  private showNotes({ notes }: DiffState): void {
    const shown = this.allNotes || notes.length <= MOST_NOTES + 1 ? notes : notes.slice(0, MOST_NOTES);
    const left = notes.length - shown.length;
    const more = button(`and ${left} more`, () => this.unfoldNotes(), {
      class: 'wb-button wb-button-plain',
      'data-testid': 'wb-diff-more-notes'
    });
    replace(this.notes, ...shown.map(note => h('li', {}, note)), left > 0 ? h('li', {}, more) : null);
    this.notes.hidden = notes.length === 0;
  }

  private unfoldNotes(): void {
    this.allNotes = true;
    if (this.state) {
      this.showNotes(this.state);
    }
    this.notes.focus();
  }

  /** How many there are of a kind; of differences a button that goes to the next one. */
  private count(status: DiffRow['status'], count: number): HTMLElement {
    const parts = [
      SIGNS[status] ? h('span', { class: 'wb-d-sign', 'aria-hidden': 'true' }, SIGNS[status]) : null,
      h('b', {}, count.toLocaleString('en')),
      ` ${WORDS[status]}`
    ];
    if (status === 'same' || status === 'follows') {
      return h('span', { class: 'wb-d-count wb-quiet' }, ...parts);
    }
    const element = h(
      'button',
      {
        type: 'button',
        class: 'wb-button wb-d-count',
        'data-status': status,
        title: `Next one that was ${status}`
      },
      ...parts
    );
    element.addEventListener('click', () => this.step(1, status));
    return element;
  }

  private rebuild(state: DiffState): void {
    const at = this.main.at;
    const top = at >= 0 ? this.main.top(at) : 0;
    this.shown = items(state.rows, this.open, this.all);
    const { shown, mode, theme } = this;
    const current = this.itemOf(this.row);
    this.main.reset(
      {
        count: shown.length,
        height: index => heightOf(shown[index]!, mode),
        build: index => {
          const item = shown[index]!;
          if (item.kind === 'fold') {
            return buildFold(item.text, state.rows[item.from]!.left_out === 0);
          }
          const above = (side: Side): DiffNode | null => before(state.rows, item.index, side);
          return buildRow(item.row, above, mode, theme.dark);
        }
      },
      current
    );
    if (current >= 0 && at >= 0) {
      this.main.keep(current, top);
    }
    this.side.reset(
      {
        count: this.changes.length,
        height: () => 24,
        build: index => this.entry(state.rows[this.changes[index]!]!)
      },
      this.changes.indexOf(this.row)
    );
    this.heads.dataset['mode'] = mode;
    const title = (name: string, side: 'before' | 'after'): HTMLElement => {
      const count = state.rows.reduce((sum, row) => sum + (row.left_out || (nodeOf(row, side) ? 1 : 0)), 0);
      return h(
        'div',
        { class: 'wb-d-title' },
        `${side} · ${name} · ${count.toLocaleString('en')} node${count === 1 ? '' : 's'}`
      );
    };
    const sides = [title(state.before, 'before'), title(state.after, 'after')] as const;
    replace(this.heads, ...(mode === 'split' ? [sides[0], h('div'), sides[1]] : sides));
    this.unfold.setAttribute('aria-pressed', String(this.all));
    this.unfold.hidden = !this.all && !shown.some(item => item.kind === 'fold');
  }

  private entry(row: DiffRow): HTMLElement {
    const [before, after] = [nodeOf(row, 'before'), nodeOf(row, 'after')];
    const node = shownNode(row);
    const op = before && after && before.op !== after.op ? `${before.op} → ${after.op}` : (node?.op ?? '');
    return h(
      'div',
      { 'data-status': row.status, 'data-testid': 'wb-diff-entry' },
      said(row),
      h(
        'div',
        { class: 'wb-d-entry', 'data-status': row.status, title: `${op} ${node?.place ?? ''}` },
        h('span', { class: 'wb-d-sign', 'aria-hidden': 'true' }, SIGNS[row.status]),
        h('span', { class: 'wb-d-op' }, op),
        h('span', { class: 'wb-d-place' }, node?.place ?? '')
      )
    );
  }

  // ---------------------------------------------------------------------------------------------- choosing

  private itemOf(row: number): number {
    return this.shown.findIndex(item =>
      item.kind === 'row' ? item.index === row : row >= item.from && row < item.to
    );
  }

  /** A row was chosen in the large list. */
  private picked(index: number): void {
    const item = this.shown[index];
    if (item?.kind === 'row') {
      this.row = item.index;
      const change = this.changes.indexOf(item.index);
      if (change >= 0) {
        this.side.go(change);
      }
      this.tell(item.row);
    }
    this.say();
  }

  private enter(index: number): void {
    const item = this.shown[index];
    if (item?.kind === 'fold' && this.state!.rows[item.from]!.left_out === 0) {
      this.open.add(item.from);
      this.row = item.from;
      this.frame.request();
    }
  }

  /** Goes to a row, and tells of it. */
  private jump(row: number): void {
    this.reveal(row);
    const change = this.changes.indexOf(row);
    if (change >= 0) {
      this.side.go(change);
    }
    this.tell(this.state!.rows[row]!);
    this.say();
  }

  /** Goes to a row that may be folded. */
  private reveal(row: number): void {
    const item = this.shown[this.itemOf(row)];
    this.row = row;
    if (item?.kind === 'fold') {
      this.open.add(item.from);
      this.draw();
    }
    this.main.go(this.itemOf(row));
    this.say();
  }

  private step(by: 1 | -1, status?: DiffRow['status']): void {
    const { rows } = this.state!;
    const fits = (row: DiffRow): boolean =>
      status === undefined ||
      row.status === status ||
      (row.status === 'replaced' && (status === 'added' || status === 'removed'));
    const candidates = this.changes.filter(index => fits(rows[index]!));
    if (candidates.length === 0) {
      return;
    }
    const next =
      by > 0
        ? (candidates.find(index => index > this.row) ?? candidates[0]!)
        : ([...candidates].reverse().find(index => index < this.row) ?? candidates.at(-1)!);
    this.jump(next);
  }

  private tell(row: DiffRow): void {
    const id = row.after?.id;
    if (id === undefined) {
      return;
    }
    this.host.select?.({ node: id, from: 'diff' });
    this.asked += 1;
    void this.send({ type: 'select', id }).then(() => {
      this.asked -= 1;
    });
  }

  private follow(id: string | null): void {
    const row = this.state?.rows.findIndex(one => one.after?.id === id) ?? -1;
    if (row >= 0) {
      this.reveal(row);
    }
  }

  private say(): void {
    const row = this.state?.rows[this.row];
    const node = row && shownNode(row);
    const key = node ? `${this.row} ${node.id}` : '';
    if (this.readout.dataset['for'] === key) {
      return;
    }
    this.readout.dataset['for'] = key;
    const { openSource } = this.host;
    if (!row || !node) {
      replace(this.readout);
      return;
    }
    const source =
      node.source && openSource
        ? button(node.source, () => openSource(node.source), { class: 'wb-button wb-button-plain' })
        : node.source;
    const names = new Set([nodeOf(row, 'before')?.id, nodeOf(row, 'after')?.id].filter(Boolean));
    const words = [WORDS[row.status], node.place, [...names].map(name => `%${name}`).join(' → ')].filter(
      Boolean
    );
    replace(this.readout, h('b', {}, node.op), ` · ${words.join(' · ')} · `, source);
  }

  private showAll(): void {
    this.all = !this.all;
    this.open = new Set();
    this.frame.request();
  }

  private key(event: KeyboardEvent): void {
    if (event.target instanceof HTMLInputElement) {
      return; // letters that are typed
    }
    if ((event.key === 'n' || event.key === 'p') && !event.ctrlKey && !event.metaKey && !event.altKey) {
      this.step(event.key === 'n' ? 1 : -1);
      event.preventDefault();
      event.stopPropagation();
    }
  }

  // ------------------------------------------------------------------------------------------------- files

  private countText(state: DiffState): string {
    return state.counts
      .map(([status, count]) => `${count} ${WORDS[status as DiffRow['status']]}`)
      .join(' · ');
  }

  private drawing(state: DiffState): SVGSVGElement {
    const picture = sheet(this.shown, [`before · ${state.before}`, `after · ${state.after}`], this.theme);
    // Styles can only be read from elements of the page.
    picture.style.position = 'absolute';
    picture.style.visibility = 'hidden';
    this.element.appendChild(picture);
    setTimeout(() => picture.remove(), 0);
    return picture;
  }

  private table(state: DiffState): string {
    return csv([
      ['status', 'before', 'after', 'where', 'line', 'what'],
      ...state.rows
        .filter(row => row.left_out === 0)
        .map(row => [
          row.status,
          nodeOf(row, 'before')?.op ?? '',
          nodeOf(row, 'after')?.op ?? '',
          shownNode(row)?.place ?? '',
          shownNode(row)?.source ?? '',
          row.what.join('; ')
        ])
    ]);
  }
}

/** The view of differences: the nodes of two graphs beside each other, and a list of what changed. */
export const mountDiff: Mount<DiffState, DiffViewEvent> = (root, host, options) =>
  new DiffView(root, host, options);
