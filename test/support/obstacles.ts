/**
 * What can keep a message from leaving: every limit, pause, consent rule and refusal, with what becomes of the message on
 * each path. The types require a row for each limit, hold reason and refusal, and a family for each path.
 */
import type { HoldReason, LimitName } from '../../src/delivery/ledger/limits/authority.ts';
import { holdUnavailable } from '../../src/delivery/sender/failover/reroute.ts';
import { holdUnavailableBlocks } from '../../src/delivery/sender/failover/reroute-blocks.ts';
import { BLOCKS_CLASS, type Backlog } from '../../src/delivery/terms/backlog.ts';
import { optOutHashes } from '../../src/delivery/ledger/consent/opt-outs.ts';
import { recordUnappliedOptOut } from '../../src/delivery/ledger/consent/unapplied-opt-outs.ts';
import type { BlockHoldReason } from '../../src/delivery/ledger/limits/block-limits.ts';
import type { FailureCode, MessageStatus } from '../../src/delivery/terms/message.ts';
import type { CampaignRefusal } from '../../src/delivery/ledger/intend/batch.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { limitSituations, NO_PRICE } from './limit-situations.ts';
import type { Path, Waiting } from './ways-out.ts';
import { testKeyring } from './webhooks.ts';

/** Obstacles that are neither limits nor refusals of campaigns and flows. */
type Further = 'nothing' | 'suppressed_with_other_tag' | 'suppression_ended' | 'opt_out_unapplied';

export type Obstacle = LimitName | HoldReason | CampaignRefusal | Further;

/** What becomes of a message: it leaves, waits (with the reason of a held block), is held, or ends in a state. */
export type Fate =
  | 'leaves'
  | 'waits'
  | `waits: ${BlockHoldReason}`
  | `held: ${HoldReason}`
  | MessageStatus
  | `${MessageStatus}: ${FailureCode}`;

/** Why a case cannot occur. */
interface Impossible {
  never: string;
}

/** What happens if the obstacle comes before the claim, and if it comes between the claim and the intent. */
interface Cell {
  before: Fate | Impossible;
  between: Fate | Impossible;
}

/** Paths on which most obstacles have the same effect. */
type Family = 'transactional' | 'uncertain' | 'flow' | 'flow again' | 'block' | 'retry' | 'resend' | 'test';

export const families: Record<Path, Family> = {
  general: 'transactional',
  plain: 'transactional',
  reply: 'transactional',
  'template test': 'transactional',
  letter: 'transactional',
  'rerouted letter': 'transactional',
  rerouted: 'transactional',
  text: 'transactional',
  'after a crash': 'uncertain',
  flow: 'flow',
  'flow reply': 'flow',
  'rerouted flow': 'flow',
  'flow text': 'flow',
  'flow after a crash': 'flow again',
  'flow resend': 'flow again',
  'test run': 'test',
  block: 'block',
  'rerouted block': 'block',
  'block of texts': 'block',
  retry: 'retry',
  resend: 'resend',
};

interface Row {
  apply(db: Database, waiting: Waiting, backlog: Backlog): Promise<unknown>;
  cells: Record<Exclude<Family, 'test'>, Cell>;
  /** Whether tags are ignored when addresses are compared. */
  plusAddresses?: true;
  /** Paths that differ from their family. */
  but?: Partial<Record<Path, Partial<Cell>>>;
}

const never = (reason: string): Impossible => ({ never: reason });
const cell = (before: Fate | Impossible, between: Fate | Impossible = before): Cell => ({ before, between });

const LEAVES = cell('leaves');
/** The limits that hold, which the check before hand-over does not ask again: the claim has reserved a place. */
const counted = (fate: Fate): Cell => cell(fate, 'leaves');
const NOT_QUEUED = cell(never('it has no queue row, and so no age'));
const NO_FLOW = cell(never('it belongs to no flow'));
const NO_CAMPAIGN = cell(never('it belongs to no campaign'));
const NO_CONTACT = cell('leaves');

/** Only recipients of flows and campaigns are contacts, whose consent counts. */
const skipped = (code: FailureCode): Row['cells'] => ({
  transactional: NO_CONTACT,
  uncertain: NO_CONTACT,
  flow: cell(`skipped: ${code}`),
  'flow again': cell(`unknown: ${code}`),
  block: cell(`skipped: ${code}`),
  retry: cell(`skipped: ${code}`),
  resend: cell(`unknown: ${code}`),
});

const everywhere = (of: Cell): Row['cells'] => ({
  ...{ transactional: of, uncertain: of, flow: of, 'flow again': of, block: of, retry: of, resend: of },
});

const sql =
  (text: string): Row['apply'] =>
  ({ pool }, { accountId }) =>
    pool.query(text, [accountId]);

const limit = (name: LimitName, cells: Row['cells'], but?: Row['but']): Row => ({
  apply: sql(limitSituations[name]),
  cells,
  ...(but ? { but } : {}),
});

