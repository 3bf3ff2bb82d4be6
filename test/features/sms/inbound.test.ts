// An inbound STOP opts out of the brand and START opts in, once each; answers to HELP are charged, and no text is kept.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isOptedOut, recordOptOut } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import type { InboundSms } from '../../../src/delivery/wire/adapters/kind.ts';
import { createRecipientFence } from '../../../src/delivery/ledger/consent/recipient-fence.ts';
import { addSmsSender, handleInboundSms, removeSmsSender } from '../../../src/features/sms/service.ts';
import { smsUpkeep } from '../../../src/features/sms/upkeep.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { credit, insertPayer, monthsOf, setPrice } from '../../support/money.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

const keyring = createKeyring('a secret of at least thirty-two characters');
const RECIPIENT = '+14155552671';
const NUMBER = '+14155550123';
const HELP = 'Acme: help@acme.com. Reply STOP to unsubscribe.';

let made: TestDatabase;
let account: QueuedAccount;
let providerId: number;
let woken: unknown[][];
let nextId = 1;

beforeAll(async () => {
  made = await createTestDatabase();
  const { rows } = await made.database.pool.query<{ id: number }>(
    `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
     values ('twilio-us', 'twilio', 'sms', 'x', 'x', 'x') returning id`,
  );
  providerId = rows[0]?.id ?? 0;
});
afterAll(() => made.drop());

beforeEach(async () => {
  const { pool } = made.database;
  await pool.query('truncate sms_senders, sms_keywords, sms_help_answers, opt_outs cascade');
  account = await insertAccount(made.database);
  woken = [];
});

/** Gives the brand its sender. */
function addSender(
  given: { brandId?: number; from?: string; helpText?: string | null; keywords?: string } = {},
) {
  const { brandId = account.brandId, from = NUMBER, helpText = HELP, keywords = null } = given;
  return addSmsSender(made.database.pool, { brandId, provider: 'twilio-us', from, helpText, keywords });
}

function receive(text: string, given: Partial<InboundSms> = {}) {
  const sms: InboundSms = {
    from: RECIPIENT,
    to: NUMBER,
    pool: null,
    text,
    answered: null,
    providerMessageId: `SM${nextId++}`,
    ...given,
  };
  const waker = { wake: (...args: unknown[]) => void woken.push(args) };
  const { pool } = made.database;
  const deps = { pool, keyring, waker, fence: createRecipientFence(pool), limits: TEST_LIMITS };
  return handleInboundSms(deps, { id: providerId }, sms);
}

const optedOut = (brandId = account.brandId, address = RECIPIENT) =>
  isOptedOut(made.database.pool, keyring, { brandId, channel: 'sms', address });

async function sentMessages() {
  const { rows } = await made.database.pool.query(
    `select m.to_address, m.from_address, m.class, m.status, m.segments, c.text, q.provider_id
     from messages m join message_contents c on c.message_id = m.id join send_queue q on q.message_id = m.id
     where m.brand_id = $1`,
    [account.brandId],
  );
  return rows;
}

describe('the contact with the number', () => {
  it('is unsubscribed by STOP and subscribed by START', async () => {
    await addSender();
    const { pool } = made.database;
    await pool.query(
      `insert into contacts (account_id, brand_id, phone, phone_subscribed) values ($1, $2, $3, true)`,
      [account.accountId, account.brandId, RECIPIENT],
    );
    const subscription = async () => {
      const { rows } = await pool.query(
        `select phone_subscribed as subscribed, phone_opt_in_source as source, phone_opt_out_at is not null as out
         from contacts where brand_id = $1`,
        [account.brandId],
      );
      return rows[0] as unknown;
    };
    await receive('STOP');
    expect(await subscription()).toEqual({ subscribed: false, source: null, out: true });
    await receive('START');
    expect(await subscription()).toEqual({ subscribed: true, source: 'sms_start', out: false });
  });
});

