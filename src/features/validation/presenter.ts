import { MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import type { OperationRow } from './model.ts';
import type { Operation } from './schema.ts';

/** Exact, with up to three decimals. */
export const centsOf = (millicents: number): number => millicents / MILLICENTS_PER_CENT;

/** Number of items with a result. */
export const checkedCount = (row: OperationRow): number =>
  row.deliverable_count + row.undeliverable_count + row.risky_count + row.unknown_count;

export function presentOperation(row: OperationRow): Operation {
  const { price_millicents: price } = row;
  return {
    id: row.id,
    status: row.status,
    audience: { kind: row.audience_kind, ids: row.shown_ids, ids_count: row.ids_count },
    candidate_count: row.candidate_count,
    remaining_count: row.candidate_count - checkedCount(row),
    counts: {
      deliverable: row.deliverable_count,
      undeliverable: row.undeliverable_count,
      risky: row.risky_count,
      unknown: row.unknown_count,
    },
    unit_price_cents: centsOf(price),
    maximum_charge_cents: centsOf(row.chargeable_count * price),
    charged_cents: centsOf(row.charged_count * price),
    // An operation exists only if its maximum charge could be reserved.
    funding_state: 'funded',
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
