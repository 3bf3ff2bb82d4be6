// Messages of an unusable provider are held and reported, and move to the next provider if there is one.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { addProvider, requireProviderKind } from '../../../src/delivery/wire/providers/named.ts';
import type { Backlogs } from '../../../src/delivery/sender/turns/backlogs.ts';
import { createFailOver, type FailOver } from '../../../src/delivery/sender/failover/fail-over.ts';
import { createMissingChannel } from '../../../src/delivery/sender/compose/provider-channel.ts';
import { createFollowProviders } from '../../../src/delivery/sender/loop/named-shares.ts';
import { rerouteBacklog } from '../../../src/delivery/sender/failover/reroute.ts';
import type { ProviderShares } from '../../../src/delivery/sender/share/shares.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { queueLetter } from '../../support/letters.ts';
import { testPulse } from '../../support/pulse.ts';
import { insertAccount, queueEmails, type QueuedAccount, wakeSenders } from '../../support/queued.ts';
import { slowChannel, startTestSender, type TestSender } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const REASON = 'SMS_PROVIDER_URL is not set';

let test: TestDatabase;
let account: QueuedAccount;
let sender: TestSender | null;
let logged: Record<string, unknown>[];

beforeEach(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
  sender = null;
  logged = [];
});
afterEach(async () => {
  await sender?.stop();
  await test.drop();
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

/** Lets nothing be held before the sender has tried to hand over an SMS. */
const afterAnAttempt =
  (failOver: FailOver): FailOver =>
  async (view) => {
    const sms = view.shares.all().find(({ channel }) => channel.channel === 'sms');
    if (sms && sms.breaker.openMs() > 0) await failOver(view);
  };

/**
 * Starts a sender that has no SMS provider, and can open no named provider.
 * @param wrap changes when messages are held
 */
async function start(wrap = (failOver: FailOver) => failOver): Promise<void> {
  const { pool } = test.database;
  const log = pino({}, { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) });
  const waker = { wake: () => void wakeSenders(test.database) };
  const failOver = wrap(createFailOver({ pool, waker, log, outageMs: 1 }));
  const open = () => {
    throw new Error('lost its secrets');
  };
  const followProviders = createFollowProviders({
    pool,
    open,
    failOver,
    pulse: testPulse(pool, { intervalMs: 20 }),
    log,
    intervalMs: 50,
  });
  const channels = [slowChannel(Promise.resolve()), createMissingChannel('sms', REASON)];
  sender = await startTestSender({ url: test.url, port: 1, channels, followProviders });
}

async function addUnusable(): Promise<number> {
  const kind = requireProviderKind('smtp');
  const settings = { url: 'smtp://127.0.0.1:1' };
  return (await addProvider(test.database.pool, testKeyring, { name: 'lost', kind, settings })).id;
}

const queueSms = (count: number) => queueEmails(test.database, account, count, { channel: 'sms' });

/** Makes messages as old as their lifetime. */
async function age(ids: readonly number[]): Promise<void> {
  await query(
    `update send_queue set queued_at = now() - interval '73 hours', due_at = least(due_at, now())
     where message_id = any($1)`,
    [ids],
  );
  await wakeSenders(test.database);
}

const shown = (ids: readonly number[]) =>
  query<{ status: string; hold: object | null; code: string | null }>(
    `select status, hold, failure ->> 'code' as code from messages where id = any($1) order by id`,
    [ids],
  );

const held = { status: 'held', hold: { reason: 'provider_unavailable', until: null }, code: null };
const expired = { status: 'failed', hold: null, code: 'expired' };

const untilShown = (ids: readonly number[], as: object) =>
  eventually(async () => expect(await shown(ids)).toEqual(ids.map(() => as)));

describe('messages whose provider cannot be used', () => {
  it('are held for a named provider that cannot be opened, and expire', async () => {
    const ids = await queueEmails(test.database, account, 3, { providerId: await addUnusable() });
    await start();
    await untilShown(ids, held);
    const [row] = await query<{ minutes: number }>(
      'select max(extract(epoch from due_at - now())::float8 / 60) as minutes from send_queue',
    );
    expect(row?.minutes).toBeGreaterThan(1);
    expect(row?.minutes).toBeLessThanOrEqual(5);
    await age(ids);
    await untilShown(ids, expired);
    expect(await query('select 1 from send_queue')).toEqual([]);
  });

  it('are held for SMS if there is no SMS provider, and expire', async () => {
    const ids = await queueSms(3);
    await start();
    await untilShown(ids, held);
    expect(await query('select attempt_count from send_queue')).toEqual(
      ids.map(() => ({ attempt_count: 0 })),
    );
    const old = await queueSms(120);
    await age([...ids, ...old]);
    await untilShown([...ids, ...old], expired);
  });

  it('expire even if another limit held them with their backlog', async () => {
    const ids = await queueEmails(test.database, account, 2, { providerId: await addUnusable() });
    await query('update send_queue set held = true');
    await age(ids);
    await start();
    await untilShown(ids, expired);
  });

  it('are reported to operators, in the lane and in the log', async () => {
    await addUnusable();
    await queueSms(2);
    await start(afterAnAttempt);
    await eventually(() => {
      expect(sender?.sender.report().providers).toMatchObject({
        'email:lost': { state: 'open' },
        'sms:none': { state: expect.stringMatching(/open/), reason: REASON },
      });
      expect(logged).toContainEqual(
        expect.objectContaining({
          level: 40,
          provider: 'none',
          held: 2,
          msg: 'messages are held: their provider cannot be used',
        }),
      );
    });
  });

  it('wait if they are SMS from a number of that provider, even if their account has another', async () => {
    const kind = requireProviderKind('twilio');
    const settings = { account_sid: `AC${'0'.repeat(32)}`, auth_token: '0'.repeat(32) };
    const add = (name: string) => addProvider(test.database.pool, testKeyring, { name, kind, settings });
    const [{ id: lost }, { id: other }] = [await add('lost'), await add('other')];
    await query('update accounts set sms_provider_ids = $2 where id = $1', [
      account.accountId,
      [lost, other],
    ]);
    const [plain = 0] = await queueSms(1);
    await query(
      `with b as (insert into brands (account_id) values ($1) returning id), s as (
         insert into sms_senders (account_id, brand_id, provider_id, sender, takes_replies)
         select $1, id, $2, '+14155550123', true from b)
       select id from b`,
      [account.accountId, lost],
    );
    const [own = 0] = await queueSms(1);
    await query('update messages set brand_id = (select brand_id from sms_senders) where id = $1', [own]);
    await query('update send_queue set provider_id = $1', [lost]);
    await query(`insert into provider_outages values ('sms', $1, now(), now() + interval '1 hour')`, [lost]);
    for (;;) {
      const { moved } = await rerouteBacklog(test.database.pool, {
        channel: 'sms',
        class: 0,
        accountId: account.accountId,
        providerId: lost,
      });
      if (moved === 0) break;
    }
    expect(await query('select message_id, provider_id from send_queue order by message_id')).toEqual([
      { message_id: plain, provider_id: other },
      { message_id: own, provider_id: lost },
    ]);
    // A new message: with the number of the provider that fails, and without.
    const chosen = await query(
      `select choose_provider('sms', $1, array[$1, $2]::bigint[]) as own,
         choose_provider('sms', null, array[$1, $2]::bigint[]) as plain,
         choose_provider('email', null, array[0]::bigint[]) as email`,
      [lost, other],
    );
    expect(chosen).toEqual([{ own: lost, plain: other, email: 0 }]);
  });

  it('stay with a provider that recognizes them if their outcome is unknown, even after a hold', async () => {
    const kind = requireProviderKind('resend');
    const settings = { api_key: 're_0123456789', webhook_secret: `whsec_${'A'.repeat(32)}` };
    const { id: lost } = await addProvider(test.database.pool, testKeyring, { name: 'lost', kind, settings });
    const tried = await queueEmails(test.database, account, 2, { providerId: lost });
    const [plain = 0] = await queueEmails(test.database, account, 1, { providerId: lost });
    await query(`update messages set status = 'unknown' where id = any($1)`, [tried]);
    await query(
      `insert into message_events (message_id, attempt, type) select unnest($1::bigint[]), 1, 'unknown'`,
      [tried],
    );
    await query('update send_queue set attempt_count = 1 where message_id = any($1)', [tried]);
    await start();
    await untilShown([plain], held);
    expect(await shown(tried)).toEqual(tried.map(() => ({ status: 'unknown', hold: null, code: null })));
    await sender?.stop();
    sender = null;
    // Another limit holds one of them meanwhile. Then the account gets a further provider.
    await query(
      `select hold_messages(jsonb_build_object($1::bigint, '{"hold": {"reason": "paused"}}'::jsonb))`,
      [tried[0]],
    );
    await query('update accounts set email_provider_ids = $2 where id = $1', [account.accountId, [lost, 0]]);
    await query('update send_queue set due_at = now()');
    await rerouteBacklog(test.database.pool, {
      channel: 'email',
      class: 0,
      accountId: account.accountId,
      providerId: lost,
    });
    expect(await query('select message_id, provider_id from send_queue order by message_id')).toEqual([
      ...tried.map((id) => ({ message_id: id, provider_id: lost })),
      { message_id: plain, provider_id: 0 },
    ]);
  });

  it('move to the next provider of their account instead, if it has one', async () => {
    const lost = await addUnusable();
    await query('update accounts set email_provider_ids = $2 where id = $1', [account.accountId, [lost, 0]]);
    const ids = await queueEmails(test.database, account, 2, { providerId: lost });
    await start();
    await eventually(async () => {
      const rows = await query('select 1 from send_queue where provider_id = 0 and attempt_count = 1');
      expect(rows).toHaveLength(ids.length);
    });
  });

  it('move there only if it can take them, if they are letters; the others are held with the reason', async () => {
    const lost = await addUnusable();
    await query('update accounts set email_provider_ids = $2 where id = $1', [account.accountId, [lost, 0]]);
    await query('insert into provider_sizes (provider_id, max_bytes) values (0, 1000000)');
    const queue = (wireBytes: number) => queueLetter(test.database, account, { providerId: lost, wireBytes });
    const [small, large] = [await queue(1_000_000), await queue(1_000_001)];
    await start();
    await untilShown(large, { ...held, hold: { reason: 'provider_cannot_take', until: null } });
    await eventually(async () => {
      const rows = await query(
        'select message_id from send_queue where provider_id = 0 and attempt_count = 1',
      );
      expect(rows).toEqual(small.map((id) => ({ message_id: id })));
    });
  });

  it('move there in pages, however many they are, and each page wakes the senders', async () => {
    const lost = await addUnusable();
    await query('update accounts set email_provider_ids = $2 where id = $1', [account.accountId, [lost, 0]]);
    const count = 2_300;
    await queueEmails(test.database, account, count, { providerId: lost });
    // One is not due yet: it is moved when it is due, if the provider still fails then.
    await query(
      `update send_queue set due_at = now() + interval '1 hour' where message_id = (select max(message_id) from send_queue)`,
    );
    const woken: unknown[] = [];
    const { pool } = test.database;
    const waker = { wake: (_channel: string, names?: readonly string[]) => void woken.push(names) };
    const log = pino({ level: 'silent' });
    const failOver = createFailOver({ pool, waker, log, outageMs: 1 });
    const backlog = { channel: 'email', class: 0, accountId: account.accountId, providerId: lost } as const;
    const backlogs = { all: () => [backlog], due: () => [backlog] } as unknown as Backlogs;
    const shares = { all: () => [] } as unknown as ProviderShares;
    const unusable = [{ channel: 'email', providerId: lost, provider: 'lost', ageMs: 2 }] as const;
    const liveIds = new Set([lost]);
    await failOver({ shares, backlogs, liveIds, unusable });
    expect(await query('select provider_id, count(*) from send_queue group by 1 order by 1')).toEqual([
      { provider_id: 0, count: count - 1 },
      { provider_id: lost, count: 1 },
    ]);
    expect(woken).toHaveLength(3);
  });
});
