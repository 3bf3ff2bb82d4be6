// What is hidden of a letter, and what is erased: Bcc leads nowhere, and no address of an erased recipient stays.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { lettersToClear } from '../../../src/delivery/ledger/upkeep/clear-letters.ts';
import { recordFacts } from '../../../src/delivery/ledger/facts/facts.ts';
import { clearPage } from '../../../src/features/contacts/removal-work.ts';
import { exportSources } from '../../../src/features/exports/sources.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { findText } from '../../support/database-text.ts';
import { testEvents } from '../../support/events.ts';
import { runTask } from '../../support/housekeeping.ts';
import { createToolCalls } from '../../support/tool-calls.ts';
import { addWebhook } from '../../support/webhooks.ts';

let home: string;
let api: TestApi;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-letters-'));
  api = await startTestApi({ env: { CARILLON_HOME: home } });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

const attachments = [{ filename: 'a.txt', content: Buffer.from('hello').toString('base64') }];
const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await api.database.pool.query(sql, values)).rows as Row[];

async function send(body: object): Promise<TestBody> {
  const email = { channel: 'email', subject: 'Hello', html: '<p>Hi</p>' };
  const response = await api.request('POST', '/v1/my/messages', { body: { ...email, ...body } });
  expect([response.status, response.body.validation_errors ?? {}]).toEqual([201, {}]);
  return response.body;
}
const idsOf = (letter: TestBody) =>
  (letter.recipients as unknown as { message_id: number }[]).map(({ message_id: id }) => id);

/** Lets messages look as if they had been sent. */
const leave = (ids: readonly number[]) =>
  query(
    `with left_queue as (delete from send_queue where message_id = any($1))
     update messages set status = 'sent', provider = 'smtp', sent_at = now(), sent_attempt = 1 where id = any($1)`,
    [ids],
  );

describe('a recipient in Bcc', () => {
  it('is named to users and keys only: in no event, export or answer to an assistant', async () => {
    await addWebhook(api.database, api, 'https://hooks.example.com', ['email.bounced']);
    const letter = await send({ to: 'ada@example.com', cc: ['bob@example.com'], bcc: ['dan@example.com'] });
    const [to = 0, cc = 0, bcc = 0] = idsOf(letter);
    await leave([to, cc, bcc]);
    const facts = [to, cc, bcc].map((messageId) => ({
      ...{ accountId: api.accountId, messageId, source: { kind: 'mail' as const }, type: 'bounced' as const },
      ...{
        occurredAt: new Date(),
        providerMessageId: null,
        response: '550 no',
        failure: null,
        suppresses: false,
      },
      bounce: { type: 'hard' as const, subtype: 'no_such_mailbox' as const, diagnostic: '550 no' },
    }));
    await inTransaction(api.database.pool, (trx) => recordFacts(trx, facts, testEvents));
    const events = await query<{ text: string }>('select e::text as text from events e');
    expect(events).toHaveLength(3);
    expect(events.filter(({ text }) => text.includes('dan@example.com'))).toHaveLength(1);
    expect(events.filter(({ text }) => text.includes('letter'))).toEqual([]);

    const rows = await exportSources.messages.records(
      api.database.pool,
      { ...api, asOf: new Date() },
      [to, cc, bcc],
      [],
    );
    expect(rows.filter((row) => JSON.stringify(row).includes('dan@example.com'))).toHaveLength(1);

    const calls = createToolCalls(api);
    const get = async (id: number) => (await calls.call(api, 'get_message', { id })).result;
    expect(await get(to)).toMatchObject({ letter_id: to, recipients: [{ kind: 'to' }, { kind: 'cc' }] });
    const hidden = await get(bcc);
    expect(hidden).toMatchObject({ to: 'dan@example.com' });
    expect(hidden).not.toHaveProperty('letter_id');
    expect(hidden).not.toHaveProperty('recipients');
    const listed = await calls.call(api, 'list_messages', {});
    const links = listed.items?.map(({ id, letter_id: letterId }) => [id, letterId]);
    expect(links).toEqual([
      [bcc, undefined],
      [cc, to],
      [to, to],
    ]);
  });

  it('is in the answer to the assistant that wrote it by number only', async () => {
    const calls = createToolCalls(api);
    const args = { channel: 'email', to: 'ada@example.com', subject: 'Hi', html: '<p>Hi</p>' };
    const one = await calls.call(api, 'send_message', { ...args, idempotency_key: 'one' });
    expect(one).toMatchObject({ result: { to: 'ada@example.com' } });
    const several = { ...args, bcc: ['dan@example.com'], idempotency_key: 'several' };
    // The user decides about more than one recipient.
    expect(await calls.call(api, 'send_message', several)).toMatchObject({ code: 'confirmation_required' });
    const file = await calls.call(api, 'send_message', { ...args, attachments, idempotency_key: 'file' });
    expect(file).toMatchObject({
      code: 'validation_error',
      validation_errors: { attachments: expect.any(Array) },
    });
  });
});

