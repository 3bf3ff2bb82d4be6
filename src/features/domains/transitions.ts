import type { Verdict } from './check.ts';
import type { DomainStatus } from './schema.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A domain loses its verification only after this many wrong answers, over this time. */
const MIN_WRONG_CHECKS = 3;
const MIN_WRONG_MS = HOUR_MS;
/** How long a domain stays verified while its name servers do not answer. */
const MAX_UNANSWERED_MS = 7 * DAY_MS;
/** How long a domain stays pending. */
const MAX_PENDING_MS = 3 * DAY_MS;

const VERIFIED_CHECK_MS = 6 * HOUR_MS;
/** Interval while wrong answers are counted, so that the third comes after an hour. */
const WRONG_CHECK_MS = 30 * MINUTE_MS;
const UNANSWERED_CHECK_MS = HOUR_MS;
/** For this long, a domain that lost its verification is checked hourly. */
const LOST_HOURLY_MS = 3 * DAY_MS;

/** When a pending domain is checked, from the time it became pending. After two hours: every hour. */
const PENDING_CHECKS_MS = [1, 2, 5, 10, 15, 30, 45, 60, 75, 90, 105, 120].map(
  (minutes) => minutes * MINUTE_MS,
);

/** The state that a domain's checks depend on. */
export interface DomainState {
  status: DomainStatus;
  /** When it became pending or failed. */
  checkingSince: Date;
  verifiedAt: Date | null;
  /** When it lost its verification; null if it has not lost it. */
  lostAt: Date | null;
  failingSince: Date | null;
  failingCount: number;
  unansweredSince: Date | null;
  /** When the current period without answers was reported. */
  degradedAt: Date | null;
  /** Another claim has proved the name since. */
  takenOver: boolean;
}

/** The event that a check causes. */
export type DomainChange = 'verified' | 'verificationLost' | 'dnsDegraded';

export interface Transition {
  state: DomainState;
  change: DomainChange | null;
  nextCheckAt: Date;
}

const after = (at: Date, ms: number) => new Date(at.getTime() + ms);
const between = (from: Date, to: Date) => to.getTime() - from.getTime();

const noTrouble = { failingSince: null, failingCount: 0, unansweredSince: null, degradedAt: null };

/** When to check next, independent of the last check's result. */
export function nextCheck(state: DomainState, asOf: Date): Date {
  const elapsed = between(state.checkingSince, asOf);
  switch (state.status) {
    case 'pending': {
      const early = PENDING_CHECKS_MS.find((offset) => offset > elapsed);
      return after(state.checkingSince, early ?? (Math.floor(elapsed / HOUR_MS) + 1) * HOUR_MS);
    }
    case 'verified':
      if (state.failingCount > 0) return after(asOf, WRONG_CHECK_MS);
      return after(asOf, state.unansweredSince ? UNANSWERED_CHECK_MS : VERIFIED_CHECK_MS);
    case 'failed':
      return after(asOf, state.lostAt && elapsed < LOST_HOURLY_MS ? HOUR_MS : DAY_MS);
  }
}

/** The domain loses its verification. */
export function lose(state: DomainState, asOf: Date): DomainState {
  return { ...state, ...noTrouble, status: 'failed', checkingSince: asOf, verifiedAt: null, lostAt: asOf };
}

function verify(state: DomainState, asOf: Date): DomainState {
  return { ...state, ...noTrouble, status: 'verified', verifiedAt: asOf, lostAt: null, takenOver: false };
}

function afterRefusal(state: DomainState, asOf: Date): Omit<Transition, 'nextCheckAt'> {
  const failingSince = state.failingSince ?? asOf;
  const failing = { ...state, failingSince, failingCount: state.failingCount + 1, unansweredSince: null };
  const lost = failing.failingCount >= MIN_WRONG_CHECKS && between(failingSince, asOf) >= MIN_WRONG_MS;
  return lost ? { state: lose(state, asOf), change: 'verificationLost' } : { state: failing, change: null };
}

function afterSilence(state: DomainState, asOf: Date): Omit<Transition, 'nextCheckAt'> {
  const unansweredSince = state.unansweredSince ?? asOf;
  if (between(unansweredSince, asOf) >= MAX_UNANSWERED_MS) {
    return { state: lose(state, asOf), change: 'verificationLost' };
  }
  const silent = { ...state, unansweredSince, degradedAt: state.degradedAt ?? asOf };
  return { state: silent, change: state.degradedAt ? null : 'dnsDegraded' };
}

function afterCheckOf(state: DomainState, verdict: Verdict, asOf: Date): Omit<Transition, 'nextCheckAt'> {
  if (verdict === 'passed') {
    if (state.status === 'verified') return { state: { ...state, ...noTrouble }, change: null };
    return { state: verify(state, asOf), change: 'verified' };
  }
  if (state.status === 'verified') {
    return verdict === 'refused' ? afterRefusal(state, asOf) : afterSilence(state, asOf);
  }
  if (state.status === 'pending' && between(state.checkingSince, asOf) >= MAX_PENDING_MS) {
    return { state: { ...state, status: 'failed', checkingSince: asOf }, change: null };
  }
  return { state, change: null };
}

/**
 * The state while a provider has not named its records, so that nothing can be checked. If the provider is down, a
 * pending domain loses no time. If it refuses the domain, time passes, and the provider is asked once a day.
 * @param refused the provider refuses the domain
 */
export function whileUnregistered(state: DomainState, refused: boolean, asOf: Date): Transition {
  if (!refused) return { state, change: null, nextCheckAt: nextCheck({ ...state, status: 'pending' }, asOf) };
  const changed = state.status === 'pending' ? afterCheckOf(state, 'unanswered', asOf).state : state;
  return { state: changed, change: null, nextCheckAt: after(asOf, DAY_MS) };
}

/**
 * The effect of a check on a domain. A right answer verifies it at once and ends all trouble. A wrong or missing answer
 * counts only if it is repeated, so that neither one bad reply nor name servers that are down make it lose its
 * verification.
 * @param verdict `refused` for a domain whose key may not prove the name now
 */
export function afterCheck(state: DomainState, verdict: Verdict, asOf: Date): Transition {
  const changed = afterCheckOf(state, verdict, asOf);
  return { ...changed, nextCheckAt: nextCheck(changed.state, asOf) };
}
