import type { Egress } from '../../../platform/egress/client.ts';
import { createKickbox } from './kickbox.ts';
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import type { Reason, Verdict } from './verdict.ts';

/** The outside validator's finding. */
export interface OutsideFinding {
  verdict: Verdict;
  /** Our reasons that mean the same; never empty. */
  reasons: readonly Reason[];
  /** The address that was probably meant, as the validator wrote it. */
  suggestion: string | null;
}

/** `failed`: no verdict on this address. `refused`: no verdicts for us at the moment, so do not ask for a while. */
export type OutsideAnswer = OutsideFinding | 'failed' | 'refused';

/** A service that validates addresses. Each service has a file of its own. */
export interface OutsideService {
  /** Never throws. */
  ask(email: string, signal?: AbortSignal): Promise<OutsideAnswer>;
}

/** The outside validator of this installation, for accounts for which an operator has enabled it. */
export interface OutsideValidator {
  /** @returns null if it has no verdict */
  check(email: string, accountId: string, signal?: AbortSignal): Promise<OutsideFinding | null>;
}

/** Maximum number of concurrent requests, for all accounts and for one. */
const MAX_REQUESTS = 20;
const MAX_REQUESTS_PER_ACCOUNT = 15;
const MAX_FAILURES = 5;
const PAUSE_MS = 60_000;

/**
 * Asks a service, with accounts taking turns. Pauses for a minute if the service refuses or fails several times in a
 * row.
 */
export function useOutsideService(service: OutsideService, now: () => number): OutsideValidator {
  const gate = new FairGate<string>({ slots: MAX_REQUESTS, perKey: MAX_REQUESTS_PER_ACCOUNT });
  let failures = 0;
  let pausedUntil = 0;
  return {
    check: (email, accountId, signal) =>
      gate.run(accountId, async () => {
        if (signal?.aborted || now() < pausedUntil) return null;
        const answer = await service.ask(email, signal);
        if (typeof answer !== 'string') {
          failures = 0;
          return answer;
        }
        failures += 1;
        if (answer === 'refused' || failures >= MAX_FAILURES) {
          failures = 0;
          pausedUntil = now() + PAUSE_MS;
        }
        return null;
      }),
  };
}

/** @param url OUTSIDE_VALIDATOR_URL, such as `kickbox://KEY@api.kickbox.com` */
export function createOutsideValidator(url: string, egress: Egress, now: () => number): OutsideValidator {
  return useOutsideService(createKickbox(url, egress), now);
}