describe('the erasure of a recipient', () => {
  const addContact = async (email: string) =>
    Number((await api.request('POST', '/v1/my/contacts', { body: { email } })).body.id);

  async function erase(contactId: number): Promise<void> {
    expect((await api.request('DELETE', `/v1/my/contacts/${contactId}`)).status).toBe(200);
    const log = pino({ level: 'silent' });
    for (const asOf of [new Date(), new Date(Date.now() + 120_000)]) {
      while (await clearPage(api.database.pool, { asOf, further: [], log }));
    }
  }
  const stored = async (letterId: unknown) =>
    query<{ letters: number; files: number; due: number }>(
      `select (select count(*)::int from letters where id = $1) as letters,
         (select count(*)::int from message_attachments where message_id = $1) as files,
         (select count(*)::int from attachment_files where kept_until <= now()) as due`,
      [letterId],
    );

  it('leaves no address in any table, and takes the content once no copy waits', async () => {
    const eve = await addContact('eve@example.com');
    const letter = await send({ to: 'ada@example.com', cc: ['Eve <eve@example.com>'], attachments });
    await query(
      `insert into letter_addresses (letter_id, n, brand_id, kind, address, address_key)
       values ($1, 1, $2, 'cc', 'Eve <eve@example.com>', 'eve@example.com')`,
      [letter.id, api.brandId],
    );
    await query(
      `insert into captured_messages (message_id, attempt, channel, to_address, body, size_bytes)
       values ($1, 1, 'sms', 'ada@example.com', 'To: ada@example.com, eve@example.com', 1)`,
      [letter.id],
    );
    await erase(eve);
    expect(await findText(api.database, 'eve@example.com')).toEqual([]);
    // The copy of the other recipient still needs the content.
    expect(await stored(letter.id)).toEqual([{ letters: 1, files: 1, due: 0 }]);
    const { body } = await api.request('GET', `/v1/my/messages/${String(letter.id)}`);
    expect(body.recipients).toMatchObject([
      { address: 'ada@example.com' },
      { address: null, status: 'canceled' },
    ]);
    expect(await runTask(api.database, lettersToClear, new Date())).toBe(0);
    await leave(idsOf(letter));
    expect(await runTask(api.database, lettersToClear, new Date())).toBe(1);
    expect(await stored(letter.id)).toEqual([{ letters: 0, files: 0, due: 1 }]);
    const after = await api.request('GET', `/v1/my/messages/${String(letter.id)}`);
    expect([after.status, after.body.html, after.body.attachments]).toEqual([200, null, undefined]);
  });

  it('takes the content at once if all copies have ended', async () => {
    const fay = await addContact('fay@example.com');
    const letter = await send({ to: 'fay@example.com', cc: ['ada@example.com'], attachments });
    await leave(idsOf(letter));
    await erase(fay);
    expect(await stored(letter.id)).toMatchObject([{ letters: 0, files: 0 }]);
  });
});

it('the content of a test letter goes after a day', async () => {
  const token = api.testApiKey;
  const body = {
    channel: 'email',
    to: ['ada@example.com', 'bob@example.com'],
    subject: 'Hi',
    html: 'Hi',
    attachments,
  };
  const { body: letter } = await api.request('POST', '/v1/my/messages', { body, token });
  const { messagesUpkeep } = await import('../../../src/features/messages/upkeep.ts');
  const task = messagesUpkeep.tasks?.find(({ name }) => name === 'test_contents');
  if (!task) throw new Error('no task');
  await runTask(api.database, task, new Date(Date.now() + 25 * 3_600_000));
  expect(await query('select 1 from letters where id = $1', [letter.id])).toEqual([]);
  expect(await query('select 1 from message_attachments where message_id = $1', [letter.id])).toEqual([]);
});
