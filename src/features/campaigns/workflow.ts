import {
  campaignSignals,
  campaignType,
  campaignWorkflowId,
  type CampaignInput,
} from '../../../workflows/campaigns/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** A campaign that needs its workflow. */
export interface RunningCampaign extends RowOfWorkflow {
  name: string;
}

/** Names of campaigns are cut, because a workflow's summary is one short line. */
const MAX_NAME = 80;

/** Describes the workflow `campaign/<id>`, so that it can be started from the row alone. */
export function campaignStart({ id, accountId, brandId, name }: RunningCampaign): WorkflowStart {
  const input: CampaignInput = { schema: 1, campaignId: id, accountId };
  return {
    workflowType: campaignType,
    workflowId: campaignWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId, CampaignId: id },
    summary: `Campaign ${id} '${name.slice(0, MAX_NAME)}' of brand ${brandId}`,
    details: `Campaign ${id} (account ${accountId}, brand ${brandId}): waits for its time and an approval, writes its recipients in pages, and watches while the senders send to them. The signals \`pause\`, \`resume\` and \`cancel\` do what the requests of the API do.`,
  };
}

/** Signals the workflow that its row changed. Starts the workflow if it is not running. */
export function campaignWake(campaign: RunningCampaign): OutboxEntry {
  return { kind: 'signal_with_start', ...campaignStart(campaign), signal: campaignSignals.wake };
}

/** A campaign needs its workflow `campaign/<id>` from its send to its end. */
export const campaignSource = workflowsOfTable<RunningCampaign>({
  name: 'campaign',
  table: 'campaigns',
  columns: ['name'],
  start: campaignStart,
});
