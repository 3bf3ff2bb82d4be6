/**
 * Reserves money for messages before they are written: each message that costs something takes its price from the month
 * and the wallet of its account. For POST /messages, the statement with {@link PRICED_EMAILS}, or the more general one
 * with {@link PRICED}, does everything if the accounts can pay for all messages of a group. Otherwise these steps run
 * in one transaction and refuse the messages that do not fit: {@link lockMonths}, the idempotency keys,
 * {@link readMessageFunds}, {@link fitInto}, and the statement with {@link RESERVED}. Replies to HELP and tests of
 * templates are written one at a time, with {@link reserveFor}.
 */
import { isPaidByMessage, paidByMessageSql, paidBySegmentSql } from '../../terms/units.ts';
import { AppError, invalid } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import type { LimitSettings } from '../limits/authority.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import { capSql, freeEmailsSql, raiseMonthsSql, spentSql } from '../limits/money.ts';
import { spendCap } from '../limits/spend-cap.ts';
import { wallet } from '../limits/wallet.ts';
import type { Channel } from '../../terms/message.ts';
import { emailPriceSql, monthlyEmailsSql, paysSql, smsPriceSql } from '../money/prices.ts';
import { balanceSql } from '../money/wallet.ts';
import type { Addition } from './write-statement.ts';

/** The SQL state raised if a message that costs something is written without a reservation. */
const UNRESERVED = 'CL002';

/**
 * Refuses messages that cost something: they need a reservation, which the statement without {@link RESERVED} does
 * not make.
 */
export const UNPRICED: Addition = {
  name: 'unpriced',
  fields: {},
  admit: {
    condition: `case when a.kind = 'customer' and not a.comped and not i.test and exists (
          select from prices p
          where p.tier = a.tier and p.kind = i.channel and (p.kind = 'sms' or p.millicents > 0))
        then refuse_unreserved(a.id) else true end`,
  },
};

/** Whether an error is the refusal of {@link UNPRICED}. */
export const isUnreserved = (error: unknown): boolean => (error as { code?: string }).code === UNRESERVED;

/** What a message reserves, as columns of its queue row. */
export interface Reserved {
  /** The first day of the month, `YYYY-MM-DD`. */
  price_month: string;
  price_millicents: number;
  /** Number of emails or segments. */
  price_units: number;
}

/** Reserves in the months of the accounts. Messages that cost something have the fields of {@link Reserved}. */
export const RESERVED: Addition = {
  name: 'reserved',
  fields: { price_month: 'date', price_millicents: 'bigint', price_units: 'smallint' },
  queue: ['price_month', 'price_millicents', 'price_units'],
  follow: `reserved as (${raiseMonthsSql(`
        select account_id, price_month, coalesce(sum(price_units) filter (where ${paidByMessageSql('channel')}), 0),
          count(*) filter (where ${paidByMessageSql('channel')} and price_millicents = 0),
          coalesce(sum(price_units) filter (where ${paidBySegmentSql('channel')}), 0), sum(price_millicents)
        from accepted where price_month is not null group by 1, 2 order by 1, 2`)})`,
};

/** The SQL state raised if an account cannot pay for all of its messages in a group. */
const BEYOND_PURSE = 'CL003';

/**
 * SQL: the messages in `admitted` with their units, the price of a unit, and their position among the account's
 * messages of the channel. The figures of the account come from the CTE `purses`.
 */
const unitsSql = `
        select w.*, u.month, u.free, case when ${paidByMessageSql('w.channel')} then 1 else coalesce(w.segments, 1) end as units,
          case when u.exempt then 0 when ${paidBySegmentSql('w.channel')} then ${smsPriceSql('w', 'w.to_key')} else u.email_price end as price,
          row_number() over (partition by w.account_id, w.channel order by w.id) as nth
        from admitted w join purses u on u.account_id = w.account_id`;

/**
 * Reserves in the months of the accounts, at current prices, if the accounts can pay for all messages. Refuses all
 * messages if one account cannot pay or has no month yet, or if an email turns out to cost nothing: see
 * {@link accountBeyondPurse}.
 */
