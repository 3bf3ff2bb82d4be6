/** Plain messages that are handed over and then recorded, in either way, with all that a record stores. */
import type { HandOverOutcome } from '../../src/delivery/terms/hand-over-outcome.ts';
import { takePlainMessages } from '../../src/delivery/ledger/claim/take.ts';
import type { BatchMessage } from '../../src/delivery/ledger/intend/batch.ts';
import { outcomeRecords } from '../../src/delivery/ledger/record/outcomes.ts';
import { type BatchRecord, createBatchRecording } from '../../src/delivery/ledger/record/record.ts';
import type { Database } from '../../src/platform/db/database.ts';
import type { Queryable } from '../../src/platform/db/queryable.ts';
import { insertContacts } from './contacts.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { testEvents } from './events.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from './queued.ts';
import { TEST_LIMITS } from './sending.ts';
import { statSums } from './stats.ts';

const OWNER = 70;

/** Where the statement has what else there is to say about each message. Null: the function runs its short part. */
const OTHERS = 9;

interface Statement {
  name: string;
  text: string;
  values: unknown[];
}

/** The values of a statement for plain messages as if there were more to say about them. */
function asGeneral(values: readonly unknown[]): unknown[] {
  const ids = values[2] as number[];
  const [provider] = values[5] as string[];
  const all = <T>(value: T) => ids.map(() => value);
  return values.with(3, all(1)).with(4, all('sent')).with(5, all(provider)).with(OTHERS, all(null));
}

export const accepted = (n: number): HandOverOutcome => ({
  kind: 'accepted',
  providerMessageId: n === 0 ? null : `id "${n}", with {marks}`,
  response: `250 OK ${n}`,
  delivered: false,
});

interface AccountOptions {
  /** Whether the recipients `u0` and `u1` are contacts. */
  contacts?: boolean;
  /** The events of a webhook, separated by commas. */
  events?: string | null;
}

export class PlainRecords {
  /** The account whose messages are handed over. */
  account: QueuedAccount = { accountId: 0, brandId: 0 };
  /** The number of the last intent. */
  seq = 0;
  readonly #test: TestDatabase;

  private constructor(test: TestDatabase) {
    this.#test = test;
  }

  static async open(): Promise<PlainRecords> {
    // It plans statements as a sender's database does.
    const test = await createTestDatabase({ keyedPlans: true });
    await insertSender(test.database, OWNER);
    return new PlainRecords(test);
  }

  drop = () => this.#test.drop();

  get database(): Database {
    return this.#test.database;
  }

  get pool() {
    return this.database.pool;
  }

  async openAccount({ contacts = false, events = null }: AccountOptions = {}): Promise<void> {
    this.account = await insertAccount(this.database);
    if (contacts) {
      await insertContacts(this.pool, this.account, 2, 'u');
      await this.pool.query('update accounts set has_contacts = true where id = $1', [
        this.account.accountId,
      ]);
    }
    if (events !== null) await this.subscribe(events);
  }

  subscribe(events: string) {
    return this.pool.query(
      `insert into webhooks (account_id, brand_id, url, events, secret_sealed, secret_last4)
       select account_id, id, 'https://hooks.example.com', $2, '', ''
       from brands where account_id = $1`,
      [this.account.accountId, `{${events}}`],
    );
  }

  /** Messages to `u0`, `u1` and so on, as a sender has them once the provider has responded. */
  async handOver(
    count: number,
    outcomeOf: (n: number) => HandOverOutcome = accepted,
    changed: (message: BatchMessage) => BatchMessage = (message) => message,
  ): Promise<BatchRecord> {
    await queueEmails(this.database, this.account, count);
    const { accountId } = this.account;
    const seq = ++this.seq;
    const request = { owner: OWNER, seq, provider: 'smtp', reportSeconds: 0, accountId, providerId: 0 };
    const taken = await takePlainMessages(this.pool, { ...request, messages: 50 }, TEST_LIMITS);
    const messages = (taken?.messages ?? []).map(changed);
    const outcomes = messages.map((_, n) => outcomeOf(n));
    return { owner: OWNER, seq, outcomes: outcomeRecords('smtp', messages, outcomes) };
  }

