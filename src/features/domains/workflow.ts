import {
  domainSignals,
  domainWorkflowId,
  watchDomainType,
  type WatchDomainInput,
} from '../../../workflows/domains/contract.ts';
import type { WorkflowSource } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** The domain that a workflow watches. */
export interface WatchedDomain {
  id: number;
  accountId: number;
  brandId: number;
}

/** Describes the workflow `domain/<id>`, so that it can be started from the row alone. */
export function watchStart({ id, accountId, brandId }: WatchedDomain): WorkflowStart {
  const input: WatchDomainInput = { schema: 1, domainId: id, accountId };
  return {
    workflowType: watchDomainType,
    workflowId: domainWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Domain ${id} of brand ${brandId}`,
    details: `Checks the DNS records of sending domain ${id} (account ${accountId}, brand ${brandId}) for as long as it exists: often until it is verified, then every six hours. When it verifies, releases the mail that waited for it.`,
  };
}

/** Signals the workflow that its row changed. Starts the workflow if it is not running. */
export function watchWake(domain: WatchedDomain): OutboxEntry {
  return { kind: 'signal_with_start', ...watchStart(domain), signal: domainSignals.wake };
}

/** Every domain needs its workflow `domain/<id>`. */
export const domainSource: WorkflowSource = {
  name: 'domain',
  async overdue(client, asOf, limit) {
    const { rows } = await client.query<WatchedDomain>(
      `select id, account_id as "accountId", brand_id as "brandId" from domains
       where engine_expected_by <= $1 order by engine_expected_by limit $2`,
      [asOf, limit],
    );
    return rows.map((row) => ({ rowId: row.id, start: watchStart(row) }));
  },
  async postpone(client, rowIds, until) {
    await client.query(
      'update domains set engine_expected_by = $2 where id = any($1::bigint[]) and engine_expected_by < $2',
      [rowIds, until],
    );
  },
  async expectNow(client, asOf, limit) {
    const { rowCount } = await client.query(
      `update domains set engine_expected_by = $1 where id = any (array(
         select id from domains where engine_expected_by > $1 limit $2))`,
      [asOf, limit],
    );
    return rowCount ?? 0;
  },
};
