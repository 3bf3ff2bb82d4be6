// A copy of a letter is intended with what all copies share, and only for a provider that can take it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { rerouteLetters } from '../../../../src/delivery/ledger/intend/reroute-letters.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { queueLetter } from '../../../support/letters.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 90;
const MIB = 1_048_576;
const SEVERAL = [
  { kind: 'to', address: 'ada@example.com' },
  { kind: 'cc', address: 'bob@example.com' },
  { kind: 'bcc', address: 'cleo@example.com' },
  { kind: 'to', address: 'dan@example.com' },
] as const;

let test: TestDatabase;
let account: QueuedAccount;
let seq = 0;
beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const routes = { repeatableKinds: ['resend'], defaultKind: 'smtp' };

const claim = (providerId = 0, quantum = 50) =>
  claimBacklog(
    test.database.pool,
    {
      ...{ channel: 'email', queue: 'email_whole', class: messageClasses.transactional, providerId },
      ...{ accountId: account.accountId, owner: OWNER, quantum },
    },
    TEST_LIMITS,
  );

async function send(providerId = 0): Promise<BatchMessage[]> {
  const claims = await claim(providerId);
  const request = { owner: OWNER, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring, routes };
  return intendMessages(test.database.pool, request);
}

/** Adds a provider at the end of the account's order. */
async function addProvider(kind: string, { fails = false } = {}): Promise<number> {
  const [row] = await query<{ id: number }>(
    `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
     values ($1, $2, 'email', '', '', decode(md5($1), 'hex')) returning id`,
    ...[`${kind}-${account.accountId}-${++seq}`, kind],
  );
  const id = row?.id ?? 0;
  await query(
    'update accounts set email_provider_ids = email_provider_ids || $2::bigint where id = $1',
    ...[account.accountId, id],
  );
  if (fails)
    await query(
      `insert into provider_outages (channel, provider_id, since, retry_at) values ('email', $1, now(), now())`,
      id,
    );
  return id;
}

const places = (ids: readonly number[]) =>
  query<{ provider: number; reason: string | null; free: boolean; due: boolean }>(
    `select q.provider_id as provider, m.hold ->> 'reason' as reason, q.owner is null as free, q.due_at <= now() as due
     from send_queue q join messages m on m.id = q.message_id where m.id = any($1) order by m.id`,
    ids,
  );
const held = (provider: number) => ({ provider, reason: 'provider_cannot_take', free: true, due: false });
const waits = (provider: number) => ({ provider, reason: null, free: true, due: true });

describe('the intent of a letter', () => {
  it('has what the copies share, and shows everyone but Bcc and erased recipients', async () => {
    const ids = await queueLetter(test.database, account, { recipients: [...SEVERAL], files: [10, 20] });
    const [lead = 0, second] = ids;
    await query(`update letters set reply_to = '{x@example.com,y@example.com}' where id = $1`, lead);
    await query(
      `insert into letter_addresses (letter_id, n, brand_id, kind, address, address_key)
       values ($1, 1, $2, 'cc', 'List <list@example.com>', 'list@example.com')`,
      ...[lead, account.brandId],
    );
    await query(
      `insert into attachment_files (account_id, sha256, storage_key, size, kept_until)
       select account_id, sha256, 'attachments/' || n, size, now() from message_attachments where message_id = $1 and n = 2`,
      lead,
    );
    await query(`update messages set to_address = null, status = 'canceled' where id = $1`, second);
    const messages = await send();
    expect(messages.map(({ messageId, verdict }) => [messageId, verdict])).toEqual(
      ids.map((id) => [id, id === second ? 'gone' : 'send']),
    );
    const file = { contentType: 'application/pdf', contentId: null, disposition: 'attachment' };
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
    for (const { letter, html, text } of messages) {
      expect([html, text]).toEqual(['<p>Hi</p>', 'Hi']);
      expect(letter).toEqual({
        id: lead,
        replyTo: ['x@example.com', 'y@example.com'],
        opaque: null,
        recipients: [
          { kind: 'to', address: 'ada@example.com' },
          { kind: 'to', address: 'dan@example.com' },
          { kind: 'cc', address: 'List <list@example.com>' },
        ],
        files: [
          { ...file, n: 1, filename: '0.pdf', size: 10, sha256, storageKey: null },
          { ...file, n: 2, filename: '1.pdf', size: 20, sha256, storageKey: 'attachments/2' },
        ],
      });
    }
  });

  it('is claimed with the size of its files', async () => {
    await queueLetter(test.database, account, { files: [1_000, 500] });
    const [first] = await claim();
    expect(first?.letter).toEqual({ fileBytes: 1_500 });
  });
});

