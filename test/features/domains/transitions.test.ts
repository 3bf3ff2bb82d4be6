// A domain's status and check schedule follow its checks, and brief failures do not lose it.
import { describe, expect, it } from '@jest/globals';
import {
  afterCheck,
  type DomainChange,
  type DomainState,
} from '../../../src/features/domains/transitions.ts';
import type { Verdict } from '../../../src/features/domains/check.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const start = new Date('2026-03-01T00:00:00Z');

const pending: DomainState = {
  status: 'pending',
  checkingSince: start,
  verifiedAt: null,
  lostAt: null,
  failingSince: null,
  failingCount: 0,
  unansweredSince: null,
  degradedAt: null,
  takenOver: false,
};

const at = (ms: number) => new Date(start.getTime() + ms);

/**
 * Makes checks at the given times.
 * @returns the last state, and what happened when
 */
function run(state: DomainState, checks: [ms: number, verdict: Verdict][]) {
  const changes: [ms: number, change: DomainChange][] = [];
  let last = { state, nextCheckAt: start };
  for (const [ms, verdict] of checks) {
    const { change, ...next } = afterCheck(last.state, verdict, at(ms));
    if (change) changes.push([ms, change]);
    last = next;
  }
  return { state: last.state, nextMs: last.nextCheckAt.getTime() - start.getTime(), changes };
}

/**
 * Follows its own schedule.
 * @returns the times of the checks until `endMs`
 */
function follow(state: DomainState, verdict: Verdict, firstMs: number, endMs: number) {
  const times: number[] = [];
  const changes: DomainChange[] = [];
  let [last, ms] = [state, firstMs];
  while (ms <= endMs) {
    const { state: next, change, nextCheckAt } = afterCheck(last, verdict, at(ms));
    times.push(ms);
    if (change) changes.push(change);
    last = next;
    ms = nextCheckAt.getTime() - start.getTime();
  }
  return { times, changes, state: last };
}

const verified = run(pending, [[MINUTE, 'passed']]).state;

describe('a pending domain', () => {
  it('is checked often at first, then hourly, and fails after three days', () => {
    const { times, changes, state } = follow(pending, 'refused', MINUTE, 3 * DAY);
    const early = [1, 2, 5, 10, 15, 30, 45, 60, 75, 90, 105, 120].map((minutes) => minutes * MINUTE);
    const hourly = Array.from({ length: 70 }, (_, index) => (index + 3) * HOUR);
    expect(times).toEqual([...early, ...hourly]);
    expect([state.status, changes]).toEqual(['failed', []]);
  });

  it('keeps its schedule if it is checked in between', () => {
    expect(run(pending, [[3 * MINUTE, 'refused']]).nextMs).toBe(5 * MINUTE);
    expect(run(pending, [[2.5 * HOUR, 'unanswered']]).nextMs).toBe(3 * HOUR);
  });

  it('is verified by the first check that passes', () => {
    const { state, changes } = run(pending, [
      [MINUTE, 'refused'],
      [2 * MINUTE, 'unanswered'],
      [5 * MINUTE, 'passed'],
    ]);
    expect([state.status, state.verifiedAt, changes]).toEqual([
      'verified',
      at(5 * MINUTE),
      [[5 * MINUTE, 'verified']],
    ]);
  });

  it('is checked daily once it has failed, and any check may verify it', () => {
    const failed = run(pending, [[3 * DAY, 'refused']]);
    expect(failed.nextMs).toBe(4 * DAY);
    expect(run(failed.state, [[9 * DAY, 'passed']]).changes).toEqual([[9 * DAY, 'verified']]);
  });
});

describe('a verified domain', () => {
  it('is checked every six hours', () => {
    const { times, changes } = follow(verified, 'passed', 6 * HOUR, DAY);
    expect([times, changes]).toEqual([[6 * HOUR, 12 * HOUR, 18 * HOUR, DAY], []]);
  });

  it('is lost after three wrong checks over an hour', () => {
    const { times, changes, state } = follow(verified, 'refused', 6 * HOUR, 7 * HOUR);
    expect(times).toEqual([6 * HOUR, 6.5 * HOUR, 7 * HOUR]);
    expect(changes).toEqual(['verificationLost']);
    expect(state).toMatchObject({ status: 'failed', verifiedAt: null, lostAt: at(7 * HOUR) });
  });

  it('is not lost by many wrong checks within an hour', () => {
    const checks = Array.from({ length: 59 }, (_, minute): [number, Verdict] => [minute * MINUTE, 'refused']);
    const { state, changes } = run(verified, checks);
    expect([state.status, changes]).toEqual(['verified', []]);
  });

  it('is not lost by two wrong checks over a day', () => {
    const { changes } = run(verified, [
      [HOUR, 'refused'],
      [DAY, 'refused'],
    ]);
    expect(changes).toEqual([]);
  });

  it('counts wrong checks from the beginning after a right one', () => {
    const wrongs = [0, 0.5, 2, 2.5, 4, 4.5].map((hours): [number, Verdict] => [hours * HOUR, 'refused']);
    const rights = [1, 3, 5].map((hours): [number, Verdict] => [hours * HOUR, 'passed']);
    const { state, changes } = run(
      verified,
      [...wrongs, ...rights].sort(([one], [other]) => one - other),
    );
    expect([state.status, state.failingCount, changes]).toEqual(['verified', 0, []]);
  });

  it('reports a period without answers once, and stays verified for seven days', () => {
    const { times, changes, state } = follow(verified, 'unanswered', 6 * HOUR, 7 * DAY + 5 * HOUR);
    expect([times[1], state.status, changes]).toEqual([7 * HOUR, 'verified', ['dnsDegraded']]);
    const last = afterCheck(state, 'unanswered', at(7 * DAY + 6 * HOUR));
    expect([last.change, last.state.status]).toEqual(['verificationLost', 'failed']);
  });

  it('reports a new period only after a right check', () => {
    const { changes } = run(verified, [
      [6 * HOUR, 'unanswered'],
      [7 * HOUR, 'refused'],
      [8 * HOUR, 'unanswered'],
      [9 * HOUR, 'passed'],
      [15 * HOUR, 'unanswered'],
    ]);
    expect(changes).toEqual([
      [6 * HOUR, 'dnsDegraded'],
      [15 * HOUR, 'dnsDegraded'],
    ]);
  });

  it('is lost after wrong checks with unanswered ones between them', () => {
    const { changes } = run(verified, [
      [0, 'refused'],
      [HOUR, 'unanswered'],
      [2 * HOUR, 'refused'],
      [3 * HOUR, 'unanswered'],
      [4 * HOUR, 'refused'],
    ]);
    expect(changes.at(-1)).toEqual([4 * HOUR, 'verificationLost']);
  });
});

describe('a lost domain', () => {
  const lost = follow(verified, 'refused', 6 * HOUR, 7 * HOUR).state;

  it('is checked hourly for three days, then daily', () => {
    const { times, changes } = follow(lost, 'refused', 8 * HOUR, 7 * HOUR + 5 * DAY);
    const waits = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / HOUR);
    expect([times.length, new Set(waits.slice(0, 71)), new Set(waits.slice(71))]).toEqual([
      74,
      new Set([1]),
      new Set([24]),
    ]);
    expect(changes).toEqual([]);
  });

  it('is verified again by any check that passes', () => {
    const { state, changes } = run(lost, [[10 * DAY, 'passed']]);
    expect([state.lostAt, changes]).toEqual([null, [[10 * DAY, 'verified']]]);
  });
});
