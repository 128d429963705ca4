/** The runs of a log: shown or put away, found by a pattern, picked out, and their values where the cursor is. */
import type { RunsState } from '../protocol';
import { h, replace, setText } from '../common/dom';
import { exact, figure, grouped } from '../common/numbers';
import { button } from '../common/parts';
import { runColour } from '../training/lines';

/** Whom the list tells. */
export interface RailHost {
  /** Other runs are put away. */
  changed(): void;
  /** Other runs are picked out. */
  picked(): void;
}

interface Row {
  readonly element: HTMLElement;
  readonly box: HTMLButtonElement;
  readonly name: HTMLButtonElement;
  readonly value: HTMLElement;
}

/** The list with its state. */
export class Rail {
  readonly element: HTMLElement;
  /** Runs that a person put away. */
  private put = new Set<number>();
  /** Runs that brushes in the table leave out. */
  private brushed: ReadonlySet<number> = new Set();
  /** Runs that are picked out; the others step back. */
  readonly picked = new Set<number>();
  private readonly field = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: 'runs: a pattern',
    'aria-label': 'Show only runs whose names match this regular expression',
    'data-testid': 'wb-find-runs'
  });
  private readonly list = h('div', { class: 'wb-runs-list', role: 'list', 'aria-label': 'Runs' });
  private readonly note = h('span', { class: 'wb-quiet', 'data-testid': 'wb-runs-note' });
  private rows: Row[] = [];
  private runs: RunsState['runs'] = [];

  constructor(private readonly host: RailHost) {
    this.element = h(
      'div',
      { class: 'wb-runs-rail', 'data-testid': 'wb-runs-rail' },
      h(
        'div',
        { class: 'wb-runs-rail-head' },
        this.field,
        button('all', () => this.set(new Set()), {
          'data-testid': 'wb-all-runs',
          'aria-label': 'all: show all runs'
        }),
        button('none', () => this.set(new Set(this.runs.keys())), {
          'data-testid': 'wb-no-runs',
          'aria-label': 'none: put all runs away'
        })
      ),
      this.list,
      this.note
    );
    this.field.addEventListener('input', () => this.find());
    this.field.addEventListener('keydown', event => {
      if (event.key === 'Escape' && this.field.value !== '') {
        this.field.value = '';
        this.find();
        event.stopPropagation();
      }
    });
  }

  /** Runs that are not drawn. */
  get hidden(): ReadonlySet<number> {
    return new Set([...this.put, ...this.brushed]);
  }

  /** Takes the runs that there are; which of them are put away is Python's word where `theirs`. */
  accept({ runs, runs_left_out }: RunsState, theirs: boolean, dark: boolean): void {
    this.runs = runs;
    if (theirs) {
      this.put = new Set(
        [...runs.keys()].filter(number => !runs[number]!.shown && !this.brushed.has(number))
      );
    }
    const key = JSON.stringify([runs.map(run => run.name), dark]);
    if (this.list.dataset['key'] !== key) {
      this.list.dataset['key'] = key;
      this.rows = runs.map((run, number) => this.row(run, number, dark));
      replace(this.list, ...this.rows.map(row => row.element));
    }
    runs.forEach((run, number) => {
      const facts = `${run.name}\n${grouped(run.values)} scalars, last step ${grouped(run.last)}`;
      this.rows[number]!.name.title = facts;
    });
    const more =
      runs_left_out > 0
        ? `the first ${grouped(runs.length)} of ${grouped(runs.length + runs_left_out)} runs`
        : '';
    setText(this.note, more);
    this.mark();
  }

  /** Leaves out what brushes leave out. */
  brush(runs: ReadonlySet<number>): void {
    this.brushed = runs;
    this.mark();
    this.host.changed();
  }

  /** Picks runs out, or lets them go where all of them are. */
  pick(runs: readonly number[]): void {
    const all = runs.every(run => this.picked.has(run)) && this.picked.size === runs.length;
    this.picked.clear();
    if (!all) {
      runs.forEach(run => this.picked.add(run));
    }
    this.mark();
    this.host.picked();
  }

  /** Writes what runs have where the cursor is; the one that is pointed at stands out. */
  read(values: ReadonlyMap<number, number>, pointed: number | null): void {
    this.rows.forEach(({ element, value }, number) => {
      const one = values.get(number);
      setText(value, one === undefined ? '' : figure(Number.isNaN(one) ? Number.NaN : one));
      value.title = one === undefined ? '' : exact(one);
      element.toggleAttribute('data-pointed', number === pointed);
    });
  }

  private row(run: RunsState['runs'][number], number: number, dark: boolean): Row {
    const box = h('button', {
      type: 'button',
      class: 'wb-runs-box',
      role: 'checkbox',
      'aria-label': `Show ${run.name}`,
      'data-testid': 'wb-run',
      'data-run': number
    });
    box.style.setProperty('--wb-run', runColour(number, dark));
    box.addEventListener('click', () => {
      const next = new Set(this.put);
      if (!next.delete(number)) {
        next.add(number);
      }
      this.set(next);
    });
    const name = h(
      'button',
      { type: 'button', class: 'wb-runs-name', 'data-testid': 'wb-pick-run', 'data-run': number },
      run.name
    );
    name.addEventListener('click', () => this.pick([number]));
    const value = h('span', { class: 'wb-runs-value' });
    return {
      element: h('div', { role: 'listitem', class: 'wb-runs-row' }, box, name, value),
      box,
      name,
      value
    };
  }

  private set(put: Set<number>): void {
    this.put = put;
    this.mark();
    this.host.changed();
  }

  private find(): void {
    let pattern: RegExp;
    try {
      pattern = new RegExp(this.field.value, 'i');
    } catch {
      this.field.setAttribute('aria-invalid', 'true');
      setText(this.note, 'this is no regular expression');
      return;
    }
    this.field.removeAttribute('aria-invalid');
    const matches = [...this.runs.keys()].filter(number => pattern.test(this.runs[number]!.name));
    setText(
      this.note,
      this.field.value === '' ? '' : `${grouped(matches.length)} of ${grouped(this.runs.length)} runs`
    );
    const found = new Set(matches);
    this.rows.forEach((row, number) => {
      row.element.hidden = !found.has(number);
    });
    this.set(new Set([...this.runs.keys()].filter(number => !found.has(number))));
  }

  private mark(): void {
    this.rows.forEach(({ element, box, name }, number) => {
      const out = this.brushed.has(number);
      box.setAttribute('aria-checked', String(!this.put.has(number) && !out));
      box.disabled = out;
      box.title = out ? 'Left out by what is brushed in the table' : '';
      name.setAttribute('aria-pressed', String(this.picked.has(number)));
      element.toggleAttribute('data-away', this.put.has(number) || out);
    });
  }
}
