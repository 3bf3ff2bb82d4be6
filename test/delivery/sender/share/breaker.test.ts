// The breaker opens after repeated faults, tests the provider with one batch, and closes if that works.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { messageStatuses, statesBefore, transitions } from '../../../../src/delivery/terms/message.ts';
import { type Breaker, createBreaker, judgeProvider } from '../../../../src/delivery/sender/share/breaker.ts';
import { retryDelaySeconds } from '../../../../src/delivery/ledger/record/outcomes.ts';

describe('the breaker', () => {
  let now: number;
  let breaker: Breaker;
  beforeEach(() => {
    now = 1_000_000;
    breaker = createBreaker({ clock: () => now });
  });

  it('stays open for one second, then twice as long each time, at most five minutes', () => {
    const waits: number[] = [];
    for (let n = 0; n < 11; n++) {
      breaker.failed('unavailable');
      waits.push(breaker.waitMs());
      expect(breaker.tryEnter()).toBeNull();
      now += breaker.waitMs();
      expect(breaker.tryEnter()).not.toBeNull();
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000));
  });

  it('stays open for as long as the provider asks, at most five minutes', () => {
    const busy = { kind: 'fault', reason: 'HTTP 429', retryAfterMs: 7_000 } as const;
    judgeProvider(breaker, [busy], false);
    expect(breaker.waitMs()).toBe(7_000);
    now += 7_000;
    breaker.tryEnter();
    judgeProvider(breaker, [{ ...busy, retryAfterMs: 3_600_000 }], false);
    expect(breaker.waitMs()).toBe(300_000);
  });

  it('lets one batch test the provider, and closes if it works', () => {
    breaker.failed('unavailable');
    now += 1_000;
    expect(breaker.tryEnter()).not.toBeNull();
    expect(breaker.tryEnter()).toBeNull();
    expect(breaker.report()).toMatchObject({ state: 'half_open', reason: 'unavailable' });
    breaker.succeeded();
    expect([breaker.tryEnter(), breaker.tryEnter()]).not.toContain(null);
    expect(breaker.report()).toEqual({ state: 'closed', reason: null, retryAt: null });
  });

  it('lets another batch test the provider if the first handed over nothing', () => {
    breaker.failed('unavailable');
    now += 1_000;
    breaker.tryEnter()?.();
    expect(breaker.tryEnter()).not.toBeNull();
  });

  it('opens at the third connection in a row that ends with a message', () => {
    breaker.strained('421');
    breaker.strained('421');
    expect(breaker.waitMs()).toBe(0);
    breaker.strained('421');
    expect(breaker.waitMs()).toBe(1_000);
  });

  it('opens at the third batch in a row without any reply from the provider', () => {
    const silence = [{ kind: 'unknown', reason: 'no response' }, { kind: 'not_tried' }] as const;
    const answer = { kind: 'deferred', response: '450 later' } as const;
    judgeProvider(breaker, silence, false);
    judgeProvider(breaker, silence, false);
    judgeProvider(breaker, [...silence, answer], false);
    for (let n = 0; n < 3; n += 1) {
      expect(breaker.report().state).toBe('closed');
      judgeProvider(breaker, silence, false);
    }
    expect(breaker.waitMs()).toBe(1_000);
    now += 1_000;
    breaker.tryEnter();
    judgeProvider(breaker, silence, false);
    expect(breaker.waitMs()).toBe(2_000);
    now += 2_000;
    expect(breaker.openMs()).toBe(3_000);
  });

  it('stays open for only a second, however often the connection of a test ends with a message', () => {
    breaker.failed('unavailable');
    for (let n = 0; n < 5; n += 1) {
      now += breaker.waitMs();
      breaker.tryEnter();
      breaker.strained('421');
      expect(breaker.waitMs()).toBe(1_000);
    }
    now += 1_000;
    breaker.tryEnter();
    breaker.failed('unavailable');
    expect(breaker.waitMs()).toBe(2_000);
  });

  it('restarts the count of such connections after a success', () => {
    breaker.strained('421');
    breaker.strained('421');
    breaker.succeeded();
    breaker.strained('421');
    expect(breaker.waitMs()).toBe(0);
  });

  it('does not stay open longer because of batches that had begun before', () => {
    breaker.failed('unavailable');
    breaker.failed('unavailable');
    expect(breaker.waitMs()).toBe(1_000);
  });

  it('does not change after a batch in which nothing could be composed', () => {
    breaker.failed('unavailable');
    now += 1_000;
    const leave = breaker.tryEnter();
    judgeProvider(breaker, [{ kind: 'not_composed', final: true, response: 'too long' }], false);
    leave?.();
    expect(breaker.report()).toMatchObject({ state: 'open', reason: 'unavailable' });
    expect(breaker.tryEnter()).not.toBeNull();
  });
});

it('retries a message after 1, 5, 15 minutes, then 1, 2, 4 … hours', () => {
  const minutes = [1, 2, 3, 4, 5, 6, 7].map((attempt) => retryDelaySeconds(attempt) / 60);
  expect(minutes).toEqual([1, 5, 15, 60, 120, 240, 480]);
  expect(retryDelaySeconds(40)).toBe(72 * 3_600);
});

describe('the table of transitions', () => {
  it('has no way out of a final state', () => {
    for (const end of ['complained', 'skipped', 'canceled'] as const) expect(transitions[end]).toEqual([]);
    expect(statesBefore('queued')).not.toContain('sent');
    expect(statesBefore('failed')).not.toContain('delivered');
  });

  it('allows facts that arrive late', () => {
    expect(transitions.delivered).toEqual(expect.arrayContaining(['bounced', 'complained']));
    expect(transitions.unknown).toEqual(expect.arrayContaining(['sent', 'delivered', 'bounced']));
  });

  it('contains only known states', () => {
    for (const status of messageStatuses) {
      for (const next of transitions[status]) expect(messageStatuses).toContain(next);
    }
  });
});
