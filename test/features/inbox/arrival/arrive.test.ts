// Mail arrives once: in the right conversation, with its contact, and with one event that says what the interface says.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ArrivalDeps, arrive } from '../../../../src/features/inbox/arrival/arrive.ts';
import { lockInboxes, lockInboxesOf } from '../../../../src/features/inbox/arrival/arriving-mails.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { insertContacts } from '../../../support/contacts.ts';
import {
  arrivalDeps,
  insertReadMail,
  internetIdOf,
  type ReadRow,
  writeEmail,
} from '../../../support/inbox-mails.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { addWebhook } from '../../../support/webhooks.ts';

let api: TestApi;
let deps: ArrivalDeps;
let inboxId: number;
let other: { accountId: number; brandId: number };
let n = 0;

beforeAll(async () => {
  api = await startTestApi();
  other = api.other;
  deps = arrivalDeps();
  await addWebhook(api.database, api, 'https://hooks.example.com/', ['email.received']);
});
afterAll(() => api.close());
beforeEach(async () => {
  inboxId = await insertInbox(api.database, api, `support${(n += 1)}@acme.test`);
});

const pool = () => api.database.pool;
const insert = (changes?: ReadRow, inbox = inboxId) => insertReadMail(api.database, api, inbox, changes);
const arriveNow = (id: number, given = deps) =>
  inTransaction(pool(), async (trx) => {
    await lockInboxesOf(trx, [id]);
    return arrive(trx, given, [id]);
  });

/** A mail that was read arrives. @returns its conversation */
async function receive(changes?: ReadRow, inbox = inboxId): Promise<number> {
  const id = await insert(changes, inbox);
  return (await arriveNow(id)).conversations.get(id) ?? 0;
}

interface ConversationRow {
  contact_id: number | null;
  linked_conversation_id: number | null;
  participants: string[];
  subject: string | null;
  status: string;
  unread_count: number;
}

async function conversation(id: number): Promise<ConversationRow> {
  const { rows } = await pool().query<ConversationRow>(
    `select contact_id, linked_conversation_id, participants, subject, status, unread_count
     from conversations where id = $1`,
    [id],
  );
  return rows[0] as ConversationRow;
}

async function eventsOf(id: number): Promise<Record<string, unknown>[]> {
  const { rows } = await pool().query<{ data: Record<string, unknown> }>(
    `select data from events where type = 'email.received' and data ->> 'conversation_message_id' = $1`,
    [String(id)],
  );
  return rows.map(({ data }) => data);
}

const eve = 'Eve <eve@example.org>';

describe('a conversation', () => {
  it('begins with mail that answers nothing', async () => {
    const id = await receive({ subject: 'Hello' });
    expect(await conversation(id)).toEqual({
      contact_id: null,
      linked_conversation_id: null,
      participants: ['ada@example.com'],
      subject: 'Hello',
      status: 'open',
      unread_count: 1,
    });
  });

  it('begins with an answer to one of our messages, and continues with the next', async () => {
    const message = await writeEmail(api.database, api);
    const references = [internetIdOf(api, message)];
    const id = await receive({ reference_ids: references });
    expect(await receive({ reference_ids: references })).toBe(id);
    expect((await conversation(id)).unread_count).toBe(2);
  });

  it('continues by the return path, without any reference', async () => {
    const message = await writeEmail(api.database, api);
    const id = await receive({ reference_ids: [internetIdOf(api, message)] });
    expect(await receive({ message_id: message, sender_trusted: false, auto_submitted: true })).toBe(id);
  });

  it('continues by the Message-ID of an earlier mail', async () => {
    const id = await receive({ internet_id: 'first@example.com' });
    expect(await receive({ reference_ids: ['unknown@example.com', 'first@example.com'] })).toBe(id);
  });

  it.each([
    ['the whole id', 'abc@mailgun.example', 'abc@mailgun.example'],
    ['the part before the host', '0107-aa-000000@eu-west-1.amazonses.com', '0107-aa-000000'],
  ])('answers a message by the id of its provider: %s', async (_what, reference, providerId) => {
    const message = await writeEmail(api.database, api, { to_key: `ada${n}@example.com` });
    await pool().query('update messages set provider_message_id = $2 where id = $1', [message, providerId]);
    const changes = { from_address: `ada${n}@example.com`, reference_ids: [reference] };
    const mail = await insert(changes);
    await arriveNow(mail);
    expect((await eventsOf(mail))[0]?.message_id).toBe(message);
    const stranger = await insert({ from_address: eve, reference_ids: [reference] });
    await arriveNow(stranger);
    expect((await eventsOf(stranger))[0]?.message_id).toBeNull();
  });

  it('continues with the answer to a reply that was written in it', async () => {
    const id = await receive({ internet_id: 'asks@example.com' });
    const message = await writeEmail(api.database, api);
    await pool().query(
      `insert into conversation_messages (account_id, brand_id, inbox_id, conversation_id, direction, message_id, from_address)
       values ($1, $2, $3, $4, 'outbound', $5, 'support@acme.test')`,
      [api.accountId, api.brandId, inboxId, id, message],
    );
    expect(await receive({ reference_ids: [internetIdOf(api, message)] })).toBe(id);
  });

  it('reopens', async () => {
    const id = await receive({ internet_id: 'closed@example.com' });
    await pool().query(`update conversations set status = 'closed', unread_count = 0 where id = $1`, [id]);
    await receive({ reference_ids: ['closed@example.com'] });
    expect(await conversation(id)).toMatchObject({ status: 'open', unread_count: 1 });
  });

  it('is never found by its subject', async () => {
    const id = await receive({ subject: 'Re: Invoice 7' });
    const next = await receive({ subject: 'Re: Invoice 7' });
    expect(next).not.toBe(id);
    expect((await conversation(next)).linked_conversation_id).toBeNull();
  });

  it('is one for each inbox', async () => {
    const second = await insertInbox(api.database, api, `sales${n}@acme.test`);
    const message = await writeEmail(api.database, api);
    const reference_ids = [internetIdOf(api, message)];
    const ids = [await receive({ reference_ids }), await receive({ reference_ids }, second)];
    expect(ids[1]).not.toBe(ids[0]);
    expect(await receive({ reference_ids }, second)).toBe(ids[1]);
    expect(await conversation(ids[1] ?? 0)).toMatchObject({ linked_conversation_id: null });
  });
});

