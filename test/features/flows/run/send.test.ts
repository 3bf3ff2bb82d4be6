// A sending step queues a message only within consent, suppression and frequency limits.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { recordOptOut } from '../../../../src/delivery/ledger/consent/opt-outs.ts';
import { keepUnapplied } from '../../../../src/delivery/ledger/consent/unapplied-opt-outs.ts';
import { optOutHashes } from '../../../../src/delivery/ledger/consent/opt-outs.ts';
import { foldFlowCounts, readFlowCounts } from '../../../../src/features/flows/counts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import {
  send,
  type TestContact,
  type TestContent,
  testFlowSender,
  writeContact,
  writeFlow,
  writeRun,
} from '../../../support/flow-sends.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { testKeyring } from '../../../support/webhooks.ts';

let test: TestDatabase;
let account: QueuedAccount;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

const query = async (sql: string, values: unknown[] = []) =>
  (await test.database.pool.query<Record<string, unknown>>(sql, values)).rows;

async function stage(content: TestContent = {}, contact: TestContact = {}, run: { test?: boolean } = {}) {
  const { flowId, steps } = await writeFlow(test.database, account, [content]);
  const contactId = await writeContact(test.database, account, contact);
  return {
    flowId,
    step: steps[0],
    contactId,
    run: await writeRun(test.database, account, flowId, contactId, run),
  };
}

async function sendOne(
  content?: TestContent,
  contact?: TestContact,
  options: { test?: boolean; plusAddresses?: boolean; sandboxCap?: number } = {},
) {
  const staged = await stage(content, contact, { test: options.test ?? false });
  return { ...staged, ...(await send(test.database, testFlowSender(options), staged.run, staged.step)) };
}

const countsOf = async (flowId: number) => {
  while (await foldFlowCounts(test.database.pool));
  const counts = await readFlowCounts(test.database.pool, flowId, { from: null, to: null });
  return Object.fromEntries(counts.map(({ stepId, name, count }) => [`${stepId} ${name}`, count]));
};

describe('a step that sends', () => {
  it('queues a message of its class with run, step, contact and version, and stores no content', async () => {
    const { result, messageId, queued, run, contactId } = await sendOne();
    expect(result).toEqual({ outcome: 'sent', messageId });
    const [message] = await query('select * from messages where id = $1', [messageId]);
    expect(message).toMatchObject({
      ...{ class: 1, status: 'queued', flow_id: run.flow_id, flow_run_id: run.id, flow_step_id: 1 },
      ...{ contact_id: contactId, to_address: 'ada@example.com', test: false },
      from_address: `sandbox-${account.accountId}@mail.test`,
    });
    expect(message?.content_version_id).toBeGreaterThan(0);
    expect(await query('select 1 from message_contents where message_id = $1', [messageId])).toEqual([]);
    const [row] = await query('select class, content_bytes from send_queue where message_id = $1', [
      messageId,
    ]);
    expect(row).toMatchObject({ class: 1 });
    expect(Number(row?.content_bytes)).toBeGreaterThan(10);
    expect(queued).toEqual([`email/1/${account.accountId}`]);
    expect(await countsOf(run.flow_id)).toEqual({ '1 accepted': 1 });
  });

  it('pins the tracking of an email from a domain', async () => {
    const domainId = await insertVerifiedDomain(test.database, account, 'shop.test');
    const { messageId } = await sendOne({ fromEmail: 'hi@shop.test', fromName: 'The "Shop"' });
    const [message] = await query('select from_address, tracking from messages where id = $1', [messageId]);
    expect(message).toMatchObject({
      from_address: '"The \\"Shop\\"" <hi@shop.test>',
      tracking: { opens: true, clicks: true, host: 'https://app.test' },
    });
    expect(await query('select domain_id from send_queue where message_id = $1', [messageId])).toEqual([
      { domain_id: domainId },
    ]);
  });

  it('keeps the domain of a sender that has lost its verification, so that the message is held', async () => {
    const domainId = await insertVerifiedDomain(test.database, account, 'lost.test');
    await query(`update domains set status = 'failed', lost_at = now() where id = $1`, [domainId]);
    const { messageId } = await sendOne({ fromEmail: 'hi@lost.test' });
    expect(await query('select domain_id from send_queue where message_id = $1', [messageId])).toEqual([
      { domain_id: domainId },
    ]);
  });

  it('fails without a message if the content names an invalid sender', async () => {
    const { result, run } = await sendOne({ fromEmail: 'hi@other.test' });
    expect(result).toEqual({ outcome: 'failed', detail: { reason: 'sender_not_verified' } });
    expect(await countsOf(run.flow_id)).toEqual({ '1 failed:sender_not_verified': 1 });
  });

  it('sends an SMS as the sender of the brand', async () => {
    await query(
      `insert into sms_senders (account_id, brand_id, sender, takes_replies) values ($1, $2, $3, true)`,
      [...[account.accountId, account.brandId, `+4930${account.accountId}`]],
    );
    const { messageId, queued } = await sendOne({ channel: 'sms' }, { email: null, phone: '+4915112345678' });
    const [message] = await query(
      'select channel, to_address, from_address, tracking from messages where id = $1',
      [messageId],
    );
    expect(message).toEqual({
      ...{ channel: 'sms', to_address: '+4915112345678', from_address: `+4930${account.accountId}` },
      tracking: null,
    });
    expect(queued).toEqual([`sms/1/${account.accountId}`]);
  });
});

