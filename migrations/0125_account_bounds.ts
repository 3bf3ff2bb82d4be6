/** Indexes to count what an account stores: templates, campaigns, lists and drafts are limited. */
export const name = '0125_account_bounds';

export const up = `
create index templates_account on templates (account_id) where removed_at is null;
create index campaigns_account on campaigns (account_id) where removed_at is null;
create index lists_account on lists (account_id) where removed_at is null;
create index drafts_account on drafts (account_id);
`;

export const down = `
drop index drafts_account, lists_account, campaigns_account, templates_account;
`;
