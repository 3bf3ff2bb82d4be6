/** The kinds of messages that a sender records as sent, what a record changes for each, and all ways to record them. */
import type { HandOverOutcome } from '../../src/delivery/terms/hand-over-outcome.ts';
import type { BatchRecord } from '../../src/delivery/ledger/record/record.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { insertContacts } from './contacts.ts';
import { credit } from './money.ts';
import { outcomes } from './outcomes.ts';
import { acceptedBy, type Path, type Waiting, type WaysOut } from './ways-out.ts';

type Channel = 'email' | 'sms';
type SetUp = (db: Database, waiting: Waiting) => Promise<unknown>;

export interface Kind {
  path: Path;
  setUp?: SetUp;
  channel: Channel;
  attempt: 1 | 2;
  /** Whether an earlier attempt without a known outcome has charged it. */
  charged?: true;
  /** Whether it counts nowhere. */
  test?: true;
  /** Names of the counts of its flow. */
  ofFlow?: readonly string[];
  ofBlock?: true;
  /** Whether it has reserved its price in the claim. */
  reservesInClaim?: true;
  /** Whether its recipient is a contact: its row says so, or the record finds it. */
  contact?: 'known' | 'found';
  /** Whether it has reserved a price. */
  paid?: true;
  /** What changes when it is sent, as lines of `rowChanges`. */
  effects: readonly string[];
}

interface Shape {
  attempt?: 1 | 2;
  from?: 'queued' | 'unknown';
  /** Whether its row has the provider from an earlier attempt. */
  known?: boolean;
}

const ofMessage = ({ attempt = 1, from = 'queued', known = attempt === 2 }: Shape = {}): string[] => [
  '- handovers',
  `messages attempt_count: ${attempt - 1} → ${attempt}`,
  ...(known ? [] : ['messages provider: null → relay']),
  'messages provider_message_id: null → id',
  'messages response: null → 250 ok',
  'messages sent_at: null → time',
  `messages sent_attempt: null → ${attempt}`,
  `messages status: ${from} → sent`,
  'messages updated_at: time → time',
];

export const LEAVES_QUEUE = '- send_queue';

export const usage = (channel: Channel, used: 0 | 1, sent: 0 | 1): string => {
  const of = (each: Channel, count: number) => (each === channel ? count : 0);
  return `+ usage_changes month=time ai_used=0 sms_sent=${of('sms', sent)} sms_used=${of('sms', used)} account_id=id email_sent=${of('email', sent)} email_used=${of('email', used)}`;
};

export const stat = (name: string, channel: Channel, source: string): string =>
  `+ stat_changes name=${name} slot=time count=1 source=${source} channel=${channel} brand_id=id`;

const counted = (channel: Channel, source: string, used: 0 | 1 = 1): string[] => [
  ...(channel === 'email'
    ? ['+ account_outcomes hour=time attempted=1 account_id=id complaints=0 hard_bounces=0']
    : []),
  stat('sent', channel, source),
  usage(channel, used, 1),
];

const ofContact = (channel: Channel): string[] => [
  `+ contact_channel_counts channel=${channel} contact_id=id fail_count=0 sent_count=1`,
  ...(channel === 'email'
    ? ['+ contact_engagement kind=0 brand_id=id contact_id=id created_at=time message_id=id']
    : []),
];

export const flowCount = (name: string, change = 1): string =>
  `+ flow_count_changes at=time name=${name} change=${change} flow_id=id step_id=id`;

export const closesBlock = (channel: Channel): string[] => [
  'campaign_blocks closed_at: null → time',
  'campaign_blocks owner: id → null',
  'campaign_blocks reserved: 1 → 0',
  ...(channel === 'email' ? ['campaign_blocks sandbox_reserved: 1 → 0'] : []),
];