  /** Records the batches and returns whether the short part of the function took them. */
  async recordPlain(...batches: BatchRecord[]): Promise<boolean> {
    return (await this.recordAndWatch(this.pool, batches)).isShort;
  }

  /**
   * Records the batches.
   * @param client may be a transaction that has changed something else
   */
  async recordAndWatch(client: Queryable, batches: readonly BatchRecord[]) {
    let isShort = false;
    const watched = {
      query: async (statement: Statement) => {
        const result = await client.query(statement);
        isShort = statement.values[OTHERS] === null && result.rows.length > 0;
        return result;
      },
    };
    const queued = await createBatchRecording({ pool: watched as never, events: testEvents })(batches);
    return { isShort, queued };
  }

  record(...batches: BatchRecord[]) {
    return createBatchRecording({ pool: this.pool, events: testEvents })(batches);
  }

  /** Records plain messages by the parts for all messages. */
  recordGenerally(...batches: BatchRecord[]) {
    const general = {
      query: ({ values, ...statement }: Statement) =>
        this.pool.query({ ...statement, values: asGeneral(values) }),
    };
    return createBatchRecording({ pool: general as never, events: testEvents })(batches);
  }

  /** What a record has stored about the account's messages, without ids and times. */
  async effects() {
    const rowsOf = async (sql: string, id = this.account.accountId) =>
      (await this.pool.query<Record<string, unknown>>(sql, [id])).rows;
    return {
      messages: await rowsOf(
        `select status, attempt_count, provider, provider_message_id, sent_attempt, response, failure, hold, bounce,
           unknown_at, unsent_at, delivered_at, sent_at = updated_at as now, content_version_id, test,
           (select email from contacts c where c.id = contact_id) as contact
         from messages where account_id = $1 order by id`,
      ),
      engagement: await rowsOf(
        `select c.email, kind, e.brand_id = m.brand_id as of_brand, e.created_at = m.sent_at as now, m.subject
         from contact_engagement e join messages m on m.id = e.message_id
         left join contacts c on c.id = e.contact_id where m.account_id = $1 order by m.id`,
      ),
      counts: await rowsOf(
        `select email, channel, sent_count, fail_count
         from contact_channel_counts join contacts on id = contact_id where account_id = $1 order by 1`,
      ),
      published: await rowsOf(
        `select type, data::jsonb - 'message_id' as data,
           brand_id = (select id from brands b where b.account_id = e.account_id) as of_brand,
           (select subject from messages where id = (data ->> 'message_id')::bigint),
           array(
             select q.created_at = e.created_at and d.created_at = e.created_at and d.type = e.type
               and q.webhook_id = d.webhook_id and q.generation = d.generation and q.owner is null
             from webhook_deliveries d left join webhook_queue q on q.delivery_id = d.id
             where d.event_id = e.id) as queued
         from events e where account_id = $1 order by (data ->> 'message_id')::bigint`,
      ),
      events: await rowsOf(
        'select type from message_events e join messages m on m.id = e.message_id where m.account_id = $1',
      ),
      queue: await rowsOf('select 1 from send_queue where account_id = $1'),
      usage: await rowsOf(
        `select month, sum(email_used)::int as used, sum(email_sent)::int as sent, sum(sms_used)::int as sms_used,
           sum(sms_sent)::int as sms_sent from usage_changes where account_id = $1 group by 1`,
      ),
      stats: await statSums(this.pool, this.account.brandId),
      outcomes: await rowsOf(
        'select hour, attempted, hard_bounces, complaints from account_outcomes where account_id = $1',
      ),
      allowance: await rowsOf('select bucket, used from allowance_buckets where account_id = $1'),
      intents: await rowsOf('select 1 from handovers where owner = $1', OWNER),
    };
  }
}
