import type { Queryable } from '../../../platform/db/queryable.ts';
import { balanceSql } from '../money/wallet.ts';
import { type FiguresName, type LimitName, limits, type Limits, type LimitSettings } from './authority.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import type { AccountTier } from './tiers.ts';

/** How much of a limit an account has used. */
export interface Figures {
  limit: number;
  used: number;
  /** Never below 0. */
  remaining: number;
  /** When used places become free again; null: none is used. */
  resetsAt: Date | null;
}

/** What an account may still send. */
export interface Capacity {
  tier: AccountTier;
  figures: Record<FiguresName, Figures>;
  /** The limits that hold or refuse messages of the account now, in the order of the table. */
  reached: LimitName[];
  /** When and why all sending was paused; null: it is not paused. */
  pause: { since: Date; reason: string } | null;
  spendCapMonthlyCents: number | null;
  /** Rounded down. */
  walletBalanceCents: number;
}

/** Whether the account has reached a limit that stops all messages. */
export function isBlocked({ reached }: Capacity): boolean {
  return (limits as Limits).some(
    ({ name, status }) => status?.state === 'blocked' && reached.some((each) => each === name),
  );
}

interface Row {
  id: number;
  tier: Capacity['tier'];
  figures: Record<FiguresName, { limit: number; used: number; remaining: number; resets_at: string | null }>;
  reached: LimitName[];
  sending_paused_at: Date | null;
  sending_paused_reason: string | null;
  spend_cap_monthly_cents: number | null;
  wallet_balance_cents: number;
}

function capacitySql(table: Limits): string {
  const withFigures = table.filter(({ figures }) => figures);
  const figures = withFigures.map(({ name }) => `'${name}', to_jsonb(${name})`);
  const laterals = withFigures.map(
    (limit) => `cross join lateral (${limit.figures?.(settingIn('$2::jsonb'))}) ${limit.name}`,
  );
  const reached = table.flatMap(({ name, status }) =>
    status ? [`case when ${status.reached} then '${name}' end`] : [],
  );
  return `
    select a.id, a.tier, jsonb_build_object(${figures.join(', ')}) as figures,
      array_remove(array[${reached.join(', ')}], null) as reached,
      a.sending_paused_at, a.sending_paused_reason, a.spend_cap_monthly_cents,
      floor(${balanceSql('a')} / 1000.0)::bigint as wallet_balance_cents
    from accounts a ${laterals.join(' ')}
    where a.id = any($1::bigint[])`;
}

const readSql = capacitySql(limits);

function parse({ limit, used, remaining, resets_at }: Row['figures'][FiguresName]): Figures {
  return {
    limit,
    used,
    remaining: Math.max(0, remaining),
    resetsAt: resets_at === null ? null : new Date(resets_at),
  };
}

function capacityOf(row: Row): Capacity {
  const figures = Object.entries(row.figures).map(([name, each]) => [name, parse(each)]);
  return {
    tier: row.tier,
    figures: Object.fromEntries(figures) as Capacity['figures'],
    reached: row.reached,
    pause: row.sending_paused_at && {
      since: row.sending_paused_at,
      reason: row.sending_paused_reason ?? '',
    },
    spendCapMonthlyCents: row.spend_cap_monthly_cents,
    walletBalanceCents: row.wallet_balance_cents,
  };
}

/**
 * Reads what accounts may still send, by the SQL of the limits themselves. It reserves nothing: when a message is
 * accepted or claimed, the limits decide again.
 * @returns capacities by account id; accounts that do not exist are left out
 */
export async function readCapacities(
  client: Queryable,
  accountIds: readonly number[],
  settings: LimitSettings,
): Promise<Map<number, Capacity>> {
  if (accountIds.length === 0) return new Map();
  const { rows } = await client.query<Row>(readSql, [accountIds, JSON.stringify(settings)]);
  return new Map(rows.map((row) => [row.id, capacityOf(row)]));
}

/**
 * Reads what an account may still send, as {@link readCapacities} does.
 * @throws Error if the account does not exist
 */
export async function readCapacity(
  client: Queryable,
  accountId: number,
  settings: LimitSettings,
): Promise<Capacity> {
  const capacity = (await readCapacities(client, [accountId], settings)).get(accountId);
  if (!capacity) throw new Error(`no account ${accountId}`);
  return capacity;
}
