import {
  domainSignals,
  domainWorkflowId,
  watchDomainType,
  type WatchDomainInput,
} from '../../../workflows/domains/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** The domain that a workflow watches. */
export type WatchedDomain = RowOfWorkflow;

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
export const domainSource = workflowsOfTable<WatchedDomain>({
  name: 'domain',
  table: 'domains',
  start: watchStart,
});
