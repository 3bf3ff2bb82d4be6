import { clipText } from '../../terms/bounces.ts';
import type { BounceSubtype, FailureCode } from '../../terms/message.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import type { ProviderFact } from './kind.ts';

/**
 * What an SMS service's error code means. `hard`: the number takes no SMS, and is suppressed. `soft`: the recipient
 * cannot be reached now. `opted_out`: the recipient answered STOP. `fault`: it says nothing about the message; in a
 * report about an accepted message, it means that the service failed to send it.
 */
export type SmsVerdict =
  | { kind: 'hard' | 'soft'; subtype: BounceSubtype }
  | { kind: 'failed'; code: FailureCode }
  | { kind: 'opted_out' }
  | { kind: 'fault' };

/** Codes by verdict. Each service has its own table. */
export type SmsVerdicts = ReadonlyMap<number, SmsVerdict>;

/** The outcome if the service refuses a hand-over with this verdict; null for a fault. */
export function refusedSms(verdict: SmsVerdict, response: string): HandOverOutcome | null {
  switch (verdict.kind) {
    case 'hard':
    case 'soft':
      return {
        kind: 'bounced',
        bounce: { type: verdict.kind, subtype: verdict.subtype, diagnostic: clipText(response) },
        response,
      };
    case 'failed':
      return { kind: 'refused', code: verdict.code, response };
    case 'opted_out':
      return { kind: 'refused', code: 'rejected', response, optedOut: true };
    case 'fault':
      return null;
  }
}

/** The fact for a report that an accepted message did not arrive. */
export function failedSms(
  verdict: SmsVerdict,
  response: string,
): Pick<ProviderFact, 'type'> & Partial<ProviderFact> {
  const message = clipText(response);
  const failed = (code: FailureCode) => ({ type: 'failed', failure: { code, message } }) as const;
  switch (verdict.kind) {
    case 'hard':
    case 'soft':
      return {
        type: 'bounced',
        bounce: { type: verdict.kind, subtype: verdict.subtype, diagnostic: message },
        suppresses: verdict.kind === 'hard',
      };
    case 'failed':
      return failed(verdict.code);
    case 'opted_out':
      return { ...failed('rejected'), optedOut: true };
    case 'fault':
      return failed('provider_error');
  }
}