const event = (type: string, data: Record<string, unknown>): string[] => {
  const all = JSON.stringify({ to: 'address', tags: {}, subject: 'Hello 0', ...data });
  return [
    `+ events id=id data=${all.replace('"MESSAGE"', 'id')} type=${type} brand_id=id account_id=id created_at=time occurred_at=time`,
    `+ webhook_deliveries id=id test=false type=${type} status=pending event_id=id created_at=time generation=1 webhook_id=id attempt_count=0`,
    '+ webhook_queue event_id=id created_at=time generation=1 webhook_id=id delivery_id=id',
  ];
};

const SENT_EVENT = event('email.sent', { provider: 'relay', message_id: 'MESSAGE' });

const makeContact: SetUp = async ({ pool }, waiting) => {
  await insertContacts(pool, waiting, 1, `a${waiting.accountId}+tag`);
  await pool.query('update accounts set has_contacts = true where id = $1', [waiting.accountId]);
};

const subscribe: SetUp = ({ pool }, { accountId, brandId }) =>
  pool.query(
    `insert into webhooks (account_id, brand_id, url, events, secret_sealed, secret_last4)
     values ($1, $2, 'https://hooks.example.com', '{email.sent}', '', '')`,
    [accountId, brandId],
  );

/** Reserves the price of the message, as POST /messages does. */
const reserve: SetUp = ({ pool }, { accountId, messageId }) =>
  pool.query(
    `with month as (
       insert into account_months (account_id, month, email_units, spent_millicents)
       values ($1, current_month(), 1, 1000)
     ) update send_queue set price_month = current_month(), price_millicents = 1000, price_units = 1
     where message_id = $2`,
    [accountId, messageId],
  );

/** Makes each email of the account cost money when it is claimed. */
const makePay: SetUp = async ({ pool }, waiting) => {
  await pool.query(
    `with price as (
       insert into prices (tier, kind, millicents) values ('paid', 'email', 1000) on conflict do nothing
     ) update accounts set tier = 'paid' where id = $1`,
    [waiting.accountId],
  );
  await credit({ pool }, waiting, 5_000);
};

const email = { channel: 'email', attempt: 1 } as const;
const text = { channel: 'sms', attempt: 1 } as const;
const again = { attempt: 2, from: 'unknown' } as const;
const plainEffects = [...ofMessage(), LEAVES_QUEUE, ...counted('email', 'api')];
const segments = 'messages segments: null → 1';