describe('consent', () => {
  it.each([
    ['has unsubscribed', { subscribed: false }, { exit: 'unsubscribed' }],
    ['has no address', { email: null }, { outcome: 'skipped', detail: { reason: 'no_address' } }],
  ])('creates no message for a contact who %s', async (_, contact, expected) => {
    const { result } = await sendOne({}, contact);
    expect(result).toEqual(expected);
    expect(await query('select 1 from messages where brand_id = $1', [account.brandId])).toEqual([]);
  });

  it('ends the run of a contact who was deleted', async () => {
    const staged = await stage();
    await query('delete from contacts where id = $1', [staged.contactId]);
    const { result } = await send(test.database, testFlowSender(), staged.run, staged.step);
    expect(result).toEqual({ exit: 'contact_deleted' });
  });

  it.each([
    ['ada@example.com', 'ada@example.com', false, true],
    ['ada@example.com', 'ada+news@example.com', false, false],
    ['ada@example.com', 'ada+news@example.com', true, true],
  ])('with %s suppressed, %s (plus addresses: %s) is suppressed: %s', async (suppressed, email, plus, is) => {
    await query(
      `insert into suppressions (account_id, address_key, email, reason) values ($1, $2, $2, 'hard_bounce')`,
      [account.accountId, suppressed],
    );
    const { result } = await sendOne({}, { email }, { plusAddresses: plus });
    expect('exit' in result ? result.exit : null).toBe(is ? 'suppressed' : null);
  });

  it('respects an opt-out that has not been applied to the contact yet', async () => {
    const { accountId, brandId } = account;
    const address = { brandId, channel: 'email', address: 'ada@example.com' } as const;
    const { pool } = test.database;
    await recordOptOut(pool, testKeyring, { ...address, accountId, source: 'one_click', messageId: null });
    const [hash = Buffer.alloc(0)] = optOutHashes(testKeyring, address);
    await keepUnapplied(pool, address, hash);
    expect((await sendOne()).result).toEqual({ exit: 'unsubscribed' });
  });
});