const expiresAs = (code: FailureCode): Row['cells'] => ({
  ...everywhere(cell(`failed: ${code}`)),
  uncertain: cell(`unknown: ${code}`),
  'flow again': cell(`unknown: ${code}`),
  block: NOT_QUEUED,
  resend: cell(`unknown: ${code}`),
});

const suppressions = (fates: { transactional: Fate; uncertain: Fate; skipped: Fate }): Row['cells'] => ({
  transactional: cell(fates.transactional),
  uncertain: cell(fates.uncertain),
  flow: cell(fates.skipped),
  'flow again': cell(fates.uncertain),
  block: cell(fates.skipped),
  retry: cell(fates.skipped),
  resend: cell(fates.uncertain),
});

const SUPPRESSED = suppressions({
  transactional: 'failed: suppressed',
  uncertain: 'unknown: suppressed',
  skipped: 'skipped: suppressed',
});

export const obstacles: Record<Obstacle, Row> = {
  nothing: { apply: () => Promise.resolve(), cells: everywhere(LEAVES) },
  gone: limit('gone', everywhere(cell('canceled'))),
  expired: limit('expired', expiresAs('expired')),
  spend_cap_end: limit('spend_cap_end', expiresAs('spend_cap_reached')),
  wallet_end: limit('wallet_end', expiresAs('insufficient_funds')),
  domain_deleted: limit('domain_deleted', {
    ...everywhere(cell('failed: sender_rejected')),
    uncertain: cell('unknown: sender_rejected'),
    'flow again': cell('unknown: sender_rejected'),
    block: cell('waits: domain_unverified'),
    resend: cell('unknown: sender_rejected'),
  }),
  domain_unverified: limit('domain_unverified', {
    ...everywhere(cell('held: domain_unverified')),
    'flow again': cell('waits'),
    block: cell('waits: domain_unverified'),
    resend: cell('waits'),
  }),
  account_paused: limit('account_paused', {
    ...everywhere(cell('held: account_paused')),
    'flow again': cell('waits'),
    block: cell('waits: account_paused'),
    resend: cell('waits'),
  }),
  warm_up: limit(
    'warm_up',
    {
      ...everywhere(LEAVES),
      flow: counted('held: warm_up'),
      block: counted('waits: warm_up'),
      resend: counted('waits'),
    },
    { 'flow resend': counted('waits') },
  ),
  pacing: limit(
    'pacing',
    {
      ...everywhere(LEAVES),
      flow: counted('held: pacing'),
      block: counted('waits: pacing'),
      resend: counted('waits'),
    },
    { 'flow resend': counted('waits') },
  ),
  allowance: limit(
    'allowance',
    {
      ...everywhere(LEAVES),
      transactional: counted('held: allowance'),
      flow: counted('held: allowance'),
      block: counted('waits: allowance'),
      // The first attempt has kept its place, but a resend takes another.
      resend: counted('waits'),
    },
    { 'flow resend': counted('waits') },
  ),
  sandbox_cap: limit(
    'sandbox_cap',
    { ...everywhere(LEAVES), block: counted('waits: sandbox_cap') },
    { 'block of texts': LEAVES },
  ),
  spend_cap: limit(
    'spend_cap',
    {
      ...everywhere(LEAVES),
      flow: counted('held: spend_cap'),
      block: counted('waits: spend_cap'),
      retry: counted('held: spend_cap'),
    },
    // Texts cost this tier nothing. A repetition reserves its price again.
    { 'flow after a crash': counted('waits'), 'flow text': LEAVES, 'block of texts': LEAVES },
  ),
  wallet: limit(
    'wallet',
    {
      ...everywhere(LEAVES),
      flow: counted('held: wallet'),
      block: counted('waits: wallet'),
      retry: counted('held: wallet'),
    },
    { 'flow after a crash': counted('waits') },
  ),
  suppressed: limit('suppressed', SUPPRESSED),
  content_missing: limit('content_missing', {
    ...everywhere(LEAVES),
    transactional: cell('failed: content_rejected'),
    uncertain: cell('unknown: content_rejected'),
  }),
  provider_unavailable: {
    apply: ({ pool }, _waiting, backlog) =>
      backlog.class === BLOCKS_CLASS ? holdUnavailableBlocks(pool, backlog) : holdUnavailable(pool, backlog),
    cells: {
      ...everywhere(cell('held: provider_unavailable', never('a sender that claims has the provider'))),
      block: cell('waits: provider_unavailable', never('a sender that claims has the provider')),
      // Messages that may have been sent are not held.
      uncertain: cell('leaves', never('a sender that claims has the provider')),
      'flow again': cell('leaves', never('a sender that claims has the provider')),
      resend: cell('leaves', never('a sender that claims has the provider')),
    },
  },
  provider_cannot_take: {
    apply: async ({ pool }, { accountId }) => {
      await pool.query(
        'insert into provider_sizes (provider_id, max_bytes) values (0, 1000000) on conflict do nothing',
      );
      await pool.query('update letters set wire_bytes = 1000001 where account_id = $1', [accountId]);
    },
    cells: everywhere(LEAVES),
    but: {
      letter: cell('held: provider_cannot_take'),
      'rerouted letter': cell('held: provider_cannot_take'),
    },
  },
  campaign_stopped: {
    apply: sql(`update campaigns set status = 'paused' where account_id = $1`),
    cells: {
      ...everywhere(NO_CAMPAIGN),
      block: cell('waits'),
      retry: cell('waits'),
      resend: cell(never('only campaigns that have ended are resent, and these cannot be paused')),
    },
  },
  flow_stopped: {
    apply: sql(`update flows set status = 'paused' where account_id = $1`),
    cells: { ...everywhere(NO_FLOW), flow: cell('waits'), 'flow again': cell('waits') },
  },
  flow_ended: {
    apply: sql(`update flows set status = 'archived' where account_id = $1`),
    cells: {
      ...everywhere(NO_FLOW),
      flow: cell('canceled: canceled'),
      'flow again': cell('unknown: canceled'),
    },
  },
  unsubscribed: {
    apply: sql(
      'update contacts set email_subscribed = false, phone_subscribed = false where account_id = $1',
    ),
    cells: skipped('unsubscribed'),
  },
  contact_deleted: {
    apply: sql('delete from contacts where account_id = $1'),
    cells: skipped('contact_deleted'),
  },
  no_address: {
    apply: sql(
      `update contacts set email = 'new-' || email, email_key = 'new-' || email_key, phone = overlay(phone placing '9' from 8)
       where account_id = $1`,
    ),
    cells: skipped('no_address'),
  },
  no_price: {
    apply: sql(NO_PRICE),
    cells: everywhere(LEAVES),
    but: { 'flow text': cell('skipped: no_price'), 'block of texts': cell('skipped: no_price') },
  },
  opt_out_unapplied: {
    apply: ({ pool }, waiting) => optOut(pool, waiting),
    cells: skipped('unsubscribed'),
  },
  suppressed_with_other_tag: {
    plusAddresses: true,
    apply: sql(
      `insert into suppressions (account_id, address_key, reason)
       select account_id, replace(to_key, '+tag', '+other'), 'manual' from messages where account_id = $1`,
    ),
    cells: SUPPRESSED,
  },
  suppression_ended: {
    apply: sql(
      `insert into suppressions (account_id, address_key, reason, expires_at)
       select account_id, to_key, 'manual', now() - interval '1 second' from messages where account_id = $1`,
    ),
    cells: everywhere(LEAVES),
  },
};

