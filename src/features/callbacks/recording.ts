import type pg from 'pg';
import type { Logger } from 'pino';
import { recipientKey } from '../../delivery/terms/channels/recipient.ts';
import { accountsToFence, type DeliveryFact } from '../../delivery/ledger/facts/delivery-fact.ts';
import { type RecordedFacts, recordFacts } from '../../delivery/ledger/facts/facts.ts';
import { type RecipientFence, waitForEach } from '../../delivery/ledger/consent/recipient-fence.ts';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { isRefusedData } from '../../platform/db/refused-data.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { EventPublisher } from '../../platform/events/publish.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { recordRefusedInLedger, recordRefusedOptOut, type RefusedRecipient } from '../contacts/service.ts';

/** What to record from one callback, or from a part of it. */
export interface ReportedFacts {
  providerId: number;
  facts: readonly DeliveryFact[];
  /** Digests of its single-use tokens. */
  tokens: readonly Buffer[];
  /** SHA-256 of the body that contained the tokens. */
  bodyDigest: Buffer;
}

/** `reused`: a token was used before with another body, so nothing was recorded. */
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

/** Maximum number of facts recorded in one transaction, if callbacks arrive together. */
const MAX_FACTS = 300;
const MAX_CALLBACKS = 300;
/** Only one, because concurrent groups would be smaller, and a transaction costs as much as many reports. */
const CONCURRENCY = 1;
const INTERVAL_MS = 5;

/** The result of a callback, and the recipients to unsubscribe because of its group. */
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

/** @returns each token with the body of its first use. The row of a known token is locked and stays unchanged. */
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
 * Marks the tokens of callbacks as used. A token may be used again with the same body: the provider retries a callback
 * whose response it did not receive.
 * @returns the callbacks whose token was used before with another body
 */
async function useTokens(
  client: Queryable,
  callbacks: readonly ReportedFacts[],
): Promise<Set<ReportedFacts>> {
  const used = callbacks.flatMap((callback) => callback.tokens.map((token) => ({ callback, token })));
  if (used.length === 0) return new Set();
  const keyOf = (providerId: number, token: Buffer) => `${providerId} ${token.toString('base64')}`;
  // A statement must not insert the same row twice.
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

/** Records the facts of a group of callbacks in one transaction. */
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

/** Creates the recording of callbacks. Callbacks that arrive together are recorded in one transaction. */
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
      log.error({ err: error, message_id: only?.facts[0]?.messageId }, 'provider report not recorded');
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
   * Records a part of a callback. Unsubscribing may wait for other changes to the brand's subscriptions, so it happens
   * after the commit, when the opt-out is already in the ledger, and callbacks of other accounts do not wait for it.
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
     * Records the facts of a callback. Resolves after the commit, and after recipients who opted out are unsubscribed.
     * From then on, only batches that already had their intent can be sent to a recipient that it suppressed or
     * unsubscribed.
     * @throws PostgreSQL's error if it is unavailable: the provider then retries the callback
     */
    async record(callback: ReportedFacts): Promise<Recorded> {
      const { facts } = callback;
      // The tokens decide about all facts, so the facts stay in one group.
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
