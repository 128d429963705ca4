/** Which scopes are open, whether parameters are shown, and the tree and layout that follow from it. */
import type { GraphState } from '../protocol';
import { dimensionText } from '../common/parts';
import type { Look } from './face';
import { layoutGraph, PLAIN, type Box, type GraphLayout } from './layout';
import type { Room } from './levels';
import { around, background, buildTree, openings, standIn, type Item, type Scope, type Tree } from './tree';

/** About so many items are seen at first; deeper scopes are folded. */
const FIRST_ITEMS = 48;

/** A picture wider than this part more than its room is opened less: its nodes would be too small to be read. */
const TOO_WIDE = 1.25;
/** Pictures of more items are not laid out anew when their room changes. */
const MOST_REFILLED = 600;
/** The room of a view that has no size yet. */
const USUAL: Room = { width: 860, height: 500 };

/** A graph as it is unfolded. */
export class Folds {
  tree: Tree | null = null;
  layout: GraphLayout | null = null;
  look: Look = PLAIN;
  private state: GraphState | null = null;
  private open = new Set<string>();
  /** Whether a person has opened or folded something: from then on nothing opens or folds by itself. */
  private chosen = false;
  private room: Room = USUAL;

  /** Builds the tree anew; a graph of the same shape keeps what a person opened. */
  plant(state: GraphState, other: boolean, room: Room | null = null): void {
    this.state = state;
    this.room = room ?? this.room;
    this.grow();
    if (other) {
      this.chosen = false;
    }
    this.arrange();
  }

  /** Shows or hides parameters, sizes of any run. */
  show(look: Partial<Look>): void {
    this.look = { ...this.look, ...look };
    if (this.state && this.tree) {
      const known = new Set(this.tree.scopes.keys());
      this.grow();
      // A scope that only came to be because of what is shown now would hide just that.
      [...this.tree.scopes.keys()].filter(id => !known.has(id)).forEach(id => this.open.add(id));
      this.arrange();
    }
  }

  /** Takes up the room that the picture has; true where it was laid out anew. */
  fill(room: Room): boolean {
    const near = (a: number, b: number): boolean => Math.abs(a - b) < 24;
    if (near(room.width, this.room.width) && near(room.height, this.room.height)) {
      return false;
    }
    this.room = room;
    // What is larger than anybody takes in at once fills every room, and is not laid out again for another.
    if (!this.layout || this.layout.boxes.size > MOST_REFILLED) {
      return false;
    }
    this.arrange();
    return true;
  }

  /** Opens all scopes, or folds them. */
  unfold(all: boolean): void {
    this.open = new Set(all ? this.tree?.scopes.keys() : []);
    this.chosen = true;
    this.arrange();
  }

  /** Opens or folds one scope. */
  toggle(scope: Scope): void {
    if (!this.open.delete(scope.id)) {
      this.open.add(scope.id);
    }
    this.chosen = true;
    this.arrange();
  }

  /** Opens what hides a node; false where it is to be seen already. */
  reveal(id: string): boolean {
    const hidden = this.tree?.nodes.has(id) === true && !this.layout?.boxes.has(id);
    if (hidden) {
      around(this.tree!, id).forEach(scope => this.open.add(scope.id));
      this.chosen = true;
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

  private grow(): void {
    const { nodes, edges } = this.state!;
    this.tree = buildTree(
      this.state!,
      this.look.parameters ? new Set<string>() : background({ nodes, edges })
    );
  }

  private arrange(): void {
    if (!this.tree) {
      return;
    }
    if (this.chosen) {
      this.layout = layoutGraph(this.tree, this.open, this.look, this.room);
      return;
    }
    for (const open of openings(this.tree, FIRST_ITEMS).reverse()) {
      this.open = open;
      this.layout = layoutGraph(this.tree, open, this.look, this.room);
      if (this.layout.width <= this.room.width * TOO_WIDE) {
        return;
      }
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