describe('an inbound SMS', () => {
  it('opts the recipient out of the brand of the number, with STOP', async () => {
    await addSender();
    expect(await receive(' stop. ')).toBe('opted_out');
    expect(await optedOut()).toBe(true);
    const other = await insertAccount(made.database);
    expect(await optedOut(other.brandId)).toBe(false);
    const { rows } = await made.database.pool.query('select account_id, channel, source from opt_outs');
    expect(rows).toEqual([{ account_id: account.accountId, channel: 'sms', source: 'sms_stop' }]);
  });

  it('makes batches that are being decided check their recipients again, after STOP', async () => {
    await addSender();
    const marked = async () => {
      const { rows } = await made.database.pool.query<{ marked: boolean }>(
        'select recipients_changed_at is not null as marked from accounts where id = $1',
        [account.accountId],
      );
      return rows[0]?.marked;
    };
    await receive('START');
    expect(await marked()).toBe(false);
    await receive('STOP');
    expect(await marked()).toBe(true);
  });

  it('opts the recipient in again, with START, whatever caused the opt-out', async () => {
    await addSender();
    const { accountId, brandId } = account;
    const optOut = {
      accountId,
      brandId,
      channel: 'sms',
      address: RECIPIENT,
      source: 'manual',
      messageId: null,
    } as const;
    await recordOptOut(made.database.pool, keyring, optOut);
    expect(await receive('UNSTOP')).toBe('opted_in');
    expect(await optedOut()).toBe(false);
    expect(await receive('yes')).toBe('opted_in');
  });

  it('changes nothing when the provider delivers it again', async () => {
    await addSender();
    const stop = { providerMessageId: 'SM-stop' };
    expect(await receive('STOP', stop)).toBe('opted_out');
    expect(await receive('START', { providerMessageId: 'SM-start' })).toBe('opted_in');
    expect(await receive('STOP', stop)).toBe('repeated');
    expect(await optedOut()).toBe(false);
  });

  it('is handled once if it arrives several times at the same moment', async () => {
    await addSender();
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => receive('HELP', { providerMessageId: 'SM-1' })),
    );
    expect(outcomes.sort()).toEqual(['answered', 'repeated', 'repeated', 'repeated', 'repeated']);
    expect(await sentMessages()).toHaveLength(1);
  });

  it("is answered with the brand's help text, at most once a minute for each number", async () => {
    await addSender();
    const first = await Promise.all([
      receive('HELP'),
      receive('info?'),
      receive('HELP', { from: '+14155552672' }),
    ]);
    expect(first.sort()).toEqual(['answered', 'answered', 'no_answer']);
    expect(await receive('HELP')).toBe('no_answer');
    expect(await sentMessages()).toEqual(
      expect.arrayContaining([
        {
          to_address: RECIPIENT,
          from_address: NUMBER,
          class: 0,
          status: 'queued',
          segments: 1,
          text: HELP,
          provider_id: providerId,
        },
      ]),
    );
    expect(woken[0]).toEqual(['send', [expect.stringContaining(String(account.accountId))]]);
    await made.database.pool.query(`update sms_help_answers set answered_at = now() - interval '61 seconds'`);
    expect(await receive('HELP')).toBe('answered');
    expect(await sentMessages()).toHaveLength(3);
  });

  it('is not answered without a help text, or if the provider has answered it', async () => {
    await addSender({ helpText: null });
    expect(await receive('HELP')).toBe('no_answer');
    await removeSmsSender(made.database.pool, account.brandId);
    await addSender();
    expect(await receive('HELP', { answered: 'help' })).toBe('no_answer');
    expect(await sentMessages()).toEqual([]);
  });

  it('counts as the keyword that the provider recognized', async () => {
    await addSender();
    expect(await receive('arrêtez', { answered: 'stop' })).toBe('opted_out');
    expect(await receive('weiter', { answered: 'start' })).toBe('opted_in');
  });

  it("opts the recipient out with the brand's own words", async () => {
    await addSender({ keywords: 'stopp, arrêt' });
    expect(await receive('Stopp')).toBe('opted_out');
  });

  it('changes nothing without a keyword, a brand or a phone number', async () => {
    await addSender();
    expect(await receive('Please stop sending')).toBe('no_keyword');
    expect(await receive('STOP', { to: '+14155550199' })).toBe('unknown_number');
    expect(await receive('STOP', { from: '12345' })).toBe('unknown_number');
    const { rows } = await made.database.pool.query('select from sms_keywords');
    expect(rows).toHaveLength(0);
  });

  it('finds the brand by a pool of numbers', async () => {
    const pool = `MG${'0a'.repeat(16)}`;
    await addSender({ from: pool });
    expect(await receive('STOP', { to: '+14155550188', pool })).toBe('opted_out');
  });

  it('finds the brand that has the number, or else the last one that had it', async () => {
    await addSender();
    await removeSmsSender(made.database.pool, account.brandId);
    expect(await receive('STOP')).toBe('opted_out');
    const next = await insertAccount(made.database);
    await addSender({ brandId: next.brandId });
    expect(await receive('STOP', { from: '+14155552673' })).toBe('opted_out');
    expect(await optedOut(next.brandId, '+14155552673')).toBe(true);
  });

  it('belongs to the provider that received it', async () => {
    await addSmsSender(made.database.pool, {
      brandId: account.brandId,
      provider: null,
      from: NUMBER,
      helpText: null,
      keywords: null,
    });
    expect(await receive('STOP')).toBe('unknown_number');
  });

  it('leaves no trace of its text, and is remembered permanently if it is START or STOP, for 30 days if it is HELP', async () => {
    await addSender();
    const start = { providerMessageId: 'SM-old-start' };
    await receive('START', start);
    await receive('STOP');
    await receive('HELP', { providerMessageId: 'SM-old-help' });
    const { pool } = made.database;
    const tables = ['sms_keywords', 'sms_help_answers'];
    const stored = await Promise.all(tables.map((table) => pool.query(`select * from ${table}`)));
    expect(JSON.stringify(stored.map(({ rows }) => rows))).not.toContain(RECIPIENT.slice(1));
    await pool.query(`update sms_keywords set received_at = now() - interval '31 days'`);
    await pool.query(`update sms_help_answers set answered_at = now() - interval '2 days'`);
    const deps = { database: made.database } as never;
    const removed = [];
    for (const task of smsUpkeep.tasks ?? []) removed.push(await task.run(deps, new Date(), () => undefined));
    expect(removed).toEqual([1, 1]);
    await removeSmsSender(pool, account.brandId);
    expect([await receive('START', start), await optedOut()]).toEqual(['repeated', true]);
    expect(await receive('HELP', { providerMessageId: 'SM-old-help' })).toBe('answered');
  });
});

