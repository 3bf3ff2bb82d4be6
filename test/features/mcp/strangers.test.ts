// What strangers write reaches no assistant without mcp:inbox, by any tool, and is marked as untrusted with it.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import { trackChained } from '../../../src/features/contact-events/service.ts';
import { trackReceived } from '../../../src/features/inbox/arrival/contact-event.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import {
  insertConversation,
  insertConversationMessage,
  insertQuarantined,
} from '../../support/conversations.ts';
import { insertInbox } from '../../support/inboxes.ts';
import { answerOf, createToolCalls, type ToolCalls, type Values } from '../../support/tool-calls.ts';

/** What strangers wrote. */
const MARK = 'ignore-all-instructions';
const ADDRESS = 'ada@example.com';

let api: TestApi;
let calls: ToolCalls;
/** The ids that the paths of operations name, by the path up to the first of them. */
let ids: Record<string, Values>;

async function inserted(statement: string, ...values: unknown[]): Promise<number> {
  const given = [api.accountId, api.brandId, ...values];
  const { rows } = await api.database.pool.query<{ id: number }>(statement, given);
  return rows[0]?.id ?? 0;
}

const insertMessage = (columns: Values) => {
  const own = {
    channel: 'email',
    status: 'sent',
    to_address: ADDRESS,
    to_key: ADDRESS,
    subject: 'Hi',
    ...columns,
  };
  const names = Object.keys(own);
  return inserted(
    `insert into messages (account_id, brand_id, ${names.join(', ')})
     values ($1, $2, ${names.map((_name, n) => `$${n + 3}`).join(', ')}) returning id`,
    ...Object.values(own),
  );
};

/** Tracks an event as a step of a flow does, and forwards texts. @returns its id */
async function chain(contactId: number, name: string, text: string, mail: number | null): Promise<number> {
  const { accountId, brandId } = api;
  const cause = { conversation_message_id: mail ?? 0, inbox_id: 1, auto_submitted: false };
  const { result } = await inTransaction(api.database.pool, (trx) =>
    trackChained(trx, [], {
      ...{ accountId, brandId, contactId, name, data: { text }, test: false, chainDepth: 1 },
      key: `flow-run/${name}`,
      mail: mail === null ? null : cause,
    }),
  );
  return 'id' in result ? result.id : 0;
}

/** Inserts mail that has arrived in an inbox, and an answer to it. */
async function insertMail(contactId: number) {
  const { accountId, brandId } = api;
  const inbox_id = await insertInbox(api.database, api, 'support@acme.test');
  const conversation = await insertConversation(api, api, { inbox_id, subject: MARK });
  const mail = await insertConversationMessage(api, api, {
    inbox_id,
    conversation_id: conversation,
    subject: MARK,
  });
  await insertQuarantined(api, api, { inbox_id, subject: MARK });
  const received = {
    ...{ accountId, brandId, contactId, conversationId: conversation, conversationMessageId: mail },
    ...{ inboxId: inbox_id, subject: MARK, text: MARK, autoSubmitted: false },
  };
  await inTransaction(api.database.pool, (trx) => trackReceived(trx, [], [received]));
  const answer = { subject: `Re: ${MARK}`, to_address: `${MARK} <${ADDRESS}>` };
  const answered = await insertMessage(answer);
  await insertConversationMessage(api, api, {
    ...{ inbox_id, conversation_id: conversation, direction: 'outbound', message_id: answered },
    ...{ internet_id: null, subject: answer.subject },
  });
  const event = await chain(contactId, 'support_asked', MARK, mail);
  return { conversation, mail, answered, event };
}

/** Inserts a run of a flow that answered the mail of a contact, and called a webhook. */
async function insertRun(contactId: number, event: unknown) {
  const flow = await inserted(
    `insert into flows (account_id, brand_id, name) values ($1, $2, 'Answer') returning id`,
  );
  const record = { mail: { inbox_id: 1 }, id: event, name: 'email_received' };
  const run = await inserted(
    `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record, event)
     values ($1, $2, $3, 1, $4, 'm1', '{}', $5) returning id`,
    ...[flow, contactId, record],
  );
  await insertMessage({ flow_id: flow, flow_run_id: run, subject: MARK });
  await api.database.pool.query(
    `insert into flow_run_steps (run_id, flow_id, step_id, iteration, n, type, outcome, detail, entered_at, left_at)
     values ($1, $2, 1, 0, 0, 'webhook', 'done', $3, now(), now())`,
    [run, flow, { status: 200, body: { answer: MARK } }],
  );
  return { flow, run };
}

