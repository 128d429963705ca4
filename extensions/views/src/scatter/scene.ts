/** What the parts around the cloud read, and what they may ask for. */
import type { Answer } from '../host';
import type { ScatterState, ScatterViewEvent } from '../protocol';
import type { Arrangement } from './arrangement';
import { numberOf, type Cloud } from './cloud';
import { textOf, type Column } from './columns';

/** Everything there is to see at one moment. */
export interface Scene {
  readonly state: ScatterState;
  readonly cloud: Cloud;
  readonly columns: ReadonlyMap<string, Column>;
  readonly now: Arrangement;
  /** One byte a point, 1 where it is shown; null where all are. */
  readonly shown: Uint8Array | null;
  /** What a person has chosen, whether Python has answered or not. */
  readonly selected: readonly number[];
  readonly dark: boolean;
  /** Whether there is nobody who computes: a published page. */
  readonly alone: boolean;
}

/** What parts ask of the view. */
export interface Asks {
  /** Arranges the picture otherwise; steps of one kind after one another are undone together. */
  arrange(change: Partial<Arrangement>, kind?: string): void;
  /** Selects points. */
  choose(points: readonly number[]): void;
  /** Points at one, or at none. */
  point(point: number | null): void;
  /** Marks what a search found; returns nothing. */
  mark(points: readonly number[]): void;
  /** Asks Python. */
  send(event: ScatterViewEvent): Promise<Answer | void>;
  /** The camera as a bookmark keeps it. */
  arrangement(): Arrangement;
  copy(text: string): void;
  save(name: string, data: Blob): void;
  /** Says what is wrong, where a person reads it. */
  wrong(text: string): void;
}

/** One of the parts. */
export interface Part {
  readonly element: HTMLElement;
  update(scene: Scene): void;
}

/** What names a point: its label, or its number. */
export function pointName(scene: Scene, point: number): string {
  const column = scene.columns.get(scene.now.label);
  return (column && textOf(column, point)) || `point ${numberOf(scene.cloud, point)}`;
}

/** What tells a point from others of its label: its name, or its number as the search takes it; empty where the label does. */
export function ownName(scene: Scene, point: number): string {
  const column = scene.columns.get(scene.now.label);
  const names = scene.columns.get('name');
  if (column?.kind !== 'category') {
    return '';
  }
  return (names && names !== column && textOf(names, point)) || `#${numberOf(scene.cloud, point)}`;
}