describe('a letter that its provider cannot take', () => {
  it('is never intended for it, and moves to the first provider of the order that can', async () => {
    const postmark = await addProvider('postmark');
    await addProvider('smtp', { fails: true });
    await addProvider('sendgrid');
    const mailgun = await addProvider('mailgun');
    const large = await queueLetter(test.database, account, { providerId: postmark, wireBytes: 11 * MIB });
    const several = await queueLetter(test.database, account, {
      providerId: postmark,
      recipients: [...SEVERAL],
    });
    const fits = await queueLetter(test.database, account, { providerId: postmark, wireBytes: 9 * MIB });
    expect((await send(postmark)).map(({ messageId }) => messageId)).toEqual(fits);
    const sendgrid = (await places(large))[0]?.provider;
    expect(sendgrid).not.toBe(postmark);
    expect(await places(large)).toEqual([waits(sendgrid ?? 0)]);
    expect(await places(several)).toEqual(SEVERAL.map(() => waits(mailgun)));
  });

  it('is held with the reason if none can, and leaves once one can', async () => {
    const only = await addProvider('smtp');
    await query('insert into provider_sizes (provider_id, max_bytes) values ($1, 1000000)', only);
    const ids = await queueLetter(test.database, account, { providerId: only, wireBytes: 1_000_001 });
    expect(await send(only)).toEqual([]);
    expect(await places(ids)).toEqual([held(only)]);
    await query('update provider_sizes set max_bytes = 2000000 where provider_id = $1', only);
    await query('update send_queue set due_at = now() where message_id = any($1)', ids);
    expect(await send(only)).toEqual([expect.objectContaining({ messageId: ids[0], verdict: 'send' })]);
  });

  it('fails as expired when it is too old, rather than to be held for ever', async () => {
    const only = await addProvider('postmark');
    const ids = await queueLetter(test.database, account, { providerId: only, wireBytes: 50 * MIB });
    await query(
      `update send_queue set queued_at = now() - interval '73 hours' where message_id = any($1)`,
      ids,
    );
    expect((await send(only)).map(({ verdict }) => verdict)).toEqual(['expired']);
  });
});

describe('letters of a provider that fails', () => {
  const reroute = (providerId: number) =>
    rerouteLetters(
      test.database.pool,
      { queue: 'email_whole', class: 0, accountId: account.accountId, providerId },
      routes,
    );

  it('move to a provider that can take them; the others are held', async () => {
    const failing = await addProvider('ses', { fails: true });
    const postmark = await addProvider('postmark');
    const fits = await queueLetter(test.database, account, { providerId: failing });
    const large = await queueLetter(test.database, account, { providerId: failing, wireBytes: 20 * MIB });
    const several = await queueLetter(test.database, account, {
      providerId: failing,
      recipients: [...SEVERAL],
    });
    expect(await reroute(failing)).toEqual({ moved: 1, providerIds: [postmark] });
    expect(await places(fits)).toEqual([waits(postmark)]);
    expect(await places([...large, ...several])).toEqual([...large, ...several].map(() => held(failing)));
    // Nothing is due, so nothing is done twice.
    expect(await reroute(failing)).toEqual({ moved: 0, providerIds: [] });
  });

  it('stay as they are if there is no other provider, or if they may have been sent and it would recognize them', async () => {
    const failing = await addProvider('resend', { fails: true });
    const alone = await queueLetter(test.database, account, { providerId: failing });
    expect(await reroute(failing)).toEqual({ moved: 0, providerIds: [] });
    expect(await places(alone)).toEqual([waits(failing)]);
    await addProvider('smtp');
    await query('update send_queue set attempt_count = 1 where message_id = any($1)', alone);
    await query(
      `insert into message_events (message_id, attempt, type, data) select id, 1, 'unknown', '{}' from unnest($1::bigint[]) id`,
      alone,
    );
    expect(await reroute(failing)).toEqual({ moved: 0, providerIds: [] });
    expect(await places(alone)).toEqual([waits(failing)]);
  });

  it('go to the provider in the setting if theirs was removed', async () => {
    const removed = await addProvider('ses');
    const ids = await queueLetter(test.database, account, { providerId: removed });
    const held_ = await queueLetter(test.database, account, { providerId: removed });
    await query(
      `update send_queue set held = true, due_at = now() + interval '1 hour' where message_id = any($1)`,
      held_,
    );
    await query('update providers set removed_at = now() where id = $1', removed);
    expect(await reroute(removed)).toEqual({ moved: 2, providerIds: [0] });
    expect(await places(ids)).toEqual([waits(0)]);
    expect(
      await query('select channel, provider_id from held_backlogs where account_id = $1', account.accountId),
    ).toEqual([{ channel: 'email_whole', provider_id: 0 }]);
  });
});
