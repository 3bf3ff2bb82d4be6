/** Indexes whose first rows show what campaigns wait for, however many blocks they have. */
export const name = '0070_campaign_holds';

export const up = `
create index campaign_blocks_holds on campaign_blocks (campaign_id, hold_reason, due_at) where hold_reason is not null;
create index campaign_blocks_begun on campaign_blocks (campaign_id, n) where closed_at is null and claim_epoch > 0;

create index send_queue_campaign_due on send_queue (campaign_id, due_at) where campaign_id is not null;
drop index send_queue_campaign;
`;

export const down = `
create index send_queue_campaign on send_queue (campaign_id) where campaign_id is not null;
drop index send_queue_campaign_due, campaign_blocks_begun, campaign_blocks_holds;
`;
