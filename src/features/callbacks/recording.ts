import type pg from 'pg';
import type { Logger } from 'pino';
import { recipientKey } from '../../delivery/addresses/recipient.ts';
import { accountsToFence, type DeliveryFact } from '../../delivery/facts/delivery-fact.ts';
import { type RecordedFacts, recordFacts } from '../../delivery/facts/facts.ts';
import { type RecipientFence, waitForEach } from '../../delivery/consent/recipient-fence.ts';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { isRefusedData } from '../../platform/db/refused-data.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { EventPublisher } from '../../platform/events/publish.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { recordRefusedInLedger, recordRefusedOptOut, type RefusedRecipient } from '../contacts/service.ts';

/** What to record of one callback, or of a part of it. */
export interface ReportedFacts {
  providerId: number;
  facts: readonly DeliveryFact[];
  /** Digests of the tokens that may be used once. */
  tokens: readonly Buffer[];
  /** SHA-256 of the body that the tokens came with. */
  bodyDigest: Buffer;
}

/** `reused`: a token came with another body before, so nothing was recorded. */
export type Recorded = 'recorded' | 'reused';

export interface CallbackRecordingDeps {
  pool: pg.Pool;
  /** For opt-outs. */
  keyring: Keyring;
  events: EventPublisher;
  waker: Pick<Waker, 'wake'>;
  fence: RecipientFence;
  log: Logger;
}

/** Callbacks that arrive together are recorded by one transaction of at most this many facts. */
const MAX_FACTS = 300;
const MAX_CALLBACKS = 300;
/** A second group at the same time makes both smaller, and a transaction costs as much as many reports. */
const CONCURRENCY = 1;
const INTERVAL_MS = 5;

/** What became of a callback, and whose subscriptions end because of the group that it was recorded in. */
interface RecordedGroup {
  result: Recorded;
  refused: RefusedRecipient[];
}

interface UsedToken {
  callback: ReportedFacts;
  token: Buffer;
}

interface TokenRow {
  provider_id: number;
  token_digest: Buffer;
  body_digest: Buffer;
}

/** @returns each token with the body that it came with first. The row of a known token is locked and stays as it is. */
async function insertTokens(client: Queryable, tokens: readonly UsedToken[]): Promise<TokenRow[]> {
  const { rows } = await client.query<TokenRow>({
    name: 'use_callback_tokens',
    text: `
      insert into callback_tokens as t (provider_id, token_digest, body_digest)
      select * from unnest($1::bigint[], $2::bytea[], $3::bytea[]) as u (provider_id, token_digest, body_digest)
      order by 1, 2
      on conflict (provider_id, token_digest) do update set body_digest = t.body_digest
      returning provider_id, token_digest, body_digest`,
    values: [
      tokens.map(({ callback }) => callback.providerId),
      tokens.map(({ token }) => token),
      tokens.map(({ callback }) => callback.bodyDigest),
    ],
  });
  return rows;
}

/**
 * Uses up the tokens of callbacks. A token may come again with the body that it came with first: the provider repeats a
 * callback whose response it did not receive.
 * @returns those whose token was used before with another body
 */
async function useTokens(
  client: Queryable,
  callbacks: readonly ReportedFacts[],
): Promise<Set<ReportedFacts>> {
  const used = callbacks.flatMap((callback) => callback.tokens.map((token) => ({ callback, token })));
  if (used.length === 0) return new Set();
  const keyOf = (providerId: number, token: Buffer) => `${providerId} ${token.toString('base64')}`;
  // A statement cannot meet the same row twice.
  const first = new Map(used.toReversed().map((each) => [keyOf(each.callback.providerId, each.token), each]));
  const rows = await insertTokens(client, [...first.values()]);
  const bodies = new Map(rows.map((row) => [keyOf(row.provider_id, row.token_digest), row.body_digest]));
  const reused = used.filter(
    ({ callback, token }) => !bodies.get(keyOf(callback.providerId, token))?.equals(callback.bodyDigest),
  );
  return new Set(reused.map(({ callback }) => callback));
}

function recipientsOf(optedOut: RecordedFacts['optedOut']): RefusedRecipient[] {
  return optedOut.flatMap(({ to, ...message }) => {
    const key = recipientKey(message.channel, to);
    return key === null ? [] : [{ ...message, key }];
  });
}

