import type { CampaignState } from './contract.ts';

const waits: Readonly<Record<string, string>> = {
  schedule: 'waits for its time',
  approval: 'waits for approval',
  snapshot: 'looks for its recipients',
  allowance: 'waits for allowance',
  throttle: 'waits for its throttle',
  provider: 'waits for its provider',
  retries: 'waits for retries',
  local_time: 'waits for the local time of its recipients',
  ab_winner: 'waits for the winner of its A/B test',
  domain_unverified: 'waits for the verification of its domain',
  account_paused: 'waits for its account, which is paused,',
  wallet: 'waits for funds',
  spend_cap: 'waits for the spend cap',
  sandbox: 'waits for sends of the sandbox',
  resume: 'is paused',
};

const number = (value: number) => value.toLocaleString('en-US');

function activityOf({ status, outcome, waitingFor, until }: CampaignState): string {
  if (status === 'completed') return outcome === null ? 'has ended' : `has ended: ${outcome}`;
  if (status === 'draft') return 'is a draft again';
  if (waitingFor === null) return 'is being sent';
  return `${waits[waitingFor] ?? `waits for ${waitingFor}`}${until === null ? '' : ` until ${until}`}`;
}

/** Describes the campaign in Markdown, for an operator. */
export function describeCampaign(state: CampaignState): string {
  const { counts, title, phase, cursor, maxContactId } = state;
  const audience = `${number(counts.sent)} of ${number(counts.audience)}${phase === 'snapshot' ? ' or more' : ''} sent`;
  return [
    `${title}: ${audience}, ${activityOf(state)}.`,
    '',
    `- failed: ${number(counts.failed)}, skipped: ${number(counts.skipped)}, unknown: ${number(counts.unknown)}`,
    `- canceled: ${number(counts.canceled)}, remaining: ${number(counts.remaining)}`,
    ...(phase === 'snapshot' ? [`- looks for recipients: contact ${cursor} of ${maxContactId ?? 0}`] : []),
    '',
    'The signals `pause`, `resume` and `cancel` do what the requests of the API with these names do.',
  ].join('\n');
}
