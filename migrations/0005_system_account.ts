/** The service's own account, which its mail comes from; recoveries of webhooks that fail with nothing to retry. */
export const name = '0005_system_account';

export const up = `
-- Ids below every customer's, so that the first of them is still account 1.
insert into accounts (id, kind, name) values (0, 'system', 'Carillon');
insert into brands (id, account_id, company_name) values (0, 0, 'Carillon');

comment on column webhooks.warned_at is 'when the owners were told that it fails; once an episode of failure';
comment on column webhooks.recovery_armed is 'its workflow runs, or is about to: it fails, or has retries waiting';
update webhooks set recovery_armed = true, next_wake_at = now(), engine_expected_by = now()
where failing_since is not null and enabled and not recovery_armed;
`;

export const down = `
comment on column webhooks.recovery_armed is null;
comment on column webhooks.warned_at is null;
delete from accounts where kind = 'system';
`;