export const PRICED: Addition = {
  ...RESERVED,
  name: 'priced',
  fields: {},
  first: {
    name: 'purses',
    sql: (settings) => `
      select l.account_id, l.month, a.comped or a.kind <> 'customer' as exempt, ${emailPriceSql('a')} as email_price,
        greatest(0, ${monthlyEmailsSql('a', settingIn(settings))} - l.free_units) as free,
        least(${capSql} - l.spent_millicents, l.balance_millicents) as left_over
      from lock_purses((select array_agg(distinct account_id) from given)) l join accounts a on a.id = l.account_id`,
  },
  extend: `
      select p.*, case when price > 0 then month end as price_month, case when price > 0 then units end as price_units,
        case when price > 0 then case when ${paidByMessageSql('channel')} and nth <= free then 0 else price * units end end
          as price_millicents
      from (${unitsSql}) p`,
  refuse: {
    accountColumns: ['tier'],
    name: 'beyond_purse',
    sql: `
      select refuse_beyond_purse(u.account_id) as refused
      from purses u join (
        select account_id, sum(price_millicents) as cost, bool_or(price is null or price = 0 and ${paidByMessageSql('channel')}) as unsure
        from accepted group by 1) w on w.account_id = u.account_id
      where w.unsure or w.cost > 0 and w.cost > u.left_over`,
  },
};

export const reserveEmails = defineFunction(import.meta.url, './reserve_emails.sql', {
  table: settingIn('settings'),
  regions: { monthly_emails: (setting) => monthlyEmailsSql('a', setting) },
});

/**
 * Does the same as {@link PRICED} for emails of one account, in half the time. It also refuses all of them if only some
 * of them cost nothing, or if a validation has reserved money.
 */
export const PRICED_EMAILS: Addition = {
  name: 'priced_emails',
  fields: {},
  queue: Object.keys(RESERVED.fields),
  first: {
    name: 'purse',
    sql: (settings) => `
      select g.account_id, g.emails, r.price_month, r.price_millicents, 1 as price_units
      from (select min(account_id) as account_id, count(*)::int as emails from given) g
      cross join lateral ${reserveEmails.name}(g.account_id, g.emails, ${settings}) r`,
    columns: Object.keys(RESERVED.fields),
  },
};

/** The same for emails with keys. It also refuses all of them if one repeats an earlier request, which is free. */
export const PRICED_NEW_EMAILS: Addition = {
  ...PRICED_EMAILS,
  name: 'priced_new_emails',
  refuse: {
    accountColumns: [],
    name: 'repeated',
    sql: `
      select refuse_beyond_purse(account_id) as refused from purse
      where emails > (select count(*) from accepted)`,
  },
};

/** The account for which {@link PRICED} or one of its variants refused the messages; null for another error. */
export function accountBeyondPurse(error: unknown): number | null {
  const { code, detail } = error as { code?: string; detail?: string };
  return code === BEYOND_PURSE ? Number(detail) : null;
}

/** Locks the month and the wallet of each account that pays, in the order that all statements keep. */
export async function lockMonths(trx: Queryable, accountIds: readonly number[]): Promise<void> {
  await trx.query({
    name: 'lock_months',
    text: 'select lock_months($1)',
    values: [[...new Set(accountIds)]],
  });
}

/** A message that is to be accepted. */
interface Asking {
  id: number;
  account_id: number;
  channel: Channel;
  to_key: string;
  segments?: number | null | undefined;
}

/** What an account may spend, in millicents, and what one of its messages costs. */
interface MessageFunds {
  /** Id of the message. */
  id: number;
  accountId: number;
  month: string;
  /** Price of an email or a segment. 0: it costs nothing; null: texts to its country are not sent. */
  price: number | null;
  /** Number of emails that cost nothing. */
  free: number;
  /** Null: no cap. */
  cap: number | null;
  funds: number;
}

