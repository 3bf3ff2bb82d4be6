import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';

/** The state of a provider's breaker, as shown to operators. */
export interface BreakerReport {
  state: 'closed' | 'open' | 'half_open';
  reason: string | null;
  retryAt: string | null;
}

/**
 * Stops a sender from using a provider that fails. After a fault nothing is handed over for one second, then two, four
 * … up to five minutes. After each pause, one batch tests whether the provider works again. If a connection ends with a
 * message of that batch, the next pause is one second: connecting worked, and another message may succeed.
 */
export interface Breaker {
  /**
   * Asks whether a batch may be handed over now; in the half-open state only one may at a time.
   * @returns null if not; else a function to call when the batch has ended, whatever its outcome, so that another batch
   *   can test the provider if this one handed nothing over
   */
  tryEnter(): (() => void) | null;
  succeeded(): void;
  /** @param atLeastMs how long the provider asked to wait; capped at five minutes */
  failed(reason: string, atLeastMs?: number): void;
  /**
   * Reports a connection that ended with a message. The third in a row opens the breaker. During a test, it opens the
   * breaker for another second without counting as a fault: the message may be the cause.
   */
  strained(reason: string): void;
  /** Milliseconds until a batch may be handed over; 0: now. */
  waitMs(): number;
  /** Milliseconds since the breaker opened, regardless of tests since then; 0 while it is closed. */
  openMs(): number;
  /** Milliseconds since the provider last worked; Infinity if it never did. */
  workedMs(): number;
  report(): BreakerReport;
}

const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 300_000;
const STRAINS_TO_OPEN = 3;

/**
 * Reports to the breaker what a batch shows about its provider: that it works, a fault, or strain. Messages that could
 * not be composed show nothing.
 * @param suspect the batch is one message that has already lost a connection. If it loses another, that counts against
 *   the provider only while the provider is being tested, and then only as strain
 */
export function judgeProvider(
  breaker: Breaker,
  outcomes: readonly HandOverOutcome[],
  suspect: boolean,
): void {
  if (outcomes.every(({ kind }) => kind === 'not_composed')) return;
  const strain = outcomes.find((outcome) => outcome.kind === 'deferred' && outcome.connectionLost);
  const fault = outcomes.find((outcome) => outcome.kind === 'fault');
  const lost = outcomes.find((outcome) => outcome.kind === 'lost');
  const accepted = outcomes.some((outcome) => outcome.kind === 'accepted');
  const unknown = outcomes.find((outcome) => outcome.kind === 'unknown');
  if (strain?.kind === 'deferred') breaker.strained(codesOf(strain.response));
  else if (fault?.kind === 'fault' && !accepted) breaker.failed(fault.reason, fault.retryAfterMs);
  else if (lost?.kind === 'lost' && !accepted) {
    if (!suspect || breaker.report().state !== 'closed') breaker.strained(lost.reason);
  } else if (unknown?.kind === 'unknown' && !outcomes.some(hasVerdict)) {
    judgeSilence(breaker, unknown.reason);
  } else breaker.succeeded();
}

/** The provider gave no verdict on a batch. One message may be slow, so only the third such batch opens the breaker. */
function judgeSilence(breaker: Breaker, reason: string): void {
  if (breaker.report().state === 'closed') breaker.strained(reason);
  else breaker.failed(reason);
}

/** Whether the provider has processed the message, so that its time can be measured. */
export function hasVerdict({ kind }: HandOverOutcome): boolean {
  return kind === 'accepted' || kind === 'deferred' || kind === 'bounced' || kind === 'refused';
}

/**
 * The codes at the start of a response. Reasons go into logs and to Temporal, so they must not include its text, which
 * may contain anything.
 */
function codesOf(response: string): string {
  return /^\d{3}(?: \d\.\d{1,3}\.\d{1,3})?(?= |$)/.exec(response)?.[0] ?? 'refused';
}

export interface BreakerOptions {
  /** Returns milliseconds since a fixed moment; tests set it. */
  clock?: () => number;
  /** The pause after the first fault; by default a second. */
  firstBackoffMs?: number | undefined;
}

export function createBreaker({
  clock = Date.now,
  firstBackoffMs = FIRST_BACKOFF_MS,
}: BreakerOptions = {}): Breaker {
  let openUntil: number | null = null;
  let openedAt: number | null = null;
  let workedAt = -Infinity;
  let failures = 0;
  let trying = false;
  let strains = 0;
  let reason: string | null = null;

  function open(because: string, ms: number): void {
    trying = false;
    reason = because;
    openedAt ??= clock();
    openUntil = clock() + ms;
  }

  /** Whether a result is from a batch that began before the breaker opened. It shows nothing new. */
  function isLate(): boolean {
    return openUntil !== null && !trying && clock() < openUntil;
  }

  function failed(because: string, atLeastMs = 0): void {
    if (isLate()) return;
    const backoffMs = Math.max(firstBackoffMs * 2 ** failures, atLeastMs);
    open(because, Math.min(backoffMs, MAX_BACKOFF_MS));
    failures += 1;
  }

  return {
    tryEnter() {
      if (openUntil === null) return () => undefined;
      if (clock() < openUntil || trying) return null;
      trying = true;
      return () => void (trying = false);
    },
    succeeded() {
      openUntil = null;
      openedAt = null;
      workedAt = clock();
      failures = 0;
      strains = 0;
      trying = false;
      reason = null;
    },
    failed,
    strained(because) {
      if (isLate()) return;
      if (openUntil !== null) return open(because, firstBackoffMs);
      strains += 1;
      if (strains < STRAINS_TO_OPEN) return;
      strains = 0;
      failed(because);
    },
    waitMs: () => (trying ? firstBackoffMs : Math.max(0, (openUntil ?? 0) - clock())),
    workedMs: () => clock() - workedAt,
    openMs: () => (openedAt === null ? 0 : clock() - openedAt),
    report() {
      if (openUntil === null) return { state: 'closed', reason: null, retryAt: null };
      return { state: trying ? 'half_open' : 'open', reason, retryAt: new Date(openUntil).toISOString() };
    },
  };
}
