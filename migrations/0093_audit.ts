/** Lists of API keys of an account, and entries of the audit log that belong to a caller. */
export const name = '0093_audit';

export const up = `
create index api_keys_account on api_keys (account_id, id desc);
create index audit_entries_actor on audit_entries (account_id, actor_kind, actor_id, id desc);
create index audit_entries_action on audit_entries (account_id, action, id desc);
create index audit_entries_time on audit_entries (account_id, created_at);
`;

export const down = `
drop index api_keys_account, audit_entries_actor, audit_entries_action, audit_entries_time;
`;
