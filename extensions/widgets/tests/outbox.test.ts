import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Reply } from '../../protocol/src/index';
import type { Numbered, PlainEvent, Store } from '../src/shared/outbox';
import { MOST, Outbox, PATIENCE, QUIET, tabStore } from '../src/shared/outbox';

const P = 'process 1';
const drag = (low: number): PlainEvent => ({ type: 'set_range', low, final: false });
const row = (id: number): PlainEvent => ({ type: 'select', id });

/** What the kernel does with numbers: see `workbench/live/ledger.py`. */
class Ledger {
  readonly done: unknown[] = [];
  private readonly senders = new Map<string, { due: number; replies: Map<number, Reply> }>();

  take(gesture: Numbered): Reply | null {
    const sender = this.senders.get(gesture.sender) ?? { due: gesture.oldest, replies: new Map() };
    this.senders.set(gesture.sender, sender);
    sender.due = Math.max(sender.due, gesture.oldest);
    if (gesture.number > sender.due) {
      return null;
    }
    const before = sender.replies.get(gesture.number);
    if (gesture.number < sender.due) {
      return before ?? reply(gesture, 'forgotten');
    }
    this.done.push(gesture.event['id'] ?? gesture.event['low'] ?? gesture.event['type']);
    const answer = reply(gesture, gesture.event['id'] === -1 ? 'no' : '');
    sender.replies.set(gesture.number, answer);
    sender.due += 1;
    return answer;
  }
}

function reply({ sender, number, model }: Numbered, reason = ''): Reply {
  return { type: 'reply', version: 6, sender, number, model, accepted: reason === '', reason };
}

/** A store whose contents outlive the outbox. */
class Tab {
  readonly kept = new Map<object, string>();

  load(): Store {
    const own = {};
    return {
      take: () => {
        const texts = [...this.kept.values()];
        this.kept.clear();
        return texts;
      },
      keep: text => void (text === null ? this.kept.delete(own) : this.kept.set(own, text))
    };
  }
}

