/** One row of a difference as elements: side by side, or both graphs in one column. */
import type { DiffNode, DiffRow } from '../protocol';
import { h } from '../common/dom';
import { chip } from '../common/parts';
import { nodeOf, shownNode, SIGNS, WORDS, type Item, type Side } from './rows';

/** Side by side, or one under the other. */
export type Mode = 'split' | 'joined';

export const LINE = 26;
export const WHAT = 17;

/** How high an item is. */
export function heightOf(item: Item, mode: Mode): number {
  if (item.kind === 'fold') {
    return LINE;
  }
  const lines = mode === 'joined' && item.row.status === 'replaced' ? 2 : 1;
  return lines * LINE + item.row.what.length * WHAT;
}

/** What a type is called. */
function typeText(node: DiffNode | null): string {
  return node ? `${node.dtype} ${node.dims.map(dim => `${dim.name ?? ''} ${dim.size}`).join(',')}` : '';
}

/** The type of what a node gives: written where it is another one than above, as shapes are on edges. */
function type(node: DiffNode, above: DiffNode | null, dark: boolean): HTMLElement | null {
  if (typeText(node) === typeText(above)) {
    return null;
  }
  return h(
    'span',
    { class: 'wb-d-type' },
    h('code', {}, node.dtype),
    ...node.dims.slice(0, 6).map(dim => chip(dim, dark))
  );
}

function cell(
  node: DiffNode | null,
  status: 'changed' | 'moved' | 'added' | 'removed' | null,
  sign: string,
  above: DiffNode | null,
  dark: boolean
): HTMLElement {
  if (!node) {
    return h('div', { class: 'wb-d-cell wb-d-none' });
  }
  return h(
    'div',
    {
      class: 'wb-d-cell',
      'data-status': status,
      title: [node.op, node.place, node.source].filter(Boolean).join(' · ')
    },
    h('span', { class: 'wb-d-sign', 'aria-hidden': 'true' }, sign),
    h('span', { class: 'wb-d-op' }, node.op),
    h('span', { class: 'wb-d-place' }, node.place),
    type(node, above, dark)
  );
}

function marked(row: DiffRow, side: Side): 'changed' | 'moved' | 'added' | 'removed' | null {
  switch (row.status) {
    case 'changed':
    case 'moved':
      return row.status;
    case 'replaced':
      return side === 'before' ? 'removed' : 'added';
    case 'added':
    case 'removed':
      return row.status;
    default:
      return null;
  }
}

/** What happened to a row, for people who listen: a sign is not read out. */
export function said(row: DiffRow): HTMLElement {
  return h('span', { class: 'wb-hidden' }, `${WORDS[row.status]}: `);
}

/** The element of a row; `above` gives the node above it on each side. */
export function buildRow(
  row: DiffRow,
  above: (side: Side) => DiffNode | null,
  mode: Mode,
  dark: boolean
): HTMLElement {
  const part = (side: Side): HTMLElement => {
    const status = marked(row, side);
    const sign = row.status === 'replaced' ? SIGNS[status!] : SIGNS[row.status];
    return cell(nodeOf(row, side), status, sign, above(side), dark);
  };
  const what = row.what.map(line =>
    h('div', { class: 'wb-d-what', 'data-status': row.status, title: line }, line)
  );
  const element = h('div', { 'data-kind': 'row', 'data-status': row.status, 'data-testid': 'wb-diff-row' });
  element.append(said(row));
  element.dataset['node'] = shownNode(row)?.id ?? '';
  if (mode === 'split') {
    const one = nodeOf(row, 'before') && nodeOf(row, 'after');
    const join = one ? (row.status === 'follows' ? 'same' : row.status) : 'none';
    element.append(
      h(
        'div',
        { class: 'wb-d-line', 'data-mode': mode },
        part('before'),
        h('div', { class: 'wb-d-join', 'data-join': join }),
        part('after')
      )
    );
  } else if (row.status === 'replaced') {
    element.append(part('before'), part('after'));
  } else {
    element.append(part(row.status === 'removed' ? 'before' : 'after'));
  }
  element.append(...what);
  return element;
}

/** The element of a folded stretch. */
export function buildFold(text: string, sent: boolean): HTMLElement {
  return h(
    'div',
    { 'data-kind': 'fold', 'data-testid': 'wb-diff-fold' },
    h(
      'div',
      { class: 'wb-d-fold' },
      h('span', { class: 'wb-d-sign', 'aria-hidden': 'true' }, sent ? '⋯' : ''),
      h('span', { title: text }, text)
    )
  );
}