describe('limits', () => {
  it('continues after a message that the sandbox refuses, and keeps what the run did before', async () => {
    const staged = await stage();
    const sender = testFlowSender({ sandboxCap: 1 });
    await query('update accounts set sandbox_monthly_cap = 1 where id = $1', [account.accountId]);
    expect((await send(test.database, sender, staged.run, staged.step)).result).toMatchObject({
      outcome: 'sent',
    });
    const { result } = await send(test.database, sender, staged.run, staged.step);
    expect(result).toEqual({ outcome: 'failed', detail: { reason: 'sandbox_limit_reached' } });
    expect(await countsOf(staged.flowId)).toEqual({ '1 accepted': 1, '1 failed:sandbox_limit_reached': 1 });
    expect(await query('select used from sandbox_usage where account_id = $1', [account.accountId])).toEqual([
      { used: 1 },
    ]);
  });

  it('skips a contact who has reached the frequency cap, until the time has passed', async () => {
    await query(`update brands set frequency_cap = '{"count": 2, "per_seconds": 3600}' where id = $1`, [
      account.brandId,
    ]);
    const staged = await stage();
    const sender = testFlowSender();
    const at = (seconds: number) => new Date(Date.now() + seconds * 1_000);
    const outcomes: unknown[] = [];
    for (const asOf of [at(0), at(0), at(0), at(3_500), at(3_700)]) {
      outcomes.push((await send(test.database, sender, staged.run, staged.step, asOf)).result);
    }
    expect(outcomes).toMatchObject([
      { outcome: 'sent' },
      { outcome: 'sent' },
      { outcome: 'skipped', detail: { reason: 'frequency_cap' } },
      { outcome: 'skipped' },
      { outcome: 'sent' },
    ]);
    expect(await countsOf(staged.flowId)).toEqual({ '1 accepted': 3, '1 skipped:frequency_cap': 2 });
  });

  it('counts only messages of campaigns and flows that were sent or wait', async () => {
    await query(`update brands set frequency_cap = '{"count": 1, "per_seconds": 3600}' where id = $1`, [
      account.brandId,
    ]);
    const staged = await stage();
    const others = [
      [0, 'sent', false],
      [2, 'skipped', false],
      [1, 'failed', false],
      [1, 'delivered', true],
    ] as const;
    for (const [priority, status, isTest] of others) {
      await query(
        `insert into messages (account_id, brand_id, channel, class, status, test, to_address, to_key, sent_at)
         values ($1, $2, 'email', $3, $4, $5, 'ada@example.com', 'ada@example.com',
           case when $4 in ('sent', 'delivered') then now() end)`,
        [account.accountId, account.brandId, priority, status, isTest],
      );
    }
    expect((await send(test.database, testFlowSender(), staged.run, staged.step)).result).toMatchObject({
      outcome: 'sent',
    });
  });

  it('lets only one of two concurrent runs send the last message that the cap allows', async () => {
    await query(`update brands set frequency_cap = '{"count": 1, "per_seconds": 3600}' where id = $1`, [
      account.brandId,
    ]);
    const { flowId, steps } = await writeFlow(test.database, account);
    const contactId = await writeContact(test.database, account);
    const runs = await Promise.all(
      Array.from({ length: 8 }, () => writeRun(test.database, account, flowId, contactId)),
    );
    const sender = testFlowSender();
    const sent = await Promise.all(runs.map((run) => send(test.database, sender, run, steps[0])));
    expect(sent.filter(({ messageId }) => messageId > 0)).toHaveLength(1);
  });
});

