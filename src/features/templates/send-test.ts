import { isPaidBySegment } from '../../delivery/terms/units.ts';
import { recipientKey } from '../../delivery/terms/channels/recipient.ts';
import { backlogName, DEFAULT_PROVIDER } from '../../delivery/terms/backlog.ts';
import {
  RenderError,
  type RenderedContent,
  type VersionContent,
} from '../../delivery/content/templates/content.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { type Channel, messageClasses } from '../../delivery/terms/message.ts';
import type { SenderIdentities } from '../../delivery/terms/sender-identity.ts';
import type { SmsSenders } from '../../delivery/terms/sms-senders.ts';
import { countSegments, MAX_SEGMENTS } from '../../delivery/terms/texts/sms-segments.ts';
import { requireTestCapacity, testOutcome } from '../../delivery/ledger/accept/test-messages.ts';
import type { NewMessage } from '../../delivery/ledger/accept/new-message.ts';
import { allocateMessageIds, writeMessages } from '../../delivery/ledger/accept/write-messages.ts';
import { invalid, notFound, type ValidationErrors } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { errorsOf, fromEngine } from './compile.ts';
import { findTemplate } from './model.ts';
import { pinVersion } from './pin.ts';
import { type RenderDeps, requireContact, tryRender } from './render.ts';
import type { SendTestBody, SendUnsavedTestBody, SentTest } from './schema.ts';
import { senderOfTemplate } from './sender.ts';
import { sourceOfUnsaved } from './unsaved.ts';
import { sampleValues } from './values.ts';

export interface SendTestDeps extends RenderDeps {
  identities: SenderIdentities;
  smsSenderOf: SmsSenders;
  /** Settings of the limits. */
  limits: LimitSettings;
  waker: Pick<Waker, 'wake'>;
}

const MARK = '[Test] ';
/** Maximum distance between the ids of a test's messages: other messages may take ids in between. */
const MAX_ID_SPAN = 10_000;

interface Recipient {
  address: string;
  key: string;
}

interface Allowed {
  test_email_recipients: string[];
  users: { id: number; email: string; mobile: string }[];
}

async function readAllowed(db: Queryable, accountId: number): Promise<Allowed> {
  const { rows } = await db.query<Allowed>(
    `select a.test_email_recipients, (
       select coalesce(json_agg(json_build_object('id', u.id, 'email', u.email, 'mobile', u.mobile) order by u.id), '[]')
       from memberships m join users u on u.id = m.user_id where m.account_id = a.id) as users
     from accounts a where a.id = $1`,
    [accountId],
  );
  return rows[0] ?? { test_email_recipients: [], users: [] };
}

/** Returns addresses by their keys. Leaves out texts that are not addresses of the channel. */
function byKey(channel: Channel, addresses: readonly string[]): Map<string, Recipient> {
  return new Map(
    addresses.flatMap((address) => {
      const key = recipientKey(channel, address);
      return key === null ? [] : [[key, { address, key }] as const];
    }),
  );
}

/**
 * Finds the recipients of a test.
 * @throws AppError validation_error for each address that must not get tests
 */