/** Records the facts of callbacks that arrive together in one transaction. */
async function recordTogether(
  { pool, keyring, events, waker }: CallbackRecordingDeps,
  callbacks: readonly ReportedFacts[],
): Promise<RecordedGroup[]> {
  const { results, queued } = await inTransaction(pool, async (client) => {
    const reused = await useTokens(client, callbacks);
    const facts = callbacks.flatMap((each) => (reused.has(each) ? [] : each.facts));
    const { queued, optedOut } = await recordFacts(client, facts, events);
    const refused = recipientsOf(optedOut);
    await recordRefusedInLedger(client, keyring, refused);
    const refusedOf = Map.groupBy(refused, ({ messageId }) => messageId);
    return {
      queued,
      results: callbacks.map((each): RecordedGroup => ({
        result: reused.has(each) ? 'reused' : 'recorded',
        refused: reused.has(each) ? [] : each.facts.flatMap((fact) => refusedOf.get(fact.messageId) ?? []),
      })),
    };
  });
  for (const channel of queued.keys()) waker.wake(channel);
  return results;
}

/** Creates what records the facts of callbacks, those that arrive together in one transaction. */
export function createCallbackRecording(deps: CallbackRecordingDeps) {
  const { pool, keyring, fence, log } = deps;

  /** If the database refuses the data of one fact, the others are recorded without it. */
  async function record(callbacks: readonly ReportedFacts[]): Promise<RecordedGroup[]> {
    try {
      return await recordTogether(deps, callbacks);
    } catch (error) {
      if (!isRefusedData(error)) throw error;
      const [only] = callbacks;
      if (callbacks.length > 1) return await recordEach(callbacks);
      if (only && only.facts.length > 1) {
        const each = await recordEach(only.facts.map((fact) => ({ ...only, facts: [fact] })));
        return [{ result: each[0]?.result ?? 'recorded', refused: each.flatMap(({ refused }) => refused) }];
      }
      log.error({ err: error, message_id: only?.facts[0]?.messageId }, 'report of a provider not recorded');
      return [{ result: 'recorded', refused: [] }];
    }
  }

  async function recordEach(callbacks: readonly ReportedFacts[]): Promise<RecordedGroup[]> {
    const results: RecordedGroup[] = [];
    for (const callback of callbacks) results.push(...(await record([callback])));
    return results;
  }

  const coalescer = createCoalescer<ReportedFacts, RecordedGroup>({
    maxGroupSize: MAX_CALLBACKS,
    bytes: { of: ({ facts }) => facts.length, max: MAX_FACTS },
    concurrency: CONCURRENCY,
    intervalMs: INTERVAL_MS,
    run: record,
  });

  /**
   * Records a part of a callback. Unsubscribing waits for whoever changes subscriptions of the brand, so it happens after
   * the commit: callbacks of other accounts do not wait. The opt-out is in the ledger by then.
   */
  async function recordPart(part: ReportedFacts): Promise<Recorded> {
    const { result, refused } = await coalescer.submit(part);
    for (const recipient of refused) {
      await inTransaction(pool, (trx) => recordRefusedOptOut(trx, keyring, recipient));
    }
    await waitForEach(fence, accountsToFence(part.facts));
    return result;
  }

  return {
    /**
     * Records the facts of a callback. Resolves after the commit, and after recipients are unsubscribed who opted out.
     * From then on, only batches that were intended before leave for a recipient whom it has suppressed or unsubscribed.
     * @throws the error of PostgreSQL if it is unavailable: the provider then repeats the callback
     */
    async record(callback: ReportedFacts): Promise<Recorded> {
      const { facts } = callback;
      // The tokens decide about all facts, so these stay together.
      if (callback.tokens.length > 0 || facts.length <= MAX_FACTS) return recordPart(callback);
      const parts = Array.from({ length: Math.ceil(facts.length / MAX_FACTS) }, (_, n) => ({
        ...callback,
        facts: facts.slice(n * MAX_FACTS, (n + 1) * MAX_FACTS),
      }));
      await Promise.all(parts.map(recordPart));
      return 'recorded';
    },
  };
}

export type CallbackRecording = ReturnType<typeof createCallbackRecording>;
