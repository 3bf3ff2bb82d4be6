/** Counts that validations update as they write results, so that an operation ends without counting its items. */
export const name = '0057_validation_counts';

/** SQL: counts new results, which `changed` has as `n`. */
const countsSql = `
  count(*) filter (where n.verdict = 'deliverable') as deliverable,
  count(*) filter (where n.verdict = 'undeliverable') as undeliverable,
  count(*) filter (where n.verdict = 'risky') as risky,
  count(*) filter (where n.verdict = 'unknown') as unknown,
  count(*) filter (where n.charged) as priced,
  count(*) filter (where n.chargeable) as chargeable`;

export const up = `
alter table validation_operations
  add column priced_count integer not null default 0,
  add column checked_chargeable_count integer not null default 0;

update validation_operations o
set deliverable_count = coalesce(o.deliverable_count, r.deliverable),
  undeliverable_count = coalesce(o.undeliverable_count, r.undeliverable),
  risky_count = coalesce(o.risky_count, r.risky), unknown_count = coalesce(o.unknown_count, r.unknown),
  priced_count = r.priced, checked_chargeable_count = r.chargeable
from (select n.operation_id, ${countsSql}
  from validation_items n where n.verdict is not null group by 1) r
where o.id = r.operation_id and o.items_removed_at is null;
update validation_operations
set deliverable_count = coalesce(deliverable_count, 0), undeliverable_count = coalesce(undeliverable_count, 0),
  risky_count = coalesce(risky_count, 0), unknown_count = coalesce(unknown_count, 0),
  priced_count = greatest(priced_count, charged_count);

alter table validation_operations
  alter column deliverable_count set default 0, alter column deliverable_count set not null,
  alter column undeliverable_count set default 0, alter column undeliverable_count set not null,
  alter column risky_count set default 0, alter column risky_count set not null,
  alter column unknown_count set default 0, alter column unknown_count set not null;
comment on column validation_operations.deliverable_count is
  'items with this verdict. Like the other counts of results, kept by the trigger of validation_items';
comment on column validation_operations.priced_count is
  'items whose result costs the price: the wallet is charged for them when the operation ends';
comment on column validation_operations.checked_chargeable_count is
  'items with a result, of those that were reserved for';

create function count_validation_results() returns trigger language plpgsql as $$
begin
  update validation_operations o
  set deliverable_count = o.deliverable_count + r.deliverable, undeliverable_count = o.undeliverable_count + r.undeliverable,
    risky_count = o.risky_count + r.risky, unknown_count = o.unknown_count + r.unknown,
    priced_count = o.priced_count + r.priced, checked_chargeable_count = o.checked_chargeable_count + r.chargeable
  from (select n.operation_id, ${countsSql}
    from changed n join former f using (id) where f.verdict is null and n.verdict is not null group by 1) r
  where o.id = r.operation_id;
  return null;
end $$;
comment on function count_validation_results is
  'an item gets its result once, so that each is counted once. Lock the operation before its items';
create trigger validation_items_counted after update on validation_items
  referencing old table as former new table as changed
  for each statement execute function count_validation_results();
`;

export const down = `
drop trigger validation_items_counted on validation_items;
drop function count_validation_results;
alter table validation_operations
  alter column deliverable_count drop not null, alter column deliverable_count drop default,
  alter column undeliverable_count drop not null, alter column undeliverable_count drop default,
  alter column risky_count drop not null, alter column risky_count drop default,
  alter column unknown_count drop not null, alter column unknown_count drop default;
comment on column validation_operations.deliverable_count is 'null until the operation has ended: its items are counted meanwhile';
update validation_operations
set deliverable_count = null, undeliverable_count = null, risky_count = null, unknown_count = null
where status in ('pending', 'running');
alter table validation_operations drop column checked_chargeable_count, drop column priced_count;
`;
