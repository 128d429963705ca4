import { describe, expect, it } from 'vitest';
import type { Reply } from '../../protocol/src/index';
import { Requests } from '../src/shared/requests';

const reply = (reason = ''): Reply => ({
  type: 'reply',
  version: 1,
  model: 'm',
  accepted: reason === '',
  reason
});
const drag = (low: number): Record<string, unknown> => ({ type: 'set_range', low, final: false });

function recorded(): { requests: Requests; sent: unknown[] } {
  const sent: unknown[] = [];
  return { requests: new Requests((_model, event) => sent.push(event['low'] ?? event['type'])), sent };
}

describe('Requests', () => {
  it('answers in the order of the requests', async () => {
    const { requests, sent } = recorded();
    const first = requests.send('m', { type: 'select' });
    const second = requests.send('other', { type: 'undo' });
    requests.answer(reply('no'));
    requests.answer(reply());
    expect(await first).toEqual({ accepted: false, reason: 'no' });
    expect(await second).toEqual({ accepted: true, reason: '' });
    expect(sent).toEqual(['select', 'undo']);
  });

  it('keeps one step of a drag under way and the newest waiting', async () => {
    const { requests, sent } = recorded();
    const answers = [1, 2, 3, 4].map(low => requests.send('m', drag(low)));
    expect(sent).toEqual([1]);
    requests.answer(reply());
    expect(sent).toEqual([1, 4]);
    requests.answer(reply());
    expect(await Promise.all(answers)).toEqual([
      { accepted: true, reason: '' },
      undefined,
      undefined,
      { accepted: true, reason: '' }
    ]);
  });

  it('never holds the end of a drag back, and sends no older step after it', () => {
    const { requests, sent } = recorded();
    void requests.send('m', drag(1));
    void requests.send('m', drag(2));
    void requests.send('m', { type: 'set_range', low: 3, final: true });
    requests.answer(reply());
    requests.answer(reply());
    expect(sent).toEqual([1, 3]);
  });

  it('tells everybody who waits that no answer will come', async () => {
    const { requests } = recorded();
    const waiting = [
      requests.send('m', drag(1)),
      requests.send('m', drag(2)),
      requests.send('m', { type: 'undo' })
    ];
    requests.fail('the kernel restarted');
    const results = await Promise.allSettled(waiting);
    expect(results.map(result => (result.status === 'rejected' ? result.reason.message : 'dropped'))).toEqual(
      ['the kernel restarted', 'dropped', 'the kernel restarted']
    );
    requests.answer(reply());
  });
});
