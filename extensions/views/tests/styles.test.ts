import { describe, expect, it } from 'vitest';
import { DIFF_CSS } from '../src/diff/css';
import { GRAPH_CSS } from '../src/graph/css';
import { HEATMAP_CSS } from '../src/heatmap/css';
import { HISTOGRAM_CSS } from '../src/histogram/css';
import { RUNS_CSS } from '../src/runs/css';
import { SCATTER_CSS } from '../src/scatter/css';
import { SHAPES_CSS } from '../src/shapes/css';
import { TRAINING_CSS } from '../src/training/css';

const SHEETS = {
  diff: DIFF_CSS,
  graph: GRAPH_CSS,
  heatmap: HEATMAP_CSS,
  histogram: HISTOGRAM_CSS,
  runs: RUNS_CSS,
  scatter: SCATTER_CSS,
  shapes: SHAPES_CSS,
  training: TRAINING_CSS
};

/** The classes that a sheet's rules begin with: what they style wherever it stands. */
function classesOf(sheet: string): Set<string> {
  const rules = sheet.replace(/\/\*.*?\*\//gs, '').matchAll(/([^{}]+)\{/g);
  const selectors = [...rules].flatMap(([, list]) => list!.split(','));
  return new Set(selectors.flatMap(one => /^\s*\.(wb-[\w-]+)/.exec(one)?.[1] ?? []));
}

describe('style sheets', () => {
  it('of two views style no class alike: all of them lie in the head of one page', () => {
    const owners = new Map<string, string[]>();
    for (const [view, sheet] of Object.entries(SHEETS)) {
      for (const name of classesOf(sheet)) {
        owners.set(name, [...(owners.get(name) ?? []), view]);
      }
    }
    expect(owners.get('wb-cloud')).toEqual(['scatter']);
    expect([...owners].filter(([, views]) => views.length > 1)).toEqual([]);
  });
});