async function optOut(pool: Database['pool'], waiting: Waiting): Promise<void> {
  const { accountId, brandId, channel, messageId } = waiting;
  const { rows } = await pool.query<{ to: string }>('select to_address as "to" from messages where id = $1', [
    messageId,
  ]);
  const [hash] = optOutHashes(testKeyring, { brandId, channel, address: rows[0]?.to ?? '' });
  const recipients = { accountId, brandId, channel, messageId: null, source: 'one_click' } as const;
  if (hash) await inTransaction(pool, (trx) => recordUnappliedOptOut(trx, hash, recipients));
}

/** When the obstacle comes. */
export type Moment = keyof Cell;

export const moments: readonly Moment[] = ['before', 'between'];

/** What has to become of a message on the path; null: the case cannot occur. */
export function expectedFate(obstacle: Obstacle, path: Path, moment: Moment): Fate | null {
  const { cells, but } = obstacles[obstacle];
  const family = families[path];
  // A run of a test gives the provider nothing: its message has an outcome from the start.
  if (family === 'test') return moment === 'before' && obstacle !== 'gone' ? 'delivered' : null;
  if (path === 'plain' && moment === 'between') return null;
  const fate = but?.[path]?.[moment] ?? cells[family][moment];
  return typeof fate === 'string' ? fate : null;
}

/**
 * What has become of messages, in their order.
 * @param timesOf how often the provider got a message
 */
export async function fatesOf<Message extends Pick<Waiting, 'messageId'>>(
  { pool }: Database,
  waiting: readonly Message[],
  timesOf: (waiting: Message) => number,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: number; fate: string }>(
    `select m.id, case
       when m.status = 'held' then 'held: ' || coalesce(m.hold ->> 'reason', '?')
       when q.message_id is not null or m.status = 'queued' and b.n is not null
         then concat_ws(': ', case when q.owner is null and b.owner is null then 'waits' else 'claimed' end, b.hold_reason)
       else concat_ws(': ', m.status, m.failure ->> 'code') end as fate
     from messages m left join send_queue q on q.message_id = m.id
     left join campaign_blocks b on b.campaign_id = m.campaign_id and m.id between b.first_id and b.last_id
       and b.closed_at is null and q.message_id is null
     where m.id = any($1)`,
    [waiting.map(({ messageId }) => messageId)],
  );
  const fates = new Map(rows.map(({ id, fate }) => [id, fate]));
  return waiting.map((each) => {
    const fate = fates.get(each.messageId) ?? 'no message';
    const times = timesOf(each);
    if (times === 0) return fate;
    return times === 1 && fate === 'sent' ? 'leaves' : `leaves ${times} times, ${fate}`;
  });
}