function recipientsOf(
  channel: Channel,
  tenant: Tenant,
  to: string[] | undefined,
  allowed: Allowed,
): Recipient[] {
  const ofUser = (user: Allowed['users'][number]) => (channel === 'email' ? user.email : user.mobile);
  const forTests = channel === 'email' ? allowed.test_email_recipients : [];
  const { actor } = tenant;
  if (to === undefined) {
    const caller = allowed.users.filter(({ id }) => actor.kind === 'user' && id === actor.id).map(ofUser);
    const chosen = [...byKey(channel, actor.kind === 'user' ? caller : forTests).values()];
    if (chosen.length > 0) return chosen;
    throw invalid({ to: ['is required: the account has no default test recipient'] });
  }
  const known = byKey(channel, [...forTests, ...allowed.users.map(ofUser)]);
  const errors: ValidationErrors = {};
  const chosen = new Map<string, Recipient>();
  for (const [index, address] of to.entries()) {
    const recipient = known.get(recipientKey(channel, address) ?? '');
    if (recipient) chosen.set(recipient.key, recipient);
    else errors[`to.${index}`] = [NOT_ALLOWED[channel]];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return [...chosen.values()];
}

const NOT_ALLOWED: Record<Channel, string> = {
  email: 'is neither one of test_email_recipients of the account nor the address of one of its users',
  sms: 'is not the mobile number of a user of the account',
};

export type PreparedTest = Pick<NewMessage, 'channel' | 'subject' | 'html' | 'text'> & Partial<NewMessage>;

async function emailOf(
  { identities }: SendTestDeps,
  tenant: Tenant,
  version: Pick<VersionContent, 'fromName' | 'fromEmail' | 'replyTo'>,
  { subject, html, text }: RenderedContent,
): Promise<PreparedTest> {
  const sender = senderOfTemplate(await identities.ofBrand(tenant), version);
  if (sender === null) {
    throw invalid({ from_email: ['is not a verified sender of this brand'] }, 'sender_not_verified');
  }
  return {
    channel: 'email',
    subject: `${MARK}${subject ?? ''}`.trim(),
    html,
    text,
    reply_to: version.replyTo,
    ...sender,
  };
}

async function smsOf(
  { smsSenderOf }: SendTestDeps,
  tenant: Tenant,
  rendered: RenderedContent,
): Promise<PreparedTest> {
  const sender = await smsSenderOf(tenant.brandId);
  const text = rendered.text ?? '';
  const { segments } = countSegments(text);
  if (segments > MAX_SEGMENTS) {
    throw invalid({ body: [`needs ${segments} segments; the maximum is ${MAX_SEGMENTS}`] });
  }
  return { channel: 'sms', text, segments, from_address: sender?.from, provider_id: sender?.providerId };
}

/**
 * Pins and renders a template for a test, outside of any transaction.
 * @param templateId a template of the brand, of a campaign or of a flow
 * @throws AppError not_found; validation_error that names the field; sender_not_verified, rate_limited, unavailable
 */
export async function prepareTest(
  deps: SendTestDeps,
  tenant: Tenant,
  templateId: number,
  { contact_id, variables = {} }: SendTestBody,
): Promise<PreparedTest> {
  await requireTestCapacity(deps.pool, tenant.accountId);
  const [row, brand, contact] = await Promise.all([
    findTemplate(deps.pool, tenant, templateId),
    deps.brandOf(tenant),
    requireContact(deps.pool, tenant, contact_id),
  ]);
  if (!row) throw notFound('template');
  const pinned = await fromEngine(pinVersion(deps, tenant, templateId));
  if (pinned.versionId === null) throw invalid(errorsOf(pinned.problems));
  const { version } = pinned;
  const values = sampleValues(brand, { samples: row.variables, variables, contact });
  const rendered = await tryRender(deps.contents, version, values);
  if (rendered instanceof RenderError) {
    throw invalid({ [row.content_from]: [`cannot be rendered: ${rendered.message}`] });
  }
  const message = await (version.channel === 'email'
    ? emailOf(deps, tenant, version, rendered)
    : smsOf(deps, tenant, rendered));
  return { ...message, template_id: templateId, content_version_id: version.id };
}

/**
 * Renders a content that is not saved for a test, outside of any transaction. The message stores what was rendered.
 * @throws AppError validation_error that names the field; sender_not_verified, rate_limited, unavailable
 */
export async function prepareUnsavedTest(
  deps: SendTestDeps,
  tenant: Tenant,
  {
    contact_id: contactId,
    variables = {},
    to: _,
    from_name,
    from_email,
    reply_to,
    ...content
  }: SendUnsavedTestBody,
): Promise<PreparedTest> {
  await requireTestCapacity(deps.pool, tenant.accountId);
  const [{ brand, source }, contact] = await Promise.all([
    sourceOfUnsaved(deps, tenant, content),
    requireContact(deps.pool, tenant, contactId),
  ]);
  const { content: compiled, problems } = await fromEngine(deps.contents.compile(source, tenant.accountId));
  if (!compiled) throw invalid(errorsOf(problems));
  const values = sampleValues(brand, { samples: {}, variables, contact });
  const renderable = { ...compiled, id: null, accountId: tenant.accountId };
  const rendered = await tryRender(deps.contents, renderable, values);
  if (rendered instanceof RenderError) {
    throw invalid({ [source.contentFrom]: [`cannot be rendered: ${rendered.message}`] });
  }
  const sender = { fromName: from_name ?? null, fromEmail: from_email ?? null, replyTo: reply_to ?? null };
  return content.channel === 'email'
    ? emailOf(deps, tenant, sender, rendered)
    : smsOf(deps, tenant, rendered);
}

function messagesOf(tenant: Tenant, prepared: PreparedTest, recipients: readonly Recipient[], ids: number[]) {
  return recipients.map(({ address, key }, index): NewMessage => {
    const message = {
      status: 'queued' as const,
      ...prepared,
      id: ids[index] ?? 0,
      account_id: tenant.accountId,
      brand_id: tenant.brandId,
      test: true,
      to_address: address,
      to_key: key,
    };
    return isTestCaller(tenant.actor) ? { ...message, ...testOutcome(message) } : message;
  });
}

/** Writes the messages of a test. @returns the messages, and the backlogs in which they wait */
async function writeTestMessages(
  trx: Queryable,
  { limits }: Pick<SendTestDeps, 'limits'>,
  tenant: Tenant,
  prepared: PreparedTest,
  recipients: readonly Recipient[],
) {
  const ids = await allocateMessageIds(trx, recipients.length);
  const simulated = isTestCaller(tenant.actor);
  const messages = messagesOf(tenant, prepared, recipients, ids);
  // Emails of tests cost nothing, and neither do messages of test keys.
  const isPriced = isPaidBySegment(prepared.channel) && !simulated;
  const written = await writeMessages(trx, messages, {
    source: { class: messageClasses.transactional },
    limits,
    ...(isPriced ? { money: 'reserve' as const } : {}),
  });
  const backlogs = messages.map(({ id, channel, account_id: accountId }) => {
    const providerId = written.get(id)?.provider_id ?? DEFAULT_PROVIDER;
    return backlogName({ channel, class: messageClasses.transactional, accountId, providerId });
  });
  const sent: SentTest = { messages: messages.map(({ id, to_address: to }) => ({ id, to })) };
  return { sent, backlogs: simulated ? [] : [...new Set(backlogs)], firstId: Math.min(...ids) };
}

/** Finds the messages of an earlier test, all of which one transaction wrote. */
export async function findSentTest(
  db: Queryable,
  { accountId, brandId }: Tenant,
  firstId: number,
): Promise<SentTest> {
  const { rows } = await db.query<{ id: number; to: string | null }>(
    `select m.id, m.to_address as "to" from messages first join messages m
       on m.id between $3 and $4 and m.brand_id = first.brand_id and m.created_at = first.created_at
         and m.template_id is not distinct from first.template_id and m.test
     where first.id = $3 and first.account_id = $1 and first.brand_id = $2 order by m.id`,
    [accountId, brandId, firstId, firstId + MAX_ID_SPAN],
  );
  return { messages: rows };
}

/**
 * Sends a template to test recipients of the account, with sample values or those of a contact. Its messages are marked
 * as tests in their subject, and have no webhooks, events and counts. But SMS are charged, and emails from the sandbox
 * count in its cap. The daily limit of tests includes messages of test keys. With a test key, nothing leaves the
 * service, and nothing is charged.
 * @param prepared from {@link prepareTest}
 * @param to the addresses in the request
 * @returns the messages, the id of the first one, and the backlogs to wake after the commit
 * @throws AppError validation_error that names the field; sandbox_limit_reached, spend_cap_reached, insufficient_funds,
 *   rate_limited, unavailable
 */
export async function sendTest(
  trx: Queryable,
  deps: Pick<SendTestDeps, 'limits'>,
  tenant: Tenant,
  prepared: PreparedTest,
  to: string[] | undefined,
) {
  const allowed = await readAllowed(trx, tenant.accountId);
  return writeTestMessages(trx, deps, tenant, prepared, recipientsOf(prepared.channel, tenant, to, allowed));
}
