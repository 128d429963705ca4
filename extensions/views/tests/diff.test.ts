import { describe, expect, it } from 'vitest';
import { search } from '../src/common/search';
import { before, differs, entryOf, findable, hay, items, nodeOf, SIGNS } from '../src/diff/rows';
import type { DiffNode, DiffRow } from '../src/protocol';

function node(op: string): DiffNode {
  return { id: op, op, place: '', source: '', dtype: 'f32', dims: [] };
}

function row(status: DiffRow['status'], op = 'relu'): DiffRow {
  const both = { before: null, after: node(op), what: [], left_out: 0 };
  return status === 'removed' ? { ...both, status, before: node(op), after: null } : { ...both, status };
}

const same = (count: number): DiffRow[] => Array.from({ length: count }, (_, i) => row('same', `op${i}`));

describe('rows of a difference', () => {
  it('folds what is the same but for one row beside each difference', () => {
    const rows = [...same(6), row('changed'), ...same(7), row('added'), ...same(3)];
    const found = items(rows, new Set(), false);
    expect(found.map(item => (item.kind === 'fold' ? item.count : item.index))).toEqual([
      5, 5, 6, 7, 5, 13, 14, 15, 16, 17
    ]);
    expect(found.filter(item => item.kind === 'fold').map(item => [item.from, item.to])).toEqual([
      [0, 5],
      [8, 13]
    ]);
  });

  it('unfolds one stretch, or all', () => {
    const rows = [...same(6), row('changed'), ...same(7), row('added')];
    expect(items(rows, new Set([8]), false).filter(item => item.kind === 'fold')).toHaveLength(1);
    expect(items(rows, new Set(), true)).toHaveLength(rows.length);
  });

  it('folds all of what is the same where there is no difference', () => {
    expect(items(same(9), new Set(), false)).toMatchObject([{ kind: 'fold', count: 9 }]);
    expect(items([], new Set(), false)).toEqual([]);
  });

  it('counts what was not sent', () => {
    const rows = [...same(3), { ...row('same'), after: null, left_out: 900 }, ...same(3), row('added')];
    expect(items(rows, new Set(), false)[0]).toMatchObject({ kind: 'fold', count: 905 });
    // Shown or not, what was not sent cannot be unfolded.
    expect(items(rows, new Set(), true)[3]).toMatchObject({ kind: 'fold', count: 900 });
  });

  it('knows which node stands on which side', () => {
    expect(nodeOf(row('added'), 'before')).toBeNull();
    expect(nodeOf(row('removed'), 'after')).toBeNull();
    expect(nodeOf(row('same'), 'before')?.op).toBe('relu');
    expect(before([row('same', 'a'), row('removed', 'b'), row('same')], 2, 'after')?.op).toBe('a');
    expect(before([row('same', 'a'), row('removed', 'b'), row('same')], 2, 'before')?.op).toBe('b');
  });

  it('takes what follows for no difference of its own', () => {
    expect(differs(row('follows'))).toBe(false);
    const rows = [row('added'), ...same(3), row('follows'), ...same(3), row('added')];
    expect(items(rows, new Set(), false)[2]).toMatchObject({
      kind: 'fold',
      text: '4 the same, 1 of another type by what they read: op1 ×2, op2, relu, op0'
    });
  });
});

describe('searching a difference', () => {
  const found = (text: string, rows: DiffRow[]): string[] =>
    search(findable(rows), text, ([, one]) => hay(one)).found.map(([index, one]) => entryOf(one, index).name);
  const rows = [
    row('same', 'conv2d'),
    row('added', 'relu'),
    row('removed', 'batch_norm'),
    row('changed', 'conv2d')
  ];

  it('finds rows by kind, op and what both sides are called', () => {
    expect(found('conv', rows)).toEqual(['conv2d', `${SIGNS.changed} conv2d`]);
    expect(found('changed conv', rows)).toEqual([`${SIGNS.changed} conv2d`]);
    expect(found('^batch', rows)).toEqual([`${SIGNS.removed} batch_norm`]);
    expect(found('pool', rows)).toEqual([]);
  });

  it('knows nothing of a stretch that was not sent, and keeps the places of rows', () => {
    const cut = [{ ...row('same', 'relu'), after: null, left_out: 40 }, row('added', 'relu')];
    expect(findable(cut).map(([index]) => index)).toEqual([1]);
    expect(entryOf(cut[1]!, 1).id).toBe('1');
  });
});