const messageFundsSql = `
  with asking as (
    select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) as i (id, account_id, channel, to_key)
  ), purse as materialized (
    select a.id, a.tier, pays, current_month() as month, case when pays then ${freeEmailsSql(settingIn('$5::jsonb'))} else 0 end as free,
      case when pays then ${capSql} - ${spentSql} end as cap, case when pays then ${balanceSql('a')} else 0 end as funds
    from accounts a cross join lateral (select ${paysSql('a')} as pays offset 0) p
    where a.id = any($2)
  )
  select i.id, i.account_id as "accountId", u.month::text, u.free::int, u.cap, u.funds,
    case when a.comped or a.kind <> 'customer' then 0 when ${paidBySegmentSql('i.channel')} then ${smsPriceSql('a', 'i.to_key')}
      when u.pays then ${emailPriceSql('a')} else 0 end as price
  from asking i join purse u on u.id = i.account_id join accounts a on a.id = u.id`;

export const messageFundsStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'readMessageFunds',
  does: 'Reads what messages cost and what their accounts may spend.',
  parameters: [
    'bigint[]: the messages',
    'bigint[]: their accounts',
    'text[]: their channels',
    'text[]: the keys of their addresses',
    'jsonb: the settings of the limits',
  ],
  shapes: { read_purses: {} },
  compose: () => messageFundsSql,
});

/** Reads what the messages cost and what their accounts may spend. The months must be locked. */
export async function readMessageFunds(
  trx: Queryable,
  messages: readonly Asking[],
  settings: LimitSettings,
): Promise<Map<number, MessageFunds>> {
  const { rows } = await trx.query<MessageFunds>({
    ...messageFundsStatement.prepared('read_purses'),
    values: [
      messages.map(({ id }) => id),
      messages.map(({ account_id }) => account_id),
      messages.map(({ channel }) => channel),
      messages.map(({ to_key }) => to_key),
      JSON.stringify(settings),
    ],
  });
  return new Map(rows.map((found) => [found.id, found]));
}

const refusal = ({ code, message }: { code: AppError['code']; message: string }) =>
  new AppError(code, message);

/** What an account has left, while its messages are decided one after another. */
type Left = Pick<MessageFunds, 'free' | 'cap' | 'funds'>;

function fit(
  { channel, segments }: Asking,
  { price, month }: MessageFunds,
  left: Left,
): Reserved | AppError | null {
  if (price === null) {
    return invalid({ to: ['is in a country that the account has no price for'] });
  }
  if (price === 0) return null;
  const isFree = isPaidByMessage(channel) && left.free > 0;
  const units = isPaidByMessage(channel) ? 1 : (segments ?? 1);
  const cost = isFree ? 0 : price * units;
  if (cost > 0 && left.cap !== null && cost > left.cap) return refusal(spendCap.refusal);
  if (cost > 0 && cost > left.funds) return refusal(wallet.refusal);
  if (isFree) left.free -= 1;
  if (left.cap !== null) left.cap -= cost;
  left.funds -= cost;
  return { price_month: month, price_millicents: cost, price_units: units };
}

/**
 * Decides which messages their accounts can pay for, in the order of their ids: each message that still fits is
 * accepted.
 * @returns what each message reserves (null: it costs nothing), or its error: validation_error, spend_cap_reached or
 *   insufficient_funds
 */
export function fitInto<Message extends Asking>(
  messages: readonly Message[],
  funds: ReadonlyMap<number, MessageFunds>,
): Map<Message, Reserved | AppError | null> {
  const left = new Map<number, Left>();
  const ordered = messages.toSorted((one, other) => one.id - other.id);
  return new Map(
    ordered.map((message) => {
      const found = funds.get(message.id);
      // The account does not exist, so the statement does not write the message.
      if (!found) return [message, null];
      const own = left.get(found.accountId) ?? { ...found };
      left.set(found.accountId, own);
      return [message, fit(message, found, own)];
    }),
  );
}

/**
 * Decides what messages reserve that the caller then writes in the same transaction, with {@link RESERVED}. The months
 * of their accounts stay locked until it ends, so what they have left does not change.
 * @returns as {@link fitInto}
 */
export async function reserveFor<Message extends Asking>(
  trx: Queryable,
  messages: readonly Message[],
  settings: LimitSettings,
): Promise<Map<Message, Reserved | AppError | null>> {
  await lockMonths(
    trx,
    messages.map(({ account_id: accountId }) => accountId),
  );
  return fitInto(messages, await readMessageFunds(trx, messages, settings));
}
