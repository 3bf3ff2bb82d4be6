import {
  type ScrapeBrandInput,
  scrapeBrandType,
  scrapeSignals,
  scrapeWorkflowId,
} from '../../../../workflows/brands/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../../platform/temporal/contract.ts';

/** Describes the workflow `brand-scrape/<brand>`, so that it can be started from the row of any scrape of the brand. */
export function scrapeStart({ accountId, brandId }: RowOfWorkflow): WorkflowStart {
  const input: ScrapeBrandInput = { schema: 1, brandId, accountId };
  return {
    workflowType: scrapeBrandType,
    workflowId: scrapeWorkflowId(brandId),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Scrape for brand ${brandId}`,
    details: `Reads a website for brand ${brandId} (account ${accountId}) and fills the brand with what it finds, in one update at its end. A newer scrape of the brand replaces one that runs.`,
  };
}

/** Starts the workflow for a new scrape, or makes the running one interrupt its older scrape. */
export function scrapeWake(row: RowOfWorkflow): OutboxEntry {
  return {
    kind: 'signal_with_start',
    ...scrapeStart(row),
    signal: scrapeSignals.scrape,
    signalInput: [row.id],
  };
}

/** An unfinished scrape needs the workflow of its brand. */
export const scrapeSource = workflowsOfTable({
  name: 'brand scrape',
  table: 'brand_scrapes',
  start: scrapeStart,
});