export const kinds = {
  plain: { ...email, path: 'plain', effects: plainEffects },
  'plain, to a contact': {
    ...{ ...email, path: 'plain', setUp: makeContact, contact: 'found' },
    effects: [...plainEffects, 'messages contact_id: null → id', ...ofContact('email')],
  },
  'plain, with a webhook': {
    ...{ ...email, path: 'plain', setUp: subscribe },
    effects: [...plainEffects, ...SENT_EVENT],
  },
  'plain, paid': { ...email, path: 'plain', setUp: reserve, paid: true, effects: plainEffects },
  letter: { ...email, path: 'letter', effects: plainEffects },
  'letter, paid': { ...email, path: 'letter', setUp: reserve, paid: true, effects: plainEffects },
  'template test': { ...email, path: 'template test', test: true, effects: [...ofMessage(), LEAVES_QUEUE] },
  text: { ...text, path: 'text', effects: [...ofMessage(), LEAVES_QUEUE, ...counted('sms', 'api')] },
  'after a crash': {
    ...{ ...email, path: 'after a crash', attempt: 2, charged: true },
    effects: [...ofMessage(again), LEAVES_QUEUE, ...counted('email', 'api', 0)],
  },
  flow: {
    ...{ ...email, path: 'flow', ofFlow: ['attempted', 'sent'] },
    effects: [
      ...[...ofMessage(), LEAVES_QUEUE, ...counted('email', 'flow'), ...ofContact('email')],
      ...[flowCount('attempted'), flowCount('sent')],
    ],
  },
  'flow after a crash': {
    ...{ ...email, path: 'flow after a crash', attempt: 2, charged: true, ofFlow: ['attempted', 'sent'] },
    effects: [
      ...[...ofMessage(again), LEAVES_QUEUE, ...counted('email', 'flow', 0), ...ofContact('email')],
      ...[flowCount('attempted'), flowCount('resent'), flowCount('sent'), flowCount('unknown', -1)],
    ],
  },
  'flow, paid': {
    ...{
      ...email,
      path: 'flow',
      setUp: makePay,
      reservesInClaim: true,
      paid: true,
      contact: 'known',
      ofFlow: ['attempted', 'sent'],
    },
    effects: [
      ...[...ofMessage(), LEAVES_QUEUE, ...counted('email', 'flow'), ...ofContact('email')],
      ...[flowCount('attempted'), flowCount('sent')],
    ],
  },
  'flow text': {
    ...{ ...text, path: 'flow text', ofFlow: ['sent'], contact: 'known' },
    effects: [
      ...[...ofMessage(), segments, LEAVES_QUEUE, ...counted('sms', 'flow'), ...ofContact('sms')],
      flowCount('sent'),
    ],
  },
  block: {
    ...{ ...email, path: 'block', ofBlock: true, contact: 'known' },
    effects: [
      ...ofMessage(),
      ...closesBlock('email'),
      ...counted('email', 'campaign'),
      ...ofContact('email'),
    ],
  },
  'block of texts': {
    ...{ ...text, path: 'block of texts', ofBlock: true },
    effects: [
      ...[...ofMessage(), segments, ...closesBlock('sms'), ...counted('sms', 'campaign')],
      ...ofContact('sms'),
    ],
  },
  retry: {
    ...{ ...email, path: 'retry', attempt: 2, contact: 'known' },
    effects: [
      ...[...ofMessage({ attempt: 2 }), LEAVES_QUEUE, ...counted('email', 'campaign')],
      ...ofContact('email'),
    ],
  },
  resend: {
    ...{ ...email, path: 'resend', attempt: 2, charged: true },
    effects: [...ofMessage(again), LEAVES_QUEUE, ...counted('email', 'campaign', 0), ...ofContact('email')],
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;

/** What must be recorded in the same transaction, so that another shape of the statement records both. */
interface Companion {
  path: Path;
  setUp?: SetUp;
  outcome: HandOverOutcome | 'accepted';
}

const refused = { path: 'plain', outcome: outcomes.refused } as const;
const flow = { path: 'flow', outcome: 'accepted' } as const;
const retry = { path: 'retry', outcome: 'accepted' } as const;

export const companions: Record<string, readonly Companion[]> = {
  alone: [],
  'beside a refused message': [refused],
  'beside a refused message to a contact': [{ ...refused, setUp: makeContact }],
  'beside a refused paid message': [{ ...refused, setUp: reserve }],
  'beside a flow message': [flow],
  'beside a retry': [retry],
  'beside a flow message and a retry': [flow, retry],
  'beside a paid flow message': [{ ...flow, setUp: makePay }],
};

export const sourceOf = ({ path }: Kind) =>
  path.includes('flow') ? 'flow' : path.includes('block') || path.startsWith('re') ? 'campaign' : 'api';

const without = (lines: readonly string[], ...left: string[]) =>
  lines.filter((line) => !left.some((start) => line.startsWith(start)));

/** What changes if the provider also says that it has delivered the message. */
function deliveredEffects(kind: Kind): string[] {
  return [
    ...kind.effects.map((line) =>
      line.startsWith('messages status:') ? line.replace('→ sent', '→ delivered') : line,
    ),
    'messages delivered_at: null → time',
    ...(kind.test ? [] : [stat('delivered', kind.channel, sourceOf(kind))]),
    ...(kind.ofFlow ? [flowCount('delivered')] : []),
  ];
}

/** Without the record of its sender, a message has neither the provider's response nor its id. */
const unanswered = (lines: readonly string[]) =>
  without(lines, 'messages provider_message_id', 'messages response');

/** It counts only if the record of the second attempt is the first to say what became of an unknown message. */
const RESENT = '+ flow_count_changes at=time name=resent';

/** What changes in addition if the sender was taken for dead before. */
function deathEffects(kind: Kind, lines: readonly string[]): string[] {
  const { attempt, channel } = kind;
  const reason = 'the sender died before the outcome was known';
  const unknown = `+ message_events data=${JSON.stringify({ reason, provider: 'relay' })} type=unknown attempt=${attempt} message_id=id occurred_at=time`;
  if (kind.charged) return [...without(lines, RESENT), unknown];
  const charge =
    '+ unknown_charges month=time units=1 channel=email account_id=id message_id=id millicents=1000';
  return [
    ...without(lines, '+ usage_changes', 'campaign_blocks closed_at'),
    ...[unknown, 'messages unknown_at: null → time'],
    ...(kind.test ? [] : [usage(channel, 1, 0), usage(channel, 0, 1)]),
    ...(kind.ofFlow ? [flowCount('unknown'), flowCount('unknown', -1)] : []),
    ...(kind.ofBlock ? ['campaign_blocks claim_epoch: 1 → 2'] : []),
    ...(kind.reservesInClaim ? [charge] : []),
  ];
}

/** How a message gets from its hand-over to a recorded delivery or hand-over. */
interface Course {
  /** Whether no sender records the message as sent. */
  unrecorded?: true;
  run(
    ways: WaysOut,
    waiting: Waiting,
    batchOf: (outcome: 'sent' | 'delivered') => BatchRecord,
  ): Promise<unknown>;
  effects(kind: Kind): readonly string[];
}

/** A transactional message whose sender died is sent again. */
const waitsAgain = (kind: Kind): string[] => [
  ...without(
    deathEffects(kind, unanswered(kind.effects)),
    ...[LEAVES_QUEUE, 'messages sent_at', 'messages sent_attempt', 'messages status'],
  ),
  ...['messages status: queued → unknown', 'send_queue attempt_count: 0 → 1', 'send_queue owner: id → null'],
];

/** Reports about tests are not believed. */
const reported = (kind: Kind): string[] => (kind.test ? [...kind.effects] : deliveredEffects(kind));
/** The response to a message that a report came before is in its history, not in its row. */
const answered = (kind: Kind, lines: readonly string[]) =>
  kind.test ? lines : without(lines, 'messages response', RESENT);

export const courses: Record<string, Course> = {
  'delivered at once': {
    run: (ways, _waiting, batchOf) => ways.record(batchOf('delivered')),
    effects: (kind) => deliveredEffects(kind),
  },
  'then reported as delivered': {
    async run(ways, waiting, batchOf) {
      await ways.record(batchOf('sent'));
      await ways.report(waiting, 'delivered');
    },
    effects: reported,
  },
  'after a report that it was delivered': {
    async run(ways, waiting, batchOf) {
      await ways.report(waiting, 'delivered');
      await ways.record(batchOf('sent'));
    },
    effects: (kind) => answered(kind, reported(kind)),
  },
  'after a report that it was accepted': {
    async run(ways, waiting, batchOf) {
      await ways.report(waiting, 'accepted');
      await ways.record(batchOf('sent'));
    },
    effects: (kind) => answered(kind, kind.effects),
  },
  'after its sender was taken for dead': {
    async run(ways, _waiting, batchOf) {
      await ways.die();
      await ways.record(batchOf('sent'));
    },
    effects: (kind) => deathEffects(kind, kind.effects),
  },
  'by a report, after its sender died': {
    unrecorded: true,
    async run(ways, waiting) {
      await ways.die();
      await ways.report(waiting, 'delivered');
    },
    effects: (kind) => (kind.test ? waitsAgain(kind) : unanswered(deathEffects(kind, reported(kind)))),
  },
};

/** Hands over what is recorded beside the message. */
export async function handOverCompanions(
  db: Database,
  ways: WaysOut,
  beside: readonly Companion[],
): Promise<BatchRecord[]> {
  const batches: BatchRecord[] = [];
  for (const { path, setUp, outcome } of beside) {
    const waiting = await ways.write(path);
    await setUp?.(db, waiting);
    const batchOf = await ways.handOver(path, waiting);
    batches.push(batchOf((message) => (outcome === 'accepted' ? acceptedBy(message) : outcome)));
  }
  return batches;
}