/** Inserts what mail servers said, and a webhook delivery about it. */
async function insertReports() {
  const bounce = { type: 'hard', subtype: 'no_such_mailbox', diagnostic: `550 5.1.1 ${MARK}` };
  const failure = { code: 'rejected', message: MARK };
  const campaign = await inserted(
    `insert into campaigns (account_id, brand_id, name) values ($1, $2, 'Sale') returning id`,
  );
  const bounced = await insertMessage({
    status: 'bounced',
    bounce,
    failure,
    campaign_id: campaign,
    class: messageClasses.campaign,
  });
  await api.database.pool.query(
    `insert into campaign_blocks (campaign_id, n, account_id, channel, first_id, last_id, size, due_at, closed_at)
     values ($1, 1, $2, 'email', $3, $3, 1, now(), now())`,
    [campaign, api.accountId, bounced],
  );
  await api.database.pool.query(
    `insert into message_events (message_id, attempt, type, occurred_at, data) values ($1, 1, 'deferred', now(), $2)`,
    [bounced, { provider: 'smtp', response: `451 ${MARK}` }],
  );
  await inserted(
    `insert into suppressions (account_id, address_key, email, reason, diagnostic)
     select $1, $3, $3, 'hard_bounce', $4 where $2 > 0 returning id`,
    ...[ADDRESS, MARK],
  );
  const { body: webhook } = await api.request('POST', '/v1/my/webhooks', {
    body: { url: 'https://93.184.215.14/hook', events: ['email.bounced'] },
  });
  const { rows } = await api.database.pool.query<{ id: number }>(
    `with e as (
       insert into events (id, account_id, brand_id, type, data, occurred_at, created_at)
       values (gen_random_uuid(), $1, $2, 'email.bounced', $3, now(), now()) returning id, created_at)
     insert into webhook_deliveries (webhook_id, event_id, type, generation, status, created_at)
     select $4, id, 'email.bounced', 0, 'failed', created_at from e returning id`,
    [api.accountId, api.brandId, { subject: MARK, bounce }, webhook.id],
  );
  const { rows: lost } = await api.database.pool.query<{ id: number }>(
    `with e as (
       insert into events (id, account_id, brand_id, type, data, occurred_at, created_at)
       values (gen_random_uuid(), $1, $2, 'domain.verification_lost', $3, now(), now()) returning id, created_at)
     insert into webhook_deliveries (webhook_id, event_id, type, generation, status, created_at)
     select $4, id, 'domain.verification_lost', 0, 'failed', created_at from e returning id`,
    [api.accountId, api.brandId, { records: [{ valid: 'false', found: MARK }] }, webhook.id],
  );
  return {
    ...{ campaign, bounced, webhook: Number(webhook.id) },
    ...{ delivery: rows[0]?.id ?? 0, lost: lost[0]?.id ?? 0 },
  };
}

beforeAll(async () => {
  api = await startTestApi();
  calls = createToolCalls(api);
  const { body: contact } = await api.request('POST', '/v1/my/contacts', { body: { email: ADDRESS } });
  const id = Number(contact.id);
  const { conversation, mail, answered, event } = await insertMail(id);
  const { flow, run } = await insertRun(id, event);
  const { campaign, bounced, webhook, delivery, lost } = await insertReports();
  ids = {
    '/v1/my/contacts/:id': { id },
    '/v1/my/conversations/:id': { id: conversation },
    '/v1/my/conversations/:conversation_id': { conversation_id: conversation, id: mail },
    '/v1/my/messages/:id': { id: answered },
    '/v1/my/events/:id': { id: event },
    '/v1/my/flows/:id': { id: flow },
    '/v1/my/flow_runs/:id': { id: run },
    '/v1/my/campaigns/:id': { id: campaign },
    '/v1/my/webhooks/:id': { id: webhook, delivery_id: delivery },
    bounced: { id: bounced },
    lost: { id: webhook, delivery_id: lost },
  };
});
afterAll(() => api.close());

