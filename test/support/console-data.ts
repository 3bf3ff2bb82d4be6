/** An account with one of everything that the console shows, and scripts in all that strangers write. */
import { TEST_PASSWORD, type TestBody, type TestRequest } from './api.ts';
import { readyCampaign } from './campaign-requests.ts';
import type { TestConsole } from './console-stage.ts';
import { eventually } from './eventually.ts';
import { insertGrant } from './grants.ts';
import { startReceiver } from './https-receiver.ts';
import { importForm } from './imports.ts';
import { deliver } from './inbound.ts';
import { allowInboxes } from './inboxes.ts';
import { giveFunds } from './validation.ts';

/** What is needed of the console to fill an account. */
type Stage = Pick<
  TestConsole,
  'request' | 'database' | 'accountId' | 'brandId' | 'userId' | 'email' | 'userJwt' | 'baseUrl' | 'service'
>;

const SCRIPT = '<img src=x onerror=hacked=1><script>hacked=1</script>';

/** What strangers write, by field. Each text can be distinguished from the others where it is shown. */
export const strangersTexts = {
  'first name': `${SCRIPT}Ada`,
  'contact data': `${SCRIPT}data`,
  'event data': `${SCRIPT}event`,
  'subject of a message': `Hello ${SCRIPT}subject`,
  'subject of a mail': `${SCRIPT}mail`,
  'sender of a mail': `${SCRIPT}sender`,
  'text of a mail': `${SCRIPT}text`,
  // The API replaces brackets in the names of files.
  'name of an attachment': "&lt;img src=x onerror='hacked=1'&gt;attachment.txt",
  'name of an imported file': '<img src=x onerror=hacked=1>import.csv',
  'user agent': `${SCRIPT}agent`,
  'diagnostic of a bounce': `550 5.1.1 ${SCRIPT}diagnostic`,
  'response to a webhook': `${SCRIPT}response`,
  'name of an assistant': `${SCRIPT}assistant`,
};
type Texts = typeof strangersTexts;

type Ids = Record<string, number>;

/** Requests of the first account that must succeed. */
function requestsOf({ request }: Stage) {
  const send = async (method: string, path: string, options: TestRequest): Promise<TestBody> => {
    const { status, body, text } = await request(method, `/v1${path}`, options);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return body;
  };
  return { send, post: (path: string, body: unknown = {}) => send('POST', `/my${path}`, { body }) };
}

/** A contact who is in a list and a segment, and what is done with contacts. */
async function fillAudience(stage: Stage, texts: Texts): Promise<Ids> {
  const { send, post } = requestsOf(stage);
  const contact = await post('/contacts', {
    email: 'ada@example.com',
    first_name: texts['first name'],
    data: { plan: texts['contact data'] },
    subscribed_email: true,
  });
  const list = await post('/lists', { name: 'Customers' });
  await post(`/lists/${Number(list.id)}/contacts/bulk`, { add: [contact.id] });
  const filters = [{ name: 'data.plan', predicate: 'eq', value: texts['contact data'] }];
  const segment = await post('/segments', { name: 'On a plan', filters });
  const file = 'email,first_name\nann@example.com,Ann\nnot an address,Bo\n';
  const filename = texts['name of an imported file'];
  const imported = await send('POST', '/my/imports', { rawBody: importForm({ file, filename }) });
  const exported = await post('/exports', { resource: 'contacts' });
  await post('/suppressions', { email: 'never@example.com' });
  const action = { action: 'add_to_list', list_id: list.id, filter: { all: true }, dry_run: true };
  const bulk = await post('/contacts/bulk_actions', action);
  await giveFunds(stage.database.pool, stage.accountId, { price: 100, millicents: 1_000_000 });
  const validation = await post('/validation_operations', { list_id: list.id });
  return {
    contactId: Number(contact.id),
    listId: Number(list.id),
    segmentId: Number(segment.id),
    importId: Number(imported.id),
    exportId: Number(exported.id),
    bulkActionId: Number(bulk.id),
    validationId: Number(validation.id),
  };
}

/** A message that bounces, a flow that the contact enters, a campaign and a template. */
async function fillSending(stage: Stage, listId: number, texts: Texts): Promise<Ids> {
  const { post } = requestsOf(stage);
  const template = await post('/templates', {
    name: 'Welcome',
    subject: 'Hello {{ contact.first_name }}',
    body: '<p>Hello {{ contact.first_name }}</p>',
  });
  const message = await post('/messages', {
    channel: 'email',
    to: 'bo@example.com',
    subject: texts['subject of a message'],
    html: `<p>Your order is on its way.</p><p>${texts['subject of a message']}</p>`,
  });
  const flow = await post('/flows', {
    name: 'Onboarding',
    trigger: { event: 'signed_up' },
    steps: [
      { type: 'email', subject: 'Hi {{ contact.first_name }}', body: 'Welcome' },
      { type: 'wait', duration: 86_400 },
    ],
  });
  const flowId = Number(flow.id);
  await post(`/flows/${flowId}/activate`);
  const data = { note: texts['event data'] };
  await post('/events', { event: 'signed_up', contact_email: 'ada@example.com', data });
  const campaignId = await readyCampaign(stage, listId);
  await bounce(stage, Number(message.id), texts['diagnostic of a bounce']);
  const flowRunId = await firstOf(stage, `/flows/${flowId}/runs`);
  return { templateId: Number(template.id), messageId: Number(message.id), flowId, flowRunId, campaignId };
}