describe('a stranger', () => {
  it('who copies the headers gets a conversation of their own, linked to that one, and stays in it', async () => {
    const message = await writeEmail(api.database, api);
    const reference_ids = [internetIdOf(api, message), 'mine@example.com'];
    const id = await receive({ reference_ids, internet_id: 'mine@example.com' });
    const own = await receive({ from_address: eve, reference_ids });
    expect(own).not.toBe(id);
    expect(await conversation(own)).toMatchObject({
      linked_conversation_id: id,
      participants: ['eve@example.org'],
    });
    expect(await receive({ from_address: eve, reference_ids })).toBe(own);
    expect((await conversation(id)).participants).toEqual(['ada@example.com']);
  });

  it('who pretends to be a participant joins only with a reference that we have made', async () => {
    const message = await writeEmail(api.database, api);
    const id = await receive({
      internet_id: 'asks2@example.com',
      reference_ids: [internetIdOf(api, message)],
    });
    const forged = await receive({ sender_trusted: false, reference_ids: ['asks2@example.com'] });
    expect(await conversation(forged)).toMatchObject({ linked_conversation_id: id });
    expect(await receive({ sender_trusted: false, reference_ids: [internetIdOf(api, message)] })).toBe(id);
  });

  it('who answers first does not get the conversation of the recipient', async () => {
    const message = await writeEmail(api.database, api);
    const reference_ids = [internetIdOf(api, message)];
    const first = await receive({ from_address: eve, reference_ids });
    const id = await receive({ reference_ids });
    expect(id).not.toBe(first);
    expect((await conversation(id)).linked_conversation_id).toBe(first);
  });

  it('has a conversation even if there is no sender', async () => {
    const message = await writeEmail(api.database, api);
    const changes = { from_address: '', sender_trusted: false, message_id: message };
    const id = await receive(changes);
    expect((await conversation(id)).participants).toEqual([]);
    expect(await receive(changes)).not.toBe(id);
  });
});

describe('a reference', () => {
  it('to a message of another brand is ignored, and so is a forged one', async () => {
    const theirs = await writeEmail(api.database, other);
    const ours = await writeEmail(api.database, api);
    const genuine = internetIdOf(other, theirs);
    const [ofOurs = ''] = internetIdOf(api, ours).split('@');
    const changed = `${ofOurs.slice(0, -1)}${ofOurs.endsWith('A') ? 'Q' : 'A'}@mail.test`;
    for (const reference of [genuine, internetIdOf(api, theirs), changed]) {
      const mail = await insert({ reference_ids: [reference] });
      await arriveNow(mail);
      expect((await eventsOf(mail))[0]).toMatchObject({ message_id: null, tags: {} });
    }
  });

  it('to a message of another brand of the account is ignored', async () => {
    const { rows } = await pool().query<{ id: number }>(
      'insert into brands (account_id) values ($1) returning id',
      [api.accountId],
    );
    const sibling = { accountId: api.accountId, brandId: rows[0]?.id ?? 0 };
    const message = await writeEmail(api.database, sibling);
    const mail = await insert({ reference_ids: [internetIdOf(api, message)] });
    await arriveNow(mail);
    expect((await eventsOf(mail))[0]).toMatchObject({ message_id: null });
  });
});

