/** Flows whose steps send, with runs of contacts, in the state that activation and entries leave. */
import { createFlowSender, type FlowSender, type SendingRun } from '../../src/features/flows/run/send.ts';
import type { EmailStep } from '../../src/features/flows/steps/email.ts';
import type { SmsStep } from '../../src/features/flows/steps/sms.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { inTransaction, type Queryable } from '../../src/platform/db/queryable.ts';
import type { QueuedAccount } from './queued.ts';
import { TEST_LIMITS } from './sending.ts';
import { testKeyring } from './webhooks.ts';

const PUBLIC_URL = 'https://app.test';

/** The parts of a content, and its sender. */
export interface TestContent {
  channel?: 'email' | 'sms';
  subject?: string;
  html?: string;
  text?: string;
  paths?: string[];
  fromName?: string;
  fromEmail?: string;
}

export interface WrittenFlow {
  flowId: number;
  /** One step per content, with the ids 1, 2 … */
  steps: (EmailStep | SmsStep)[];
}

async function idOf(db: Queryable, sql: string, values: unknown[]): Promise<number> {
  const { rows } = await db.query<{ id: number }>(`${sql} returning id`, values);
  return rows[0]?.id ?? 0;
}

/** Writes an active flow with a step for each content. */
export async function writeFlow(
  { pool }: Database,
  { accountId, brandId }: QueuedAccount,
  contents: readonly TestContent[] = [{}],
): Promise<WrittenFlow> {
  const flowId = await idOf(
    pool,
    `insert into flows (account_id, brand_id, name, status, counted_from) values ($1, $2, 'Welcome', 'active', now())`,
    [accountId, brandId],
  );
  const steps: (EmailStep | SmsStep)[] = [];
  for (const [index, content] of contents.entries()) {
    const { channel = 'email' } = content;
    const id = index + 1;
    const templateId = await idOf(
      pool,
      `insert into templates (account_id, brand_id, channel, name, flow_id, action_id) values ($1, $2, $3, 'Hi', $4, $5)`,
      [accountId, brandId, channel, flowId, id],
    );
    const { subject = 'Hi {{ contact.first_name }}', html = '<p>Hi {{ contact.first_name }}</p>' } = content;
    const { text = 'Hi {{ contact.first_name }}', paths = ['first_name'] } = content;
    const versionId = await idOf(
      pool,
      `insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, html, text,
         paths, from_name, from_email)
       values ($1, $2, $3, $4, decode(md5(random()::text), 'hex'), $5, $6, $7, $8, $9, $10)`,
      [
        ...[templateId, accountId, brandId, channel],
        ...(channel === 'email' ? [subject, html] : [null, null]),
        ...[text, paths, content.fromName ?? null, content.fromEmail ?? null],
      ],
    );
    await pool.query('insert into flow_contents values ($1, $2, $3, $4)', [
      flowId,
      id,
      templateId,
      versionId,
    ]);
    steps.push({ type: channel, id, template_id: templateId });
  }
  await pool.query('update flows set steps = $2 where id = $1', [flowId, JSON.stringify(steps)]);
  return { flowId, steps };
}

export interface TestContact {
  email?: string | null;
  phone?: string | null;
  subscribed?: boolean;
  firstName?: string;
  data?: Record<string, unknown>;
}

/** Inserts a contact, subscribed by email unless the changes say otherwise. */
export async function writeContact(
  { pool }: Database,
  { accountId, brandId }: QueuedAccount,
  {
    email = 'ada@example.com',
    phone = null,
    subscribed = true,
    firstName = 'Ada',
    data = {},
  }: TestContact = {},
): Promise<number> {
  await pool.query('update accounts set has_contacts = true where id = $1', [accountId]);
  return idOf(
    pool,
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at, phone,
       phone_subscribed, phone_created_at, first_name, data)
     values ($1, $2, $3, $3, $3::text is not null and $5, now(), $4, $4::text is not null and $5, now(), $6, $7)`,
    [accountId, brandId, email, phone, subscribed, firstName, JSON.stringify(data)],
  );
}

/** Inserts a run of a contact. */
export async function writeRun(
  { pool }: Database,
  { accountId, brandId }: QueuedAccount,
  flowId: number,
  contactId: number,
  { test = false, event = null }: { test?: boolean; event?: Record<string, unknown> | null } = {},
): Promise<SendingRun> {
  const id = await idOf(
    pool,
    `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, event, test, record)
     values ($1, $2, $3, 1, $4, 'm' || gen_random_uuid(), $5, $6, '{}')`,
    [accountId, brandId, flowId, contactId, event && JSON.stringify(event), test],
  );
  return {
    id,
    account_id: accountId,
    brand_id: brandId,
    flow_id: flowId,
    contact_id: contactId,
    test,
    event,
  };
}

/** The same as in a worker. */
export function testFlowSender(options: { plusAddresses?: boolean; sandboxCap?: number } = {}): FlowSender {
  return createFlowSender({
    mailDomain: 'mail.test',
    tracking: { publicUrl: PUBLIC_URL, keyId: testKeyring.subkey('tracking').id },
    limits: { ...TEST_LIMITS, sandbox_monthly_cap: options.sandboxCap ?? 1_000_000 },
    plusAddresses: options.plusAddresses ?? false,
    keyring: testKeyring,
  });
}

/** Carries out one sending step of a run, in a separate transaction. */
export async function send(
  { pool }: Database,
  sender: FlowSender,
  run: SendingRun,
  step: EmailStep | SmsStep | undefined,
  asOf = new Date(),
) {
  if (!step) throw new Error('the flow has no such step');
  const queued: string[] = [];
  const sends = sender({ onQueued: (backlog) => void queued.push(backlog) });
  const result = await inTransaction(pool, async (trx) => {
    const [decided] = await sends.decide(trx, [{ run, step: { id: step.id, channel: step.type } }], asOf);
    if (!decided) throw new Error('nothing was decided about the message');
    await sends.write(trx);
    return decided;
  });
  const messageId = 'messageId' in result ? (result.messageId ?? 0) : 0;
  return { result, messageId, queued };
}