/** Numbers from 0 to 1 by rule, the same in every run. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  sessionStorage.clear();
});

function recorded(): { box: Outbox; sent: Numbered[] } {
  const sent: Numbered[] = [];
  const box = new Outbox({ write: gesture => sent.push(gesture) });
  box.open(P);
  return { box, sent };
}

const what = (sent: readonly Numbered[]): unknown[] => sent.map(one => one.event['low'] ?? one.event['id']);

describe('Outbox', () => {
  it('gives each answer to the gesture with its number, in whatever order they come', async () => {
    const { box, sent } = recorded();
    const first = box.send('m', row(1), P);
    const second = box.send('other', row(2), P);
    expect(sent.map(one => [one.number, one.oldest])).toEqual([
      [1, 1],
      [2, 1]
    ]);
    box.answer(reply(sent[1]!, 'no'));
    box.answer(reply(sent[1]!)); // a repetition says nothing new
    box.answer(reply(sent[0]!));
    expect(await second).toEqual({ accepted: false, reason: 'no' });
    expect(await first).toEqual({ accepted: true, reason: '' });
    expect(box.size).toBe(0);
  });

  it('writes again what has no answer, ever later, and the oldest only', () => {
    const { box, sent } = recorded();
    for (let id = 0; id < 100; id++) {
      void box.send('m', row(id), P);
    }
    sent.length = 0;
    vi.advanceTimersByTime(PATIENCE);
    expect(what(sent)).toEqual(Array.from({ length: 32 }, (_, id) => id));
    vi.advanceTimersByTime(PATIENCE);
    expect(sent).toHaveLength(32);
    vi.advanceTimersByTime(PATIENCE);
    expect(sent).toHaveLength(64);
    box.answer(reply(sent[0]!));
    sent.length = 0;
    vi.advanceTimersByTime(PATIENCE);
    expect(sent[0]).toMatchObject({ number: 2, oldest: 2 });
  });

  it('says how often nothing was answered, so that the link can be made anew', () => {
    const silences: number[] = [];
    const box = new Outbox({ write: () => undefined, silent: times => silences.push(times) });
    box.open(P);
    void box.send('m', row(1), P);
    vi.advanceTimersByTime(7 * PATIENCE);
    expect(silences).toEqual([1, 2, 3]);
  });

  it('tells that gestures wait, once they have for a while', () => {
    const told: number[] = [];
    const box: Outbox = new Outbox({ write: () => undefined, changed: () => told.push(box.waiting('m')) });
    box.open(P);
    void box.send('m', row(1), P);
    expect([box.waiting('m'), box.waiting('other')]).toEqual([0, 0]);
    vi.advanceTimersByTime(QUIET + 1);
    expect(box.waiting('m')).toBe(1);
    expect(told.at(-1)).toBe(1);
  });

  it('keeps gestures while nobody listens and writes them in order afterwards', () => {
    const { box, sent } = recorded();
    box.close();
    [1, 2, 3].forEach(id => void box.send('m', row(id), P));
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
    box.open(P);
    expect(what(sent)).toEqual([1, 2, 3]);
  });

  it('says of gestures for a process that has ended that they will not be done', async () => {
    const { box, sent } = recorded();
    box.close();
    const lost = box.send('m', row(1), P);
    const kept = box.send('m', row(2), 'process 2');
    box.open('process 2');
    await expect(lost).rejects.toThrow('the kernel restarted');
    expect(what(sent)).toEqual([2]);
    box.answer(reply(sent[0]!));
    expect(await kept).toMatchObject({ accepted: true });
  });

  it('refuses to let more wait than can be kept', async () => {
    const { box } = recorded();
    for (let id = 0; id < MOST; id++) {
      void box.send('m', row(id), P);
    }
    await expect(box.send('m', row(0), P)).rejects.toThrow('wait for Python already');
  });

  it('keeps one step of a drag under way and the newest waiting', async () => {
    const { box, sent } = recorded();
    const answers = [1, 2, 3, 4].map(low => box.send('m', drag(low), P));
    expect(what(sent)).toEqual([1]);
    box.answer(reply(sent[0]!));
    expect(what(sent)).toEqual([1, 4]);
    box.answer(reply(sent[1]!));
    const yes = { accepted: true, reason: '' };
    expect(await Promise.all(answers)).toEqual([yes, undefined, undefined, yes]);
  });

  it('never holds the end of a drag back, and sends no older step after it', () => {
    const { box, sent } = recorded();
    void box.send('m', drag(1), P);
    void box.send('m', drag(2), P);
    void box.send('m', { type: 'set_range', low: 3, final: true }, P);
    box.answer(reply(sent[0]!));
    expect(what(sent)).toEqual([1, 3]);
  });

  it('tells everybody who waits that no answer will come', async () => {
    const { box } = recorded();
    const waiting = [box.send('m', drag(1), P), box.send('m', drag(2), P), box.send('m', row(1), P)];
    box.fail('the kernel restarted');
    const results = await Promise.allSettled(waiting);
    expect(results.map(result => (result.status === 'rejected' ? result.reason.message : 'dropped'))).toEqual(
      ['the kernel restarted', 'dropped', 'the kernel restarted']
    );
  });

  it('takes over what a former load of the page left, says if it is refused, and does nothing twice', () => {
    const tab = new Tab();
    const ledger = new Ledger();
    const before = new Outbox({ write: gesture => ledger.take(gesture), store: tab.load() });
    before.open(P);
    void before.send('m', row(1), P); // done, but its answer is lost with the page
    before.close();
    void before.send('m', row(-1), P);
    const refused: string[] = [];
    const sent: Numbered[] = [];
    const after = new Outbox({
      write: gesture => sent.push(gesture),
      refused: (model, reason) => refused.push(`${model}: ${reason}`),
      store: tab.load()
    });
    expect(after.waiting('m')).toBe(2);
    void after.send('m', row(3), P);
    after.open(P);
    expect(what(sent)).toEqual([1, -1]); // the order holds over loads, too
    for (const gesture of sent) {
      after.answer(ledger.take(gesture)!); // writes the third after the second answer
    }
    expect(ledger.done).toEqual([1, -1, 3]);
    expect(refused).toEqual(['m: no']);
    expect([after.size, tab.kept.size]).toEqual([0, 0]);
  });

  it('keeps in the tab only what a page has written, and takes it once', () => {
    sessionStorage.setItem('workbench.outbox.kernel.x', 'not JSON');
    sessionStorage.setItem('workbench.outbox.kernel.y', JSON.stringify([{ sender: 1 }, null, 'text']));
    sessionStorage.setItem('workbench.outbox.other.z', '[]');
    const box = new Outbox({ write: () => undefined, store: tabStore('kernel') });
    expect(box.size).toBe(0);
    void box.send('m', row(1), P);
    expect(Object.keys(sessionStorage)).toHaveLength(2);
    const next = new Outbox({ write: () => undefined, store: tabStore('kernel') });
    expect(next.size).toBe(1);
    expect(Object.keys(sessionStorage)).toHaveLength(2);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'loses none of 200 gestures where messages are lost, doubled and late, and pages are loaded again (%i)',
    seed => {
      const random = chance(seed);
      const tab = new Tab();
      const ledger = new Ledger();
      let box: Outbox;
      const carry = (gesture: Numbered): void => {
        const copies = random() < 0.3 ? 0 : random() < 0.2 ? 2 : 1;
        for (let copy = 0; copy < copies; copy++) {
          setTimeout(() => {
            const answer = ledger.take(gesture);
            if (answer && random() < 0.7) {
              setTimeout(() => box.answer(answer), 300 * random());
            }
          }, 300 * random());
        }
      };
      const load = (): void => {
        box?.close();
        box = new Outbox({ write: carry, store: tab.load() });
        box.open(P);
      };
      load();
      for (let id = 1; id <= 200; id++) {
        void box!.send('m', row(id), P);
        vi.advanceTimersByTime(50 * random());
        if (id % 60 === 0) {
          load();
        }
      }
      vi.advanceTimersByTime(3_600_000);
      expect(ledger.done).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
      expect(box!.size).toBe(0);
    }
  );
});
