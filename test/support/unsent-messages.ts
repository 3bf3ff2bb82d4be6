/** What a record changes if the provider did not accept the message. */
import { outcomes } from './outcomes.ts';
import { closesBlock, flowCount, type Kind, LEAVES_QUEUE, sourceOf, stat, usage } from './sent-messages.ts';

export const unsentNames = ['refused', 'bounced', 'deferred', 'unknown', 'lost'] as const;

export type UnsentName = (typeof unsentNames)[number];

/** The kinds that cover all shapes of the record. */
export const unsentKinds = [
  'plain, to a contact',
  'plain, paid',
  'letter, paid',
  'flow, paid',
  'flow text',
  'block',
  'retry',
] as const;

const { bounce } = outcomes.bounced;
const failure = { code: outcomes.refused.code, message: outcomes.refused.response };

const eventData = {
  refused: { failure, provider: 'relay' },
  bounced: { bounce, provider: 'relay', response: bounce.diagnostic },
  deferred: { provider: 'relay', response: outcomes.deferred.response },
  unknown: { provider: 'relay', response: outcomes.unknown.reason },
};

const eventTypes = { refused: 'failed', bounced: 'bounced', deferred: 'deferred', unknown: 'unknown' };

const statusLines: Record<Exclude<UnsentName, 'lost'>, readonly string[]> = {
  refused: ['messages status: queued → failed', `messages failure: null → ${JSON.stringify(failure)}`],
  bounced: [
    'messages status: queued → bounced',
    `messages bounce: null → ${JSON.stringify(bounce)}`,
    'messages bounced_at: null → time',
  ],
  deferred: [],
  unknown: ['messages status: queued → unknown', 'messages unknown_at: null → time'],
};

function messageLines(kind: Kind, outcome: Exclude<UnsentName, 'lost'>): string[] {
  const { attempt, contact, channel } = kind;
  return [
    `+ message_events data=${JSON.stringify(eventData[outcome])} type=${eventTypes[outcome]} attempt=${attempt} message_id=id occurred_at=time`,
    `messages attempt_count: ${attempt - 1} → ${attempt}`,
    'messages updated_at: time → time',
    ...statusLines[outcome],
    ...(attempt === 1 ? ['messages provider: null → relay'] : []),
    ...(contact === 'found' ? ['messages contact_id: null → id'] : []),
    // Until it is known how many segments a text had, it is charged for the most that it may have.
    ...(outcome === 'unknown' && channel === 'sms' ? ['messages segments: null → 1'] : []),
  ];
}

/** Whether it is tried again: after an unknown outcome, only a transactional message is. */
const isTriedAgain = (kind: Kind, outcome: UnsentName) =>
  outcome === 'deferred' || (outcome === 'unknown' && sourceOf(kind) === 'api');

function queueLines(kind: Kind, outcome: Exclude<UnsentName, 'lost'>): string[] {
  const { attempt, ofBlock, channel } = kind;
  const again = isTriedAgain(kind, outcome);
  if (ofBlock) {
    const row =
      '+ send_queue held=false class=2 due_at=time channel=email queued_at=time account_id=id file_bytes=0 message_id=id campaign_id=id claim_epoch=0 provider_id=id attempt_count=1 content_bytes=0 content_weight=0 reserved_bucket=time connection_losses=0';
    return [...closesBlock(channel), ...(again ? [row] : [])];
  }
  if (!again) return [LEAVES_QUEUE];
  return [
    `send_queue attempt_count: ${attempt - 1} → ${attempt}`,
    'send_queue due_at: time → time',
    'send_queue owner: id → null',
  ];
}

/** A bounce uses up the allowance, but costs nothing. */
function countLines(kind: Kind, outcome: Exclude<UnsentName, 'lost'>): string[] {
  const { channel, contact, paid, reservesInClaim } = kind;
  const free = outcome === 'refused' || outcome === 'bounced';
  return [
    ...(free && contact
      ? [`+ contact_channel_counts channel=${channel} contact_id=id fail_count=1 sent_count=0`]
      : []),
    ...(free && paid
      ? ['account_months email_units: 1 → 0', 'account_months spent_millicents: 1000 → 0']
      : []),
    ...(outcome === 'refused' ? ['allowance_buckets used: 1 → 0'] : []),
    ...(outcome === 'unknown' ? [usage(channel, 1, 0)] : []),
    ...(outcome === 'unknown' && reservesInClaim
      ? ['+ unknown_charges month=time units=1 channel=email account_id=id message_id=id millicents=1000']
      : []),
  ];
}

function bounceLines(kind: Kind): string[] {
  const { channel } = kind;
  const address = channel === 'email' ? 'email=address' : 'phone=address';
  return [
    ...(channel === 'email'
      ? ['+ account_outcomes hour=time attempted=1 account_id=id complaints=0 hard_bounces=1']
      : []),
    stat('bounced', channel, sourceOf(kind)),
    `+ suppressions id=id ${address} reason=hard_bounce account_id=id created_at=time diagnostic=${bounce.diagnostic} address_key=address untagged_key=address source_provider=relay`,
  ];
}

const flowNames: Record<Exclude<UnsentName, 'lost'>, Record<Kind['channel'], readonly string[]>> = {
  refused: { email: ['failed'], sms: ['failed'] },
  bounced: { email: ['attempted', 'bounced', 'hard_bounced'], sms: ['bounced'] },
  deferred: { email: [], sms: [] },
  unknown: { email: ['unknown'], sms: ['unknown'] },
};

/** What changes, as lines of `rowChanges`. A lost message goes back as it was. */
export function unsentEffects(kind: Kind, outcome: UnsentName): string[] {
  if (outcome === 'lost')
    return ['- handovers', `${kind.ofBlock ? 'campaign_blocks' : 'send_queue'} owner: id → null`];
  return [
    '- handovers',
    ...messageLines(kind, outcome),
    ...queueLines(kind, outcome),
    ...countLines(kind, outcome),
    ...(outcome === 'bounced' ? bounceLines(kind) : []),
    ...(kind.ofFlow ? flowNames[outcome][kind.channel].map((name) => flowCount(name)) : []),
  ];
}
