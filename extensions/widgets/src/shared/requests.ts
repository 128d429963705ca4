import type { Reply } from '../../../protocol/src/index';
import type { Answer } from '../../../views/src/host';

/** An event as plain data. */
export type PlainEvent = Readonly<Record<string, unknown>>;

interface Waiting {
  readonly model: string;
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (reason: Error) => void;
}

interface Held extends Waiting {
  readonly event: PlainEvent;
}

/**
 * What was asked and not yet answered. Answers come in the order of the requests, since one thread gives them.
 *
 * While a drag goes on a view asks faster than a kernel may answer: of the steps that are not final, one is
 * under way and the newest waits; those between are dropped, as nobody would see them.
 */
export class Requests {
  private readonly waiting: Waiting[] = [];
  private readonly dragging = new Set<string>();
  private readonly held = new Map<string, Held>();

  constructor(private readonly write: (model: string, event: PlainEvent) => void) {}

  /** Sends an event, now or when its turn comes. Resolves with nothing if a newer one took its place. */
  send(model: string, event: PlainEvent): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      if (event.final === false && this.dragging.has(model)) {
        this.held.get(model)?.resolve(undefined);
        this.held.set(model, { model, event, resolve, reject });
        return;
      }
      this.held.get(model)?.resolve(undefined);
      this.held.delete(model);
      this.post({ model, event, resolve, reject });
    });
  }

  /** An answer arrived: the oldest request is answered. */
  answer(reply: Reply): void {
    const waiting = this.waiting.shift();
    if (!waiting) {
      return;
    }
    this.dragging.delete(waiting.model);
    const held = this.held.get(waiting.model);
    this.held.delete(waiting.model);
    if (held) {
      this.post(held);
    }
    waiting.resolve({ accepted: reply.accepted, reason: reply.reason });
  }

  /** No answer will come any more. */
  fail(reason: string): void {
    const all = [...this.waiting.splice(0), ...this.held.values()];
    this.held.clear();
    this.dragging.clear();
    for (const { reject } of all) {
      reject(new Error(reason));
    }
  }

  private post(request: Held): void {
    if (request.event.final === false) {
      this.dragging.add(request.model);
    }
    this.waiting.push(request);
    this.write(request.model, request.event);
  }
}
