/** Files of an import can take subscriptions away. */
export const name = '0131_imported_opt_outs';

export const up = `
alter table opt_outs add column import_id bigint, drop constraint opt_outs_source_check,
  add constraint opt_outs_source_check
    check (source in ('one_click', 'sms_stop', 'provider', 'manual', 'import')) not valid;
comment on column opt_outs.import_id is 'the import whose file says that the recipient unsubscribed';
alter table contact_subscriptions add column import_id bigint;
comment on column contact_subscriptions.import_id is 'the import whose file says so';
`;

export const down = `
update opt_outs set source = 'manual' where source = 'import';
alter table opt_outs drop column import_id, drop constraint opt_outs_source_check,
  add constraint opt_outs_source_check check (source in ('one_click', 'sms_stop', 'provider', 'manual'));
alter table contact_subscriptions drop column import_id;
`;
