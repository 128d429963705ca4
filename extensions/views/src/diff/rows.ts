/** What the list shows of the rows of a difference: stretches of what is the same are folded, as a person left them. */
import type { DiffNode, DiffRow } from '../protocol';
import type { Entry } from '../common/finder';

/** A row, or a stretch of rows that are the same. */
export type Item =
  | { readonly kind: 'row'; readonly index: number; readonly row: DiffRow }
  | {
      readonly kind: 'fold';
      readonly from: number;
      readonly to: number;
      readonly count: number;
      readonly text: string;
    };

/** How many unchanged rows stay beside a difference, and how many at least are worth folding. */
const AROUND = 1;
const SHORTEST = 4;

/** One of the two graphs. */
export type Side = 'before' | 'after';

/** What stands before a row of each kind: colour alone says nothing. */
export const SIGNS: Readonly<Record<DiffRow['status'], string>> = {
  same: '',
  follows: '·',
  changed: '~',
  moved: '›',
  added: '+',
  removed: '−',
  replaced: '±'
};

/** Each kind in words. */
export const WORDS: Readonly<Record<DiffRow['status'], string>> = {
  same: 'the same',
  follows: 'of another type by what they read',
  changed: 'changed',
  moved: 'moved',
  added: 'added',
  removed: 'removed',
  replaced: 'replaced'
};

/** Whether a row is a difference of its own. */
export function differs(row: DiffRow): boolean {
  return row.status !== 'same' && row.status !== 'follows';
}

/** The node of a row on one side; null where it has none there. */
export function nodeOf(row: DiffRow, side: Side): DiffNode | null {
  return side === 'after' ? row.after : (row.before ?? (row.status === 'added' ? null : row.after));
}

/** The node above a row on one side; what is further away says nothing of a row. */
export function before(rows: readonly DiffRow[], index: number, side: Side): DiffNode | null {
  for (let i = index - 1; i >= 0 && i > index - 20; i--) {
    const node = nodeOf(rows[i]!, side);
    if (node) {
      return node;
    }
  }
  return null;
}

/** A row's node, as it is after if it is there. */
export function shownNode(row: DiffRow): DiffNode | null {
  return row.after ?? row.before;
}

/** The rows that a search looks at, with their places: a stretch that was left out has nothing to be found by. */
export function findable(rows: readonly DiffRow[]): (readonly [number, DiffRow])[] {
  return rows.flatMap((row, index) => (row.left_out === 0 ? [[index, row] as const] : []));
}

/** What a row is found by: kind, ops, places, names, types, lines and dims of both sides, and what is different. */
export function hay(row: DiffRow): string {
  const known = [WORDS[row.status], ...row.what];
  for (const node of [row.before, row.after]) {
    if (node) {
      const dims = node.dims.map(dim => dim.name ?? '').join(' ');
      const path = [node.place, node.op].filter(Boolean).join('.');
      known.push(node.op, path, node.place, node.id, node.dtype, node.source, dims);
    }
  }
  return known.join('\n');
}

/** How a row stands in the list of what was found. */
export function entryOf(row: DiffRow, index: number): Entry {
  const node = shownNode(row);
  const name = `${SIGNS[row.status]} ${node?.op ?? ''}`.trim();
  const title = [WORDS[row.status], node?.op, node?.place, node?.source].filter(Boolean).join(' · ');
  return { id: String(index), name, where: node?.place ?? '', title };
}

/** Rows with unchanged stretches folded, but for those that begin with a row in `open`. */
export function items(rows: readonly DiffRow[], open: ReadonlySet<number>, all: boolean): Item[] {
  const found: Item[] = [];
  let start = 0;
  for (let i = 0; i <= rows.length; i++) {
    if (i < rows.length && !differs(rows[i]!)) {
      continue;
    }
    // At the ends of the graph nothing stands beside.
    const from = start === 0 ? 0 : start + AROUND;
    const to = i === rows.length ? i : i - AROUND;
    const fold = !all && to - from >= SHORTEST && !open.has(from);
    for (let k = start; k < i; k++) {
      if (fold && k === from) {
        found.push(folded(rows, from, to));
      }
      if (!fold || k < from || k >= to) {
        found.push(rows[k]!.left_out > 0 ? folded(rows, k, k + 1) : { kind: 'row', index: k, row: rows[k]! });
      }
    }
    if (i < rows.length) {
      found.push({ kind: 'row', index: i, row: rows[i]! });
    }
    start = i + 1;
  }
  return found;
}

function folded(rows: readonly DiffRow[], from: number, to: number): Item {
  const stretch = rows.slice(from, to);
  const count = stretch.reduce((sum, row) => sum + (row.left_out || 1), 0);
  const follow = stretch.filter(row => row.status === 'follows').length;
  const ops = new Map<string, number>();
  for (const row of stretch) {
    const op = shownNode(row)?.op;
    if (op) {
      ops.set(op, (ops.get(op) ?? 0) + 1);
    }
  }
  const most = [...ops].sort((a, b) => b[1] - a[1]).slice(0, 5);
  const names = most.map(([op, times]) => (times > 1 ? `${op} ×${times}` : op));
  const same = `${(count - follow).toLocaleString('en')} the same`;
  const parts = [follow < count ? same : '', follow > 0 ? `${follow} of another type by what they read` : ''];
  const rest = names.length > 0 ? `: ${names.join(', ')}${ops.size > most.length ? ', …' : ''}` : '';
  return { kind: 'fold', from, to, count, text: parts.filter(Boolean).join(', ') + rest };
}
