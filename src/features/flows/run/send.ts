/** Creates the messages of steps that send, unless the contact cannot or must not get them. */
import { byChannelSql, channelFacts } from '../../../delivery/terms/channels/index.ts';
import { backlogName, DEFAULT_PROVIDER } from '../../../delivery/terms/backlog.ts';
import { type FrequencyCap, reachedCapSql } from '../../../delivery/ledger/limits/frequency-cap.ts';
import { isLimitRefusal } from '../../../delivery/ledger/limits/admission.ts';
import { isCounted, type LimitSettings } from '../../../delivery/ledger/limits/authority.ts';
import { type Channel, messageClasses } from '../../../delivery/terms/message.ts';
import { hasNoPriceSql } from '../../../delivery/ledger/money/prices.ts';
import { paidBySegmentSql } from '../../../delivery/terms/units.ts';
import { suppressedSql } from '../../../delivery/ledger/consent/suppressions.ts';
import { testOutcome } from '../../../delivery/ledger/accept/test-messages.ts';
import { hasUnapplied, unappliedOptOutsSql } from '../../../delivery/ledger/consent/unapplied-opt-outs.ts';
import type { NewRenderedMessage, WrittenMessage } from '../../../delivery/ledger/accept/new-message.ts';
import { MESSAGE_ID_SEQUENCE, writeMessages } from '../../../delivery/ledger/accept/write-messages.ts';
import type { TrackingDefaults } from '../../../delivery/ledger/accept/route.ts';
import { AppError } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { countForFlow } from '../counts.ts';
import { hasAnsweredEnough } from './answers.ts';
import type { StepResult } from './interpreter.ts';
import type { CauseEvent } from './load.ts';
import { createSenderOf, type SenderOf } from './sender.ts';

export { quietUntil, type QuietHours } from './quiet-hours.ts';

/** The columns of `flow_runs` that sending needs. */
export interface SendingRun {
  id: number;
  account_id: number;
  brand_id: number;
  flow_id: number;
  contact_id: number;
  /** Whether the run creates test messages, which are not given to a provider. */
  test: boolean;
  /** The event that started it. */
  event: Pick<CauseEvent, 'mail'> | null;
}

export interface FlowSenderDeps {
  /** The setting MAIL_DOMAIN. */
  mailDomain: string;
  tracking: TrackingDefaults;
  limits: LimitSettings;
  /** The setting SUPPRESS_PLUS_ADDRESSES. */
  plusAddresses: boolean;
  /** Recognizes opt-outs that have only the HMAC. */
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
}

/** The step that sends, and its channel. */
export interface SendStep {
  id: number;
  channel: Channel;
}

export interface SendRequest {
  run: SendingRun;
  step: SendStep;
}

/** A message that a limit refused when it was to be written. */
export interface RefusedSend {
  runId: number;
  stepId: number;
  /** The code of the limit, such as `sandbox_limit_reached`. */
  reason: string;
}

/** The messages of one transaction. */
export interface FlowSends {
  /**
   * Decides about the messages of steps for the contacts of their runs, in the given order. A `sent` message is not
   * written before {@link FlowSends.write}, which may change its result to `failed`.
   * @param requests at most one for a contact
   * @param asOf the time at which the runs advance
   * @returns for each request `sent` with the message's id; `skipped` with `detail.reason` `no_address`, `no_price`,
   *   `frequency_cap`, `automatic_mail` or `answer_limit`; `failed` with `detail.reason` `sender_not_verified` or
   *   `content_rejected`; or `exit` with `unsubscribed`, `suppressed` or `contact_deleted`: the run ends
   */
  decide(
    trx: Queryable,
    requests: readonly SendRequest[],
    asOf: Date,
  ): Promise<(StepResult | { exit: string })[]>;
  /** The ids of the runs whose messages are not written yet. */
  readonly unwritten: ReadonlySet<number>;
  /**
   * Writes the messages that were decided. Call it last, because the counters of accounts stay locked until the commit.
   * @returns those that a limit refused; their results have become `failed` with its code as `detail.reason`
   */
  write(trx: Queryable): Promise<RefusedSend[]>;
}