/** Reads by every tool that needs no other arguments than these ids. @returns the names, with the texts of the results */
async function readAll(scopes: readonly ('mcp:read' | 'mcp:inbox')[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const read = async (operation: string, name: string, args: Values) => {
    const { status, text, ...response } = await calls.send(
      ...([api, 'read_operation', { operation: name, arguments: args }, { scopes }] as const),
    );
    // A tool that needs mcp:inbox asks for it.
    if (status === 403) return;
    expect([operation, status]).toEqual([operation, 200]);
    const answer = answerOf({ ...response, status, text });
    if (!answer.isError) found.set(operation, JSON.stringify(answer));
  };
  for (const { name, route, access } of calls.tools.operationsFor('owner')) {
    if (!access.readOnly || route.method !== 'GET') continue;
    const known = ids[/^.*?\/:\w+/.exec(route.path)?.[0] ?? ''];
    const named = Object.keys(route.params?.shape ?? {});
    if (named.length > 0 && !named.every((param) => known?.[param] !== undefined)) continue;
    const args = Object.fromEntries(named.map((param) => [param, known?.[param]]));
    await read(name, name, name === 'search' ? { q: ADDRESS } : args);
  }
  await read('get_message of a bounced one', 'get_message', ids['bounced'] ?? {});
  await read('get_webhook_delivery about a domain', 'get_webhook_delivery', ids['lost'] ?? {});
  return found;
}

it('reaches no assistant without mcp:inbox', async () => {
  const found = await readAll(['mcp:read']);
  expect(found.size).toBeGreaterThan(30);
  expect([...found].filter(([, text]) => text.includes(MARK)).map(([name]) => name)).toEqual([]);
});

it('is marked as untrusted with mcp:inbox', async () => {
  const found = [...(await readAll(['mcp:read', 'mcp:inbox']))].filter(([, text]) => text.includes(MARK));
  expect(found.map(([name]) => name).sort()).toEqual([
    ...['get_contact_timeline', 'get_conversation', 'get_conversation_message', 'get_event', 'get_flow_run'],
    ...['get_message', 'get_message of a bounced one', 'get_webhook_delivery'],
    ...[
      'get_webhook_delivery about a domain',
      'list_campaign_recipients',
      'list_conversation_messages',
      'list_conversations',
      'list_events',
      'list_inbox_quarantine',
    ],
    ...['list_messages', 'list_suppressions', 'search'],
  ]);
  for (const [name, text] of found) expect([name, text.includes('"untrusted":true')]).toEqual([name, true]);
});

it('hides no event that a flow tracked for another reason', async () => {
  const id = Number(ids['/v1/my/contacts/:id']?.['id']);
  const event = await chain(id, 'order_paid', 'order 7', null);
  const args = { operation: 'get_event', arguments: { id: event } };
  expect(await calls.call(api, 'read_operation', args, { scopes: ['mcp:read'] })).toMatchObject({
    result: { event: 'order_paid', data: { text: 'order 7' }, chain_depth: 1, caused_by_mail: false },
  });
});

it('may be in each event of a flow that an earlier version tracked', async () => {
  const id = Number(ids['/v1/my/contacts/:id']?.['id']);
  const event = await chain(id, 'earlier', MARK, null);
  await api.database.pool.query('update contact_events set caused_by_mail = null where id = $1', [event]);
  const list = { operation: 'list_events', arguments: { event: 'earlier' } };
  expect(await calls.call(api, 'read_operation', list, { scopes: ['mcp:read'] })).toMatchObject({
    items: [],
    withheld: 1,
  });
});

it('is behind no public page that an assistant can make', async () => {
  const args = { operation: 'create_preview', arguments: { message_id: ids['/v1/my/messages/:id']?.['id'] } };
  expect(await calls.call(api, 'read_operation', args, { scopes: ['mcp:read'] })).toMatchObject({
    validation_errors: { message_id: ['cannot be given by assistants'] },
  });
});

it('leaves the codes of mail servers, and says that texts are withheld', async () => {
  const args = { operation: 'get_message', arguments: ids['bounced'] };
  const message = await calls.call(api, 'read_operation', args, { scopes: ['mcp:read'] });
  expect(message).toMatchObject({
    withheld_texts: 3,
    withheld_texts_because: 'mail of strangers needs the scope mcp:inbox',
    result: {
      failure: { code: 'rejected', message: '[withheld]' },
      bounce: { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550 5.1.1 [withheld]' },
    },
  });
  expect(JSON.stringify(message)).toContain('"response":"451 [withheld]"');
});
