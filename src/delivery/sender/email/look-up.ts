/** Asks a provider about messages whose outcome is unknown, before they are handed over again. */
import type { Stop } from '../../../platform/processes/stop.ts';
import {
  type EmailProvider,
  type HandOverResult,
  type OutgoingMail,
  untried,
} from '../../wire/adapters/port.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';

/** Maximum number of concurrent look-ups of a batch. */
const PARALLEL = 4;

async function lookUp(
  provider: EmailProvider,
  emails: readonly OutgoingMail[],
  stop: Pick<Stop, 'requested'>,
): Promise<Map<OutgoingMail, HandOverOutcome>> {
  const found = new Map<OutgoingMail, HandOverOutcome>();
  const left = [...emails];
  const work = async (): Promise<void> => {
    for (let email = left.shift(); email && !stop.requested; email = left.shift()) {
      const outcome = (await provider.findAccepted?.(email)) ?? null;
      if (outcome) found.set(email, outcome);
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, emails.length) }, work));
  return found;
}

/**
 * Hands over emails, except those that a look-up finds at the provider, or that the stop comes before.
 * @param uncertain the ids of messages with an earlier attempt that has no known outcome
 */
export async function handOverOnce(
  provider: EmailProvider,
  emails: readonly OutgoingMail[],
  uncertain: ReadonlySet<number>,
  stop: Pick<Stop, 'requested'>,
): Promise<HandOverResult[]> {
  if (!provider.findAccepted || uncertain.size === 0) return provider.handOver(emails);
  const found = await lookUp(
    provider,
    emails.filter(({ messageId }) => uncertain.has(messageId)),
    stop,
  );
  const rest = emails.filter((email) => !found.has(email));
  const outcomes = rest.length === 0 || stop.requested ? untried(rest) : await provider.handOver(rest);
  let next = 0;
  return emails.map(
    (email) =>
      found.get(email) ?? outcomes[next++] ?? { kind: 'unknown', reason: 'the provider reported no outcome' },
  );
}