/**
 * Begins the messages of a transaction.
 * @param options `onQueued` is called with the backlog of each queued message: wake `send` with it after the commit
 */
export type FlowSender = (options: { onQueued: (backlog: string) => void }) => FlowSends;

/** What is read before a message is created. */
interface RecipientState {
  messageId: number;
  /** Null if the contact has been deleted. */
  contactId: number | null;
  address: string | null;
  key: string | null;
  subscribed: boolean;
  suppressed: boolean;
  /** Whether it is an SMS to a country without a price. */
  hasNoPrice: boolean;
  /** HMACs of opt-outs of the brand that may not have been applied to contacts yet. */
  unapplied: Buffer[] | null;
  cap: FrequencyCap | null;
  templateId: number | null;
  /** Null if the step has no content. */
  versionId: number | null;
  versionBytes: number;
  fromName: string | null;
  fromEmail: string | null;
  replyTo: string | null;
}

const factsSql = `
  select nextval('${MESSAGE_ID_SEQUENCE}') as "messageId", k.id as "contactId", k.address, k.key, k.subscribed,
    ${suppressedSql({ account: '$1', key: 'k.key', plusAddresses: '$7' })} as suppressed,
    ${paidBySegmentSql('$6')} and ${hasNoPriceSql('a', 'k.key')} as "hasNoPrice",
    ${unappliedOptOutsSql('b.id', '$6')} as unapplied, b.frequency_cap as cap,
    f.template_id as "templateId", v.id as "versionId",
    coalesce(octet_length(v.html), 0) + coalesce(octet_length(v.text), 0) as "versionBytes",
    v.from_name as "fromName", v.from_email as "fromEmail", v.reply_to as "replyTo"
  from brands b join accounts a on a.id = b.account_id
  left join lateral (
    select c.id, ${byChannelSql('$6', ({ contact }) => `c.${contact.kind}`)} as address,
      ${byChannelSql('$6', ({ contact }) => `c.${contact.key}`)} as key,
      ${byChannelSql('$6', ({ contact }) => `c.${contact.kind}_subscribed`)} as subscribed
    from contacts c where c.id = $3 and c.brand_id = b.id) k on true
  left join flow_contents f on f.flow_id = $4 and f.step_id = $5
  left join template_versions v on v.id = f.version_id and v.channel = $6
  where b.id = $2`;

export const recipientStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'readRecipient',
  does: 'Reads what the message of a step depends on, before it is written.',
  parameters: [
    'bigint: the account',
    'bigint: the brand',
    'bigint: the contact',
    'bigint: the flow',
    'integer: the step',
    'text: the channel',
    'boolean: whether to ignore tags such as +news when comparing addresses',
  ],
  shapes: { facts_of_flow_send: {} },
  version: 2,
  compose: () => factsSql,
});

async function readRecipient(
  trx: Queryable,
  run: SendingRun,
  { id: stepId, channel }: SendStep,
  plusAddresses: boolean,
): Promise<RecipientState> {
  const { rows } = await trx.query<RecipientState>({
    ...recipientStatement.prepared('facts_of_flow_send'),
    values: [
      run.account_id,
      run.brand_id,
      run.contact_id,
      run.flow_id,
      stepId,
      channel,
      plusAddresses && channelFacts[channel].address.hasTags,
    ],
  });
  if (!rows[0]) throw new Error(`no brand ${run.brand_id}`);
  return rows[0];
}

const capSql = `
  select ${reachedCapSql({
    brandId: '$1',
    keys: 'c.email_key, c.phone',
    asOf: '$3::timestamptz',
    count: '$4::int',
    perSeconds: '$5::int',
  })} as reached
  from contacts c where c.id = $2`;

