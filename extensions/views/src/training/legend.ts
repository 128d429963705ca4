/** The legend of a chart: what each curve is, its value, and what of it cannot be drawn. */
import { h, replace, setText } from '../common/dom';
import { exact, figure, grouped } from '../common/numbers';
import { middleOut } from '../common/text';
import { writing, type Drawn } from './lines';

/** Longer names than this lose their middle; the legend takes another line before that. */
const LONGEST_RUN = 40;

/** What a curve is called in a chart; `runs` is empty where nothing is compared. */
export function labelOf({ line }: Drawn, runs: readonly string[]): string {
  const run = runs[line.run];
  return run ? `${middleOut(run, LONGEST_RUN)} ${line.part}`.trimEnd() : line.part;
}

/** The entries, right of the title. */
export class Legend {
  readonly element = h('span', { class: 'wb-chart-legend' });
  private readonly values = new Map<Drawn, HTMLElement>();

  /** Says in place of entries how many curves there are. */
  count(words: string): void {
    this.values.clear();
    replace(this.element, h('span', {}, words));
  }

  /** Writes an entry a curve, those of one run together, and a `note` behind them. */
  draw(drawn: readonly Drawn[], runs: readonly string[], log: boolean, note: string): void {
    this.values.clear();
    const several = drawn.length > 1 || drawn.some(one => one.line.part === 'validation');
    const groups = new Map<number, HTMLElement>();
    const entries = drawn.map((one, index) => {
      const run = runs[one.line.run];
      if (run === undefined) {
        return this.entry(one, several, true, `${one.line.part} `, log);
      }
      const again = drawn[index - 1]?.line.run === one.line.run;
      const dashes = one.line.part === 'validation' ? '╌╌ ' : '';
      const entry = this.entry(
        one,
        true,
        !again,
        again ? dashes : `${middleOut(run, LONGEST_RUN)} ${dashes}`,
        log
      );
      entry.title = [run, one.line.part].filter(Boolean).join(', ');
      const group = groups.get(one.line.run) ?? h('span', { class: 'wb-chart-run' });
      group.append(entry);
      groups.set(one.line.run, group);
      return group;
    });
    replace(this.element, ...new Set(entries), note === '' ? null : h('span', {}, note));
  }

  /** Writes the value that a curve has where the cursor is. */
  write(one: Drawn, value: number | undefined): void {
    const text = this.values.get(one);
    if (text) {
      setText(text, value === undefined ? figure(null) : writing(one.line.kind)(value));
      text.title = exact(value);
    }
  }

  private entry(one: Drawn, named: boolean, marked: boolean, name: string, log: boolean): HTMLElement {
    const { part, missing, values } = one.line;
    const value = h('span', { class: 'wb-chart-value' });
    this.values.set(one, value);
    const swatch = h('i', { 'aria-hidden': 'true', 'data-part': part });
    swatch.style.color = one.colour;
    return h(
      'span',
      {},
      named && marked ? swatch : null,
      named ? name : null,
      value,
      missing > 0 ? h('span', { class: 'wb-loud' }, ` ✕ ${grouped(missing)} not finite`) : null,
      log && values.some(number => number <= 0) ? ' · what is not above 0 is not drawn' : null
    );
  }
}