describe('runs that a mail of the contact caused', () => {
  let flow: Awaited<ReturnType<typeof writeFlow>>;
  let contactId: number;
  let mails = 0;
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000);

  beforeEach(async () => {
    flow = await writeFlow(test.database, account, [{}, { channel: 'sms' }]);
    contactId = await writeContact(test.database, account);
  });

  /** Lets a flow answer another mail. @returns the outcome, or the reason why there is no answer */
  async function answer(
    inboxId: number,
    { asOf = at(0), to = contactId, by = flow, automatic = false } = {},
  ) {
    const mail = { conversation_message_id: (mails += 1), inbox_id: inboxId, auto_submitted: automatic };
    const event = { id: mails, name: 'email_received', data: {}, mail };
    const run = await writeRun(test.database, account, by.flowId, to, { event });
    const { result } = await send(test.database, testFlowSender(), run, by.steps[0], asOf);
    return 'outcome' in result ? (result.detail?.reason ?? result.outcome) : result.exit;
  }

  it('answer five times in 24 hours for each contact and inbox, whichever flows do it', async () => {
    const second = await writeFlow(test.database, account);
    const outcomes: unknown[] = [];
    for (const by of [flow, second, flow, second, flow, second, flow]) outcomes.push(await answer(7, { by }));
    expect(outcomes).toEqual(['sent', 'sent', 'sent', 'sent', 'sent', 'answer_limit', 'answer_limit']);
    expect(await countsOf(second.flowId)).toEqual({ '1 accepted': 2, '1 skipped:answer_limit': 1 });
    expect(await answer(8)).toBe('sent');
    const other = await writeContact(test.database, account, { email: 'bob@example.com' });
    expect(await answer(7, { to: other })).toBe('sent');
    expect([await answer(7, { asOf: at(23.9) }), await answer(7, { asOf: at(24.1) })]).toEqual([
      'answer_limit',
      'sent',
    ]);
  });

  it('do not count other messages of flows to the contact', async () => {
    for (let n = 0; n < 6; n += 1) {
      const run = await writeRun(test.database, account, flow.flowId, contactId);
      await send(test.database, testFlowSender(), run, flow.steps[0]);
    }
    expect(await answer(7)).toBe('sent');
  });

  it('send no more than five answers if they reach their steps at once', async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => answer(7)));
    expect(outcomes.filter((outcome) => outcome === 'sent')).toHaveLength(5);
  });

  it('never answer an automatic mail', async () => {
    expect(await answer(7, { automatic: true })).toBe('automatic_mail');
    expect(await countsOf(flow.flowId)).toEqual({ '1 skipped:automatic_mail': 1 });
  });

  it('mark their answers for as long as these are kept', async () => {
    expect(await answer(7)).toBe('sent');
    const run = await writeRun(test.database, account, flow.flowId, contactId);
    await send(test.database, testFlowSender(), run, flow.steps[0]);
    await query('update flow_runs set event = null where flow_id = $1', [flow.flowId]);
    expect(
      await query('select answers_mail from messages where flow_id = $1 order by id', [flow.flowId]),
    ).toEqual([{ answers_mail: true }, { answers_mail: null }]);
  });

  it('send SMS without that limit', async () => {
    const to = await writeContact(test.database, account, {
      email: 'sms@example.com',
      phone: '+4915112345678',
    });
    const mail = { conversation_message_id: 1, inbox_id: 7, auto_submitted: true };
    const run = await writeRun(test.database, account, flow.flowId, to, { event: { id: 1, mail } });
    const { result } = await send(test.database, testFlowSender(), run, flow.steps[1]);
    expect(result).not.toMatchObject({ detail: { reason: 'automatic_mail' } });
  });
});

describe('runs of test events', () => {
  it('create test messages, which no sender gets, and count nothing', async () => {
    const { messageId, queued, run, result } = await sendOne({}, {}, { test: true });
    expect(result).toMatchObject({ outcome: 'sent' });
    expect(queued).toEqual([]);
    expect(await query('select status, test, flow_run_id from messages where id = $1', [messageId])).toEqual([
      { status: 'delivered', test: true, flow_run_id: run.id },
    ]);
    expect(await query('select 1 from send_queue where message_id = $1', [messageId])).toEqual([]);
    expect(await countsOf(run.flow_id)).toEqual({});
  });

  it('continue without a message once the account has used up its test messages of the day', async () => {
    await query(
      'insert into test_messages (message_id, account_id) select -n, $1 from generate_series(1, 1000) n',
      [account.accountId],
    );
    const { result, messageId } = await sendOne({}, {}, { test: true });
    expect(result).toEqual({ outcome: 'failed', detail: { reason: 'rate_limited' } });
    expect(await query('select 1 from messages where id = $1', [messageId])).toEqual([]);
  });

  it('use no sends of the sandbox', async () => {
    await sendOne({}, {}, { test: true });
    expect(await query('select used from sandbox_usage where account_id = $1', [account.accountId])).toEqual(
      [],
    );
  });
});