/**
 * Serializes the runs of contacts that count their messages, until the transaction ends. To avoid deadlocks, a
 * transaction takes the locks of all of its runs that may send at once, right after those of their rows and before all
 * others.
 */
export async function lockFrequency(trx: Queryable, contactIds: readonly number[]): Promise<void> {
  if (contactIds.length === 0) return;
  await trx.query({
    name: 'lock_frequency',
    // Two contacts may share a lock, so the order is that of the locks.
    text: `select pg_advisory_xact_lock(l.key)
           from (select distinct hashtextextended('frequency ' || id, 0) as key from unnest($1::bigint[]) as c (id)
             order by 1) l`,
    values: [contactIds],
  });
}

/**
 * Whether the contact has reached the frequency cap. Because of the lock, each of two concurrent runs sees the other's
 * message.
 */
async function hasReachedCap(
  trx: Queryable,
  { brand_id, contact_id }: SendingRun,
  cap: FrequencyCap,
  asOf: Date,
): Promise<boolean> {
  // The run already holds this lock, unless the brand got its cap only just now.
  await lockFrequency(trx, [contact_id]);
  const { rows } = await trx.query<{ reached: boolean }>({
    name: 'frequency_cap_reached',
    text: capSql,
    values: [brand_id, contact_id, asOf, cap.count, cap.per_seconds],
  });
  return rows[0]?.reached === true;
}

/** Why an email of the run must not answer the mail that caused it; null if it may, or if no mail did. */
async function refuseAnswer(
  trx: Queryable,
  { brand_id: brandId, contact_id: contactId, event }: SendingRun,
  asOf: Date,
): Promise<'automatic_mail' | 'answer_limit' | null> {
  const mail = event?.mail;
  if (!mail) return null;
  if (mail.auto_submitted) return 'automatic_mail';
  // The run already holds this lock, unless it was loaded before.
  await lockFrequency(trx, [contactId]);
  return (await hasAnsweredEnough(trx, { brandId, contactId, inboxId: mail.inbox_id, asOf }))
    ? 'answer_limit'
    : null;
}

/** Records in the path why no message was created. */
const notWritten = (outcome: 'skipped' | 'failed', reason: string): StepResult => ({
  outcome,
  detail: { reason },
});

/**
 * Decides whether the contact gets the message. If it must not, the run ends; if it only cannot, the run continues
 * without it.
 */
function judgeSend(
  { keyring, plusAddresses }: FlowSenderDeps,
  { brand_id: brandId, test }: SendingRun,
  channel: Channel,
  state: RecipientState,
): StepResult | { exit: string } | null {
  const { contactId, address, key, subscribed, suppressed, hasNoPrice, unapplied } = state;
  if (contactId === null) return { exit: 'contact_deleted' };
  if (address === null || key === null) return notWritten('skipped', 'no_address');
  if (!subscribed) return { exit: 'unsubscribed' };
  const recipient = {
    brandId,
    channel,
    address,
    plusAddresses: plusAddresses && channelFacts[channel].address.hasTags,
  };
  if (unapplied && hasUnapplied(keyring, recipient, unapplied)) return { exit: 'unsubscribed' };
  if (suppressed) return { exit: 'suppressed' };
  if (hasNoPrice && !test) return notWritten('skipped', 'no_price');
  return state.versionId === null ? notWritten('failed', 'content_rejected') : null;
}

type Sender = NonNullable<Awaited<ReturnType<SenderOf>>>;

function messageOf(
  run: SendingRun,
  step: SendStep,
  state: RecipientState,
  sender: Sender,
): NewRenderedMessage {
  const { channel } = step;
  const message: NewRenderedMessage = {
    id: state.messageId,
    account_id: run.account_id,
    brand_id: run.brand_id,
    channel,
    status: 'queued',
    test: run.test,
    to_address: state.address ?? '',
    to_key: state.key ?? '',
    reply_to: channel === 'email' ? state.replyTo : null,
    template_id: state.templateId,
    content_version_id: state.versionId,
    version_bytes: state.versionBytes,
    flow_run_id: run.id,
    flow_step_id: step.id,
    contact_id: state.contactId,
    ...(run.event?.mail ? { answers_mail: true as const } : {}),
    ...sender,
  };
  return run.test ? { ...message, ...testOutcome(message) } : message;
}

