/** Reads what the messages of steps depend on, and decides which contacts must not or cannot get theirs. */
import { suppressedSql } from '../../../delivery/ledger/consent/suppressions.ts';
import { hasUnapplied, unappliedOptOutsSql } from '../../../delivery/ledger/consent/unapplied-opt-outs.ts';
import type { FrequencyCap } from '../../../delivery/ledger/limits/frequency-cap.ts';
import { hasNoPriceSql } from '../../../delivery/ledger/money/prices.ts';
import { MESSAGE_ID_SEQUENCE } from '../../../delivery/ledger/accept/write-messages.ts';
import {
  byChannelSql,
  type Channel,
  channelFacts,
  isChannelSql,
} from '../../../delivery/terms/channels/index.ts';
import { paidBySegmentSql } from '../../../delivery/terms/units.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import type { StepResult } from './interpreter.ts';
import type { CauseEvent } from './load.ts';

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

/** The step that sends, and its channel. */
export interface SendStep {
  id: number;
  channel: Channel;
}

export interface SendRequest {
  run: SendingRun;
  step: SendStep;
}

/** What a step that sends leads to: the result of the step, or the end of the run. */
export type SendResult = StepResult | { exit: string };

export interface RecipientDeps {
  /** The setting SUPPRESS_PLUS_ADDRESSES. */
  plusAddresses: boolean;
  /** Recognizes opt-outs that have only the HMAC. */
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
}

/** What is read before a message is created. */
export interface RecipientState {
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

/** There may be many opt-outs, so only the first request of a brand and channel gets them. */
const factsSql = `
  with given as (
    select $1::bigint[] as accounts, $2::bigint[] as brands, $3::bigint[] as contacts, $4::bigint[] as flows,
      $5::int[] as steps, $6::text[] as channels offset 0
  ), asked as materialized (
    select r.* from given g,
      unnest(g.accounts, g.brands, g.contacts, g.flows, g.steps, g.channels)
        with ordinality as r (account_id, brand_id, contact_id, flow_id, step_id, channel, n)
  ), firsts as (
    select min(n) as n, ${unappliedOptOutsSql('brand_id', 'channel')} as unapplied from asked
    group by brand_id, channel
  )
  select nextval('${MESSAGE_ID_SEQUENCE}') as "messageId", k.id as "contactId", k.address, k.key, k.subscribed,
    coalesce(${suppressedSql({
      account: 'r.account_id',
      key: 'k.key',
      plusAddresses: `$7 and ${isChannelSql('r.channel', ({ address }) => address.hasTags)}`,
      byKey: true,
    })}, false) as suppressed,
    ${paidBySegmentSql('r.channel')} and ${hasNoPriceSql('a', 'k.key')} as "hasNoPrice",
    u.unapplied, b.frequency_cap as cap, f.template_id as "templateId", v.id as "versionId",
    coalesce(octet_length(v.html), 0) + coalesce(octet_length(v.text), 0) as "versionBytes",
    v.from_name as "fromName", v.from_email as "fromEmail", v.reply_to as "replyTo"
  from asked r join brands b on b.id = r.brand_id join accounts a on a.id = b.account_id
  left join firsts u on u.n = r.n
  left join lateral (
    select c.id, ${byChannelSql('r.channel', ({ contact }) => `c.${contact.kind}`)} as address,
      ${byChannelSql('r.channel', ({ contact }) => `c.${contact.key}`)} as key,
      ${byChannelSql('r.channel', ({ contact }) => `c.${contact.kind}_subscribed`)} as subscribed
    from contacts c where c.id = r.contact_id and c.brand_id = r.brand_id) k on true
  left join flow_contents f on f.flow_id = r.flow_id and f.step_id = r.step_id
  left join template_versions v on v.id = f.version_id and v.channel = r.channel
  order by r.n`;

export const recipientsStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'readRecipients',
  does: 'Reads what the messages of steps depend on, before they are written.',
  parameters: [
    'bigint[]: the accounts',
    'bigint[]: the brands',
    'bigint[]: the contacts',
    'bigint[]: the flows',
    'integer[]: the steps',
    'text[]: the channels',
    'boolean: whether to ignore tags such as +news when comparing addresses',
  ],
  shapes: { facts_of_flow_sends: {} },
  compose: () => factsSql,
});

/** @returns the state of each request, in their order */
export async function readRecipients(
  trx: Queryable,
  requests: readonly SendRequest[],
  { plusAddresses }: RecipientDeps,
): Promise<RecipientState[]> {
  const { rows } = await trx.query<RecipientState>({
    ...recipientsStatement.prepared('facts_of_flow_sends'),
    values: [
      requests.map(({ run }) => run.account_id),
      requests.map(({ run }) => run.brand_id),
      requests.map(({ run }) => run.contact_id),
      requests.map(({ run }) => run.flow_id),
      requests.map(({ step }) => step.id),
      requests.map(({ step }) => step.channel),
      plusAddresses,
    ],
  });
  if (rows.length < requests.length) throw new Error('the brand of a run that sends does not exist');
  const unapplied = new Map<string, Buffer[]>();
  return requests.map(({ run, step }, n) => {
    const state = rows[n] as RecipientState;
    const of = `${run.brand_id}/${step.channel}`;
    if (state.unapplied) unapplied.set(of, state.unapplied);
    return { ...state, unapplied: unapplied.get(of) ?? null };
  });
}

/** Records in the path why no message was created. */
export const notWritten = (outcome: 'skipped' | 'failed', reason: string): StepResult => ({
  outcome,
  detail: { reason },
});

/**
 * Decides whether the contact gets the message. If it must not, the run ends; if it only cannot, the run continues
 * without it.
 * @returns null if it may get it
 */
export function judgeRecipient(
  { keyring, plusAddresses }: RecipientDeps,
  { run: { brand_id: brandId, test }, step: { channel } }: SendRequest,
  state: RecipientState,
): SendResult | null {
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
