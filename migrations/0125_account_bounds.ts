/** Indexes to count what an account stores: templates, campaigns, lists and drafts are limited. */
export const name = '0125_account_bounds';

export const up = `
create index templates_account on templates (account_id, campaign_id, flow_id) where removed_at is null;
create index campaigns_account on campaigns (account_id) where removed_at is null and status = 'draft';
create index flows_account on flows (account_id) where status <> 'archived';
create index lists_account on lists (account_id) where removed_at is null;
create index drafts_account on drafts (account_id);
`;

export const down = `
drop index drafts_account, lists_account, flows_account, campaigns_account, templates_account;
`;