async function writeStepMessage(
  trx: Queryable,
  { limits, tracking }: FlowSenderDeps,
  { flow_id }: SendingRun,
  message: NewRenderedMessage,
) {
  const source = { class: messageClasses.flow, flow_id };
  const written = await writeMessages(trx, [message], {
    source,
    limits,
    counted: isCounted(message),
    tracking,
    rendered: true,
  });
  return written.get(message.id) as WrittenMessage;
}

/**
 * Writes a message that a limit may refuse. A refusal must not undo what the run has done before.
 * @returns the code of the limit that refused it, which may be the daily limit of test messages
 */
async function writeIfAllowed(
  trx: Queryable,
  deps: FlowSenderDeps,
  run: SendingRun,
  message: NewRenderedMessage,
): Promise<Awaited<ReturnType<typeof writeStepMessage>> | { refused: string }> {
  if (!message.test && !isCounted(message)) {
    return writeStepMessage(trx, deps, run, message);
  }
  await trx.query('savepoint flow_message');
  try {
    return await writeStepMessage(trx, deps, run, message);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (!isLimitRefusal(error) && error.code !== 'rate_limited') throw error;
    await trx.query('rollback to savepoint flow_message');
    return { refused: error.code };
  }
}

export function createFlowSender(deps: FlowSenderDeps): FlowSender {
  const senderOf = createSenderOf(deps.mailDomain);

  async function send(
    trx: Queryable,
    { run, step }: SendRequest,
    asOf: Date,
    onQueued: (backlog: string) => void,
  ): Promise<StepResult | { exit: string }> {
    const { channel } = step;
    const state = await readRecipient(trx, run, step, deps.plusAddresses);
    const judged = judgeSend(deps, run, channel, state);
    if (judged) return judged;
    if (state.cap && (await hasReachedCap(trx, run, state.cap, asOf))) {
      return notWritten('skipped', 'frequency_cap');
    }
    const unanswered = channel === 'email' ? await refuseAnswer(trx, run, asOf) : null;
    if (unanswered) return notWritten('skipped', unanswered);
    const sender = await senderOf(trx, run, channel, state);
    if (!sender) return notWritten('failed', 'sender_not_verified');
    const written = await writeIfAllowed(trx, deps, run, messageOf(run, step, state, sender));
    if ('refused' in written) return notWritten('failed', written.refused);
    const { account_id: accountId, test } = run;
    const providerId = written.provider_id ?? DEFAULT_PROVIDER;
    if (!test) onQueued(backlogName({ channel, class: messageClasses.flow, accountId, providerId }));
    return { outcome: 'sent', messageId: state.messageId };
  }

  async function sendAndCount(
    trx: Queryable,
    request: SendRequest,
    asOf: Date,
    onQueued: (backlog: string) => void,
  ) {
    const { run, step } = request;
    const result = await send(trx, request, asOf, onQueued);
    if (!run.test && 'outcome' in result && result.outcome !== 'sent') {
      const name = `${result.outcome as 'skipped' | 'failed'}:${String(result.detail?.reason)}` as const;
      await countForFlow(trx, [{ flowId: run.flow_id, stepId: step.id, name, n: 1 }]);
    }
    return result;
  }

  return ({ onQueued }) => ({
    async decide(trx, requests, asOf) {
      const results: (StepResult | { exit: string })[] = [];
      for (const request of requests) results.push(await sendAndCount(trx, request, asOf, onQueued));
      return results;
    },
    unwritten: new Set<number>(),
    write: () => Promise.resolve([]),
  });
}
