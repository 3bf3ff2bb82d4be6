import { MILLICENTS_PER_CENT } from '../../delivery/wallet.ts';
import type { OperationRow, VerdictCounts } from './model.ts';
import type { Operation } from './schema.ts';

/** Exact, with up to three decimals. */
export const centsOf = (millicents: number): number => millicents / MILLICENTS_PER_CENT;

/** The counts that an operation has kept at its end; null: its items must be counted. */
export function keptCounts(row: OperationRow): VerdictCounts | null {
  const { deliverable_count: deliverable, undeliverable_count: undeliverable } = row;
  const { risky_count: risky, unknown_count: unknown } = row;
  if (deliverable === null || undeliverable === null || risky === null || unknown === null) return null;
  return { deliverable, undeliverable, risky, unknown };
}

export function presentOperation(row: OperationRow, counts: VerdictCounts): Operation {
  const checked = counts.deliverable + counts.undeliverable + counts.risky + counts.unknown;
  const { price_millicents: price } = row;
  return {
    id: row.id,
    status: row.status,
    audience: { kind: row.audience_kind, ids: row.shown_ids, ids_count: row.ids_count },
    candidate_count: row.candidate_count,
    remaining_count: row.candidate_count - checked,
    counts,
    unit_price_cents: centsOf(price),
    maximum_charge_cents: centsOf(row.chargeable_count * price),
    charged_cents: centsOf(row.charged_count * price),
    // An operation exists only if its maximum could be reserved.
    funding_state: 'funded',
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