/** An assistant that acts for the owner, and a browser in which the owner is signed in. */
async function fillSecurity(stage: Stage, texts: Texts): Promise<void> {
  const { database, accountId, brandId, userId, baseUrl, email } = stage;
  await insertGrant(database.pool, {
    baseUrl,
    userId,
    choices: [{ accountId, brandId }],
    clientName: texts['name of an assistant'],
  });
  await requestsOf(stage).send('POST', '/login', {
    token: null,
    headers: { 'User-Agent': texts['user agent'], Origin: baseUrl },
    body: { user: { email, password: TEST_PASSWORD }, session: 'cookie' },
  });
}

/**
 * Fills the first account.
 * @param texts what strangers write
 * @returns the ids of what it has, by the names of parameters in the console's paths
 */
export async function fillAccount(stage: Stage, texts: Texts = strangersTexts): Promise<Ids> {
  const { database, accountId } = stage;
  const { post } = requestsOf(stage);
  await database.pool.query('update accounts set sandbox_monthly_cap = 1000000 where id = $1', [accountId]);
  await allowInboxes(database, accountId);
  const [, name = ''] = stage.email.split('@');
  const domain = await post('/domains', { domain: { name } });
  await verifySender(stage, Number(domain.id), name);
  const receiver = await startReceiver({
    answer: (_request, response) => void response.writeHead(500).end(texts['response to a webhook']),
  });
  try {
    const url = receiver.url('/hook', '127.0.0.1');
    const webhook = await post('/webhooks', { url, events: ['email.sent', 'email.bounced'] });
    const webhookId = Number(webhook.id);
    const audience = await fillAudience(stage, texts);
    const sending = await fillSending(stage, Number(audience.listId), texts);
    const inbox = await post('/inboxes');
    const conversationId = await receiveMail(stage, String(inbox.address), texts);
    await fillSecurity(stage, texts);
    const deliveryId = await firstOf(stage, `/webhooks/${webhookId}/deliveries?status=retrying`);
    return { ...audience, ...sending, domainId: Number(domain.id), webhookId, deliveryId, conversationId };
  } finally {
    await receiver.close();
  }
}

/** Lets a domain pass for verified, and completes what a sender of campaigns needs. */
async function verifySender({ database, accountId, brandId }: Stage, domainId: number, name: string) {
  const { pool } = database;
  await pool.query(
    `update domains set status = 'verified', verified_at = now(), next_check_at = now() + interval '1 day'
     where id = $1`,
    [domainId],
  );
  await pool.query(`update accounts set email_from_email = $2, email_from_name = 'Acme' where id = $1`, [
    accountId,
    `news@${name}`,
  ]);
  await pool.query(`update brands set physical_address = '1 Main St' where id = $1`, [brandId]);
}

/** Receives a mail with an attachment by SMTP. @returns the id of its conversation */
async function receiveMail(stage: Stage, to: string, texts: Texts): Promise<number> {
  const encoded = (text: string) => `=?utf-8?b?${Buffer.from(text).toString('base64')}?=`;
  const data = [
    `From: "${encoded(texts['sender of a mail'])}" <ada@example.com>`.replaceAll('"', ''),
    `To: ${to}`,
    `Subject: ${encoded(texts['subject of a mail'])}`,
    `Message-ID: <${Date.now()}@example.com>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="b"',
    '',
    '--b',
    'Content-Type: text/html; charset=utf-8',
    '',
    `<p>${texts['subject of a mail']}</p><p>${texts['text of a mail'].replaceAll('<', '&lt;')}</p>`,
    '--b',
    'Content-Type: text/plain',
    `Content-Disposition: attachment; filename="${texts['name of an attachment']}"`,
    '',
    'An attachment',
    '--b--',
    '',
  ].join('\r\n');
  const reply = await deliver(stage.service.mailPort, { to, from: 'ada@example.com', data });
  if (!reply.startsWith('250')) throw new Error(reply);
  return firstOf(stage, '/conversations');
}

/** Lets a message pass for bounced, once it is sent: the provider that captures mail reports no bounces. */
async function bounce(
  { request, database, accountId }: Stage,
  messageId: number,
  diagnostic: string,
): Promise<void> {
  await eventually(async () => {
    const { body } = await request('GET', `/v1/my/messages/${messageId}`);
    if (String(body.status) !== 'delivered') throw new Error(`the message is ${String(body.status)}`);
  });
  const { rowCount } = await database.pool.query(
    `update messages set status = 'bounced', bounce = $3 where account_id = $1 and id = $2`,
    [accountId, messageId, { type: 'hard', subtype: 'no_such_mailbox', diagnostic }],
  );
  if (rowCount !== 1) throw new Error('no message has bounced');
}

/** Waits until a list has something. @returns the id of the first */
const firstOf = ({ request }: Stage, path: string): Promise<number> =>
  eventually(async () => {
    const { list, text } = await request('GET', `/v1/my${path}`);
    if (!list[0]) throw new Error(`${path}: ${text}`);
    return Number(list[0].id);
  });
