/** Which scopes are open, whether parameters are shown, and the tree and layout that follow from it. */
import type { GraphState } from '../protocol';
import { dimensionText } from '../common/parts';
import { layoutGraph, type Box, type GraphLayout } from './layout';
import {
  around,
  background,
  buildTree,
  openAtFirst,
  standIn,
  type Item,
  type Scope,
  type Tree
} from './tree';

/** About so many items are seen at first; deeper scopes are folded. */
const FIRST_ITEMS = 48;

/** A graph as it is unfolded. */
export class Folds {
  tree: Tree | null = null;
  layout: GraphLayout | null = null;
  /** Whether parameters and constants are shown. */
  everything = false;
  private open = new Set<string>();

  /** Builds the tree anew; a graph of the same shape keeps what a person opened. */
  plant(state: GraphState, other: boolean): void {
    this.tree = this.grow(state);
    if (other) {
      this.open = openAtFirst(this.tree, FIRST_ITEMS);
    }
    this.arrange();
  }

  /** Shows parameters and constants, or hides them. */
  showEverything(state: GraphState | null): void {
    this.everything = !this.everything;
    if (state && this.tree) {
      const known = new Set(this.tree.scopes.keys());
      this.tree = this.grow(state);
      // A scope that only came to be because of what is shown now would hide just that.
      [...this.tree.scopes.keys()].filter(id => !known.has(id)).forEach(id => this.open.add(id));
      this.arrange();
    }
  }

  /** Opens all scopes, or folds them. */
  unfold(all: boolean): void {
    this.open = new Set(all ? this.tree?.scopes.keys() : []);
    this.arrange();
  }

  /** Opens or folds one scope. */
  toggle(scope: Scope): void {
    if (!this.open.delete(scope.id)) {
      this.open.add(scope.id);
    }
    this.arrange();
  }

  /** Opens what hides a node; false where it is to be seen already. */
  reveal(id: string): boolean {
    const hidden = this.tree?.nodes.has(id) === true && !this.layout?.boxes.has(id);
    if (hidden) {
      around(this.tree!, id).forEach(scope => this.open.add(scope.id));
      this.arrange();
    }
    return hidden;
  }

  /** Where an item lies, if it is to be seen. */
  box(id: string | null): Box | undefined {
    return id === null ? undefined : this.layout?.boxes.get(id);
  }

  /** The item that is to be seen in a node's stead: itself, or the folded scope around it. */
  shownAs(id: string): string {
    return this.tree?.nodes.has(id) ? standIn(this.tree, this.open, id) : id;
  }

  /** The scope that Enter opens or folds on an item: itself, or the one around it. */
  scopeOf(item: Item): Scope | undefined {
    const scope = item.kind === 'scope' ? item.scope : this.tree?.home.get(item.id);
    return scope?.id === '' ? undefined : scope;
  }

  private grow(state: GraphState): Tree {
    return buildTree(state, this.everything ? new Set<string>() : background(state));
  }

  private arrange(): void {
    if (this.tree) {
      this.layout = layoutGraph(this.tree, this.open);
    }
  }
}

/** An item in words, for those who do not see it. */
export function described(item: Item): string {
  if (item.kind === 'scope') {
    return `scope ${item.scope.name}, ${item.open ? 'unfolded' : 'folded'}`;
  }
  const { node } = item;
  return `${node.kind} ${node.label}, ${node.op}, gives ${node.dims.map(dimensionText).join(', ') || 'a scalar'}`;
}