describe('an answer to HELP', () => {
  const PRICE = 700;

  beforeEach(async () => {
    account = await insertPayer(made.database, { funds: PRICE });
    await setPrice(made.database, PRICE, { country: 'US' });
    await addSender();
  });
  afterAll(() => made.database.pool.query('delete from prices'));

  const answers = async () => {
    const { rows } = await made.database.pool.query(
      `select m.status, m.failure ->> 'code' as reason, q.price_millicents as price,
         (select string_agg(e.type, ',') from message_events e where e.message_id = m.id) as events
       from messages m left join send_queue q on q.message_id = m.id where m.brand_id = $1 order by m.id`,
      [account.brandId],
    );
    return rows as unknown[];
  };
  const spent = async () => (await monthsOf(made.database, account)).spent;
  const setCap = (cents: number) =>
    made.database.pool.query('update accounts set spend_cap_monthly_cents = $2 where id = $1', [
      account.accountId,
      cents,
    ]);
  const movePrice = (country: string) =>
    made.database.pool.query(`update prices set country = $1 where kind = 'sms'`, [country]);

  it('reserves its price', async () => {
    expect(await receive('HELP')).toBe('answered');
    expect(await answers()).toEqual([{ status: 'queued', reason: null, price: PRICE, events: null }]);
    expect(await spent()).toBe(PRICE);
  });

  it('is not sent without funds, and the reason is recorded once a minute for each number', async () => {
    await credit(made.database, account, -1);
    for (let n = 0; n < 2; n += 1) expect(await receive('HELP')).toBe('no_answer');
    const failed = { status: 'failed', reason: 'insufficient_funds', price: null, events: 'failed' };
    expect(await answers()).toEqual([failed]);
    expect([await spent(), woken]).toEqual([0, []]);
  });

  it.each([
    ['spend_cap_reached', 'beyond the spend cap', () => setCap(0)],
    ['no_price', 'to a country without a price', () => movePrice('DE')],
  ])('is not sent with %s: %s', async (reason, _why, arrange) => {
    await arrange();
    expect(await receive('HELP')).toBe('no_answer');
    expect(await answers()).toMatchObject([{ status: 'failed', reason, price: null }]);
    expect(await spent()).toBe(0);
  });
});
