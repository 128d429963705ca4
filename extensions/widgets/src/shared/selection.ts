import type { Selection } from '../../../views/src/host';

type Callback = (selection: Selection) => void;

/** The selection that all views on one kernel share within a page. */
export class SharedSelection {
  private readonly callbacks = new Set<Callback>();

  /** Tells every view but the one that speaks. */
  emit(selection: Selection, from: Callback | null): void {
    for (const callback of [...this.callbacks]) {
      if (callback !== from) {
        callback(selection);
      }
    }
  }

  /** Calls back at every selection of others; returns a function that ends it. */
  listen(callback: Callback): () => void {
    this.callbacks.add(callback);
    return () => this.callbacks.delete(callback);
  }
}