describe('a contact', () => {
  const contactOf = async (id: number) => (await conversation(id)).contact_id;

  it('is linked only if the sender is authenticated', async () => {
    const [contactId] = await insertContacts(pool(), api, 1, `grace${n}-`);
    const from_address = `Grace <grace${n}-0@example.com>`;
    const id = await receive({ from_address, sender_trusted: false, internet_id: 'grace@example.com' });
    expect(await contactOf(id)).toBeNull();
    const next = await receive({ from_address });
    expect(await contactOf(next)).toBe(contactId);
  });

  it('of another brand is not linked', async () => {
    await insertContacts(pool(), other, 1, `alan${n}-`);
    expect(await contactOf(await receive({ from_address: `alan${n}-0@example.com` }))).toBeNull();
  });

  it('is linked to the conversation that they continue', async () => {
    const from_address = `late${n}-0@example.com`;
    const id = await receive({ from_address, internet_id: `late${n}@example.com` });
    const [contactId] = await insertContacts(pool(), api, 1, `late${n}-`);
    await receive({ from_address, reference_ids: [`late${n}@example.com`] });
    expect(await contactOf(id)).toBe(contactId);
  });

  it('is created, unsubscribed, for an inbox that wants this, if the sender is authenticated', async () => {
    const creating = await insertInbox(api.database, api, `new${n}@acme.test`, { createContacts: true });
    const from_address = `new${n}@example.com`;
    expect(await contactOf(await receive({ from_address, sender_trusted: false }, creating))).toBeNull();
    const contactId = await contactOf(await receive({ from_address }, creating));
    const { rows } = await pool().query(
      'select id, email, email_subscribed, email_opt_in_at, source from contacts where email_key = $1',
      [from_address],
    );
    expect(rows).toEqual([
      { id: contactId, email: from_address, email_subscribed: false, email_opt_in_at: null, source: 'inbox' },
    ]);
  });

  it('has the event email_received, and was active unless the mail is automatic', async () => {
    const [person = 0, robot = 0] = await insertContacts(pool(), api, 2, `seen${n}-`);
    await receive({ from_address: `seen${n}-0@example.com` });
    await receive({ from_address: `seen${n}-1@example.com`, auto_submitted: true });
    const { rows } = await pool().query<{ contact_id: number }>(
      'select contact_id from contact_activity where contact_id = any($1)',
      [[person, robot]],
    );
    expect(rows).toEqual([{ contact_id: person }]);
    const { rows: events } = await pool().query<{ contact_id: number }>(
      'select contact_id from contact_events where contact_id = any($1) order by contact_id',
      [[person, robot]],
    );
    expect(events).toEqual([{ contact_id: person }, { contact_id: robot }]);
  });
});

