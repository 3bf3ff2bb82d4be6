/** The account of the service itself, which sends its own mail; recovery of failing webhooks without retries. */
export const name = '0005_system_account';

export const up = `
-- Ids below those of all customers, whose first account is still 1.
insert into accounts (id, kind, name) values (0, 'system', 'Carillon');
insert into brands (id, account_id, company_name) values (0, 0, 'Carillon');

comment on column webhooks.warned_at is 'when the owners were notified that the webhook is failing, once per failure';
comment on column webhooks.recovery_armed is 'whether its workflow runs or is about to, because the webhook is failing or has retries waiting';
update webhooks set recovery_armed = true, next_wake_at = now(), engine_expected_by = now()
where failing_since is not null and enabled and not recovery_armed;
`;

export const down = `
comment on column webhooks.recovery_armed is null;
comment on column webhooks.warned_at is null;
delete from accounts where kind = 'system';
`;