describe('email.received', () => {
  it('of new mail has neither message nor tags', async () => {
    const mail = await insert({
      recipient: `Support${n}+vip@acme.test`,
      html: '<p>Thank you!</p>',
      reply_to: 'Desk <desk@example.com>',
      date_header: new Date('2026-03-10T09:40:10Z'),
      internet_id: `mail${n}@example.com`,
    });
    const { conversations } = await arriveNow(mail);
    expect(await eventsOf(mail)).toEqual([
      {
        message_id: null,
        tags: {},
        from: 'Ada Lovelace <ada@example.com>',
        to: `Support${n}+vip@acme.test`,
        reply_to: 'Desk <desk@example.com>',
        date: '2026-03-10T09:40:10.000Z',
        message_id_header: `mail${n}@example.com`,
        subject: 'Re: Your receipt',
        text: 'Thank you!',
        html: '<p>Thank you!</p>',
        truncated: false,
        auto_submitted: false,
        attachments: [],
        conversation_id: conversations.get(mail),
        conversation_message_id: mail,
      },
    ]);
  });

  it('of an answer has the message, its key and its tags', async () => {
    const tags = { order: '1042' };
    const message = await writeEmail(api.database, api, { tags, idempotency_key: `order-${n}` });
    const mail = await insert({
      reference_ids: [internetIdOf(api, message)],
      recipient: 'b-abc@mail.test',
      auto_submitted: true,
    });
    await arriveNow(mail);
    expect((await eventsOf(mail))[0]).toMatchObject({
      message_id: message,
      idempotency_key: `order-${n}`,
      tags,
      to: `support${n}@acme.test`,
      auto_submitted: true,
    });
  });

  it('lists attachments, of which only clean ones were scanned', async () => {
    const mail = await insert();
    await pool().query(
      `insert into conversation_attachments (account_id, conversation_message_id, filename, content_type, size, scan_status)
       values ($1, $2, 'a.pdf', 'application/pdf', 7, 'clean'), ($1, $2, 'b.zip', 'application/zip', 8, 'skipped')`,
      [api.accountId, mail],
    );
    await arriveNow(mail);
    expect((await eventsOf(mail))[0]?.attachments).toEqual([
      { id: expect.any(Number), filename: 'a.pdf', content_type: 'application/pdf', size: 7, scanned: true },
      { id: expect.any(Number), filename: 'b.zip', content_type: 'application/zip', size: 8, scanned: false },
    ]);
  });

  it.each([
    ['a short text', 'ä'.repeat(32_768), 65_536, false],
    ['a long text, between characters', `x${'ä'.repeat(32_768)}`, 65_535, true],
    ['a long text of emoji', `${'x'.repeat(65_534)}🔔`, 65_534, true],
  ])('has 64 KiB at most: %s', async (_what, text, bytes, truncated) => {
    const mail = await insert({ text, html: `${text}` });
    await arriveNow(mail);
    const [event] = await eventsOf(mail);
    expect(Buffer.byteLength(String(event?.text))).toBe(bytes);
    expect(text.startsWith(String(event?.text))).toBe(true);
    expect(event).toMatchObject({ truncated, html: event?.text });
  });

  it('says that the reader has cut a text', async () => {
    const mail = await insert({ truncated: true });
    await arriveNow(mail);
    expect((await eventsOf(mail))[0]).toMatchObject({ truncated: true });
  });
});

describe('arrival', () => {
  it('happens once', async () => {
    const mail = await insert();
    const first = await arriveNow(mail);
    expect((await arriveNow(mail)).conversations.size).toBe(0);
    expect(await eventsOf(mail)).toHaveLength(1);
    expect(await conversation(first.conversations.get(mail) ?? 0)).toMatchObject({ unread_count: 1 });
  });

  it('happens once, even twice at the same time', async () => {
    const mail = await insert();
    const both = await Promise.all([arriveNow(mail), arriveNow(mail)]);
    expect(both.map(({ conversations }) => conversations.size).sort()).toEqual([0, 1]);
    expect(await eventsOf(mail)).toHaveLength(1);
  });

  it('of two answers at the same time makes one conversation', async () => {
    const message = await writeEmail(api.database, api);
    const reference_ids = [internetIdOf(api, message)];
    const mails = await Promise.all(Array.from({ length: 5 }, () => insert({ reference_ids })));
    const arrived = await Promise.all(mails.map((id) => arriveNow(id)));
    const ids = new Set(arrived.flatMap(({ conversations }) => [...conversations.values()]));
    expect(ids.size).toBe(1);
    expect(await conversation([...ids][0] ?? 0)).toMatchObject({ unread_count: 5 });
  });

  it('of a group puts mails that answer each other into one conversation, and a stranger next to it', async () => {
    const mails = [
      await insert({ internet_id: `one${n}@example.com` }),
      await insert({ internet_id: `two${n}@example.com`, reference_ids: [`one${n}@example.com`] }),
      await insert({ reference_ids: [`two${n}@example.com`] }),
      await insert({ from_address: eve, reference_ids: [`two${n}@example.com`] }),
    ];
    const { conversations } = await inTransaction(pool(), async (trx) => {
      await lockInboxes(trx, [inboxId]);
      return arrive(trx, deps, mails);
    });
    const ids = mails.map((id) => conversations.get(id) ?? 0);
    expect(ids).toEqual([ids[0], ids[0], ids[0], expect.any(Number)]);
    expect(ids[3]).not.toBe(ids[0]);
    expect(await conversation(ids[0] ?? 0)).toMatchObject({ unread_count: 3 });
    expect(await conversation(ids[3] ?? 0)).toMatchObject({
      linked_conversation_id: ids[0],
      unread_count: 1,
    });
  });

  it('wakes the webhooks after the commit', async () => {
    const woken: string[] = [];
    const mail = await insert();
    const waker = { wake: (channel: string) => void woken.push(channel) };
    const { afterCommit } = await arriveNow(mail, { ...deps, waker });
    expect(woken).toEqual([]);
    afterCommit();
    expect(woken).toEqual(['webhook']);
  });
});
