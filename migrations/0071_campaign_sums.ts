/**
 * Sums of the tallies of a campaign's blocks, updated with each count, so that reading them does not read every block.
 */
export const name = '0071_campaign_sums';

const groups = ['sent', 'failed', 'skipped', 'unknown', 'canceled'];
const rated = ['counted', 'bounced', 'complained'];
const tallies = [...groups, ...rated];

const listOf = (sql: (name: string) => string, separator = ', ') => tallies.map(sql).join(separator);

export const up = `
create table campaign_sums (
  campaign_id bigint primary key,
  ${listOf((tally) => `${tally} bigint not null default 0`, ',\n  ')},
  counted_from timestamptz,
  ${rated.map((tally) => `${tally}_before bigint not null default 0`).join(',\n  ')}
) with (fillfactor = 50);
comment on table campaign_sums is
  'the tallies of all blocks of a campaign, whether they are as new as the messages or not. Kept by the trigger of campaign_blocks';
comment on column campaign_sums.counted_from is 'that of the campaign for which the columns with _before were added up';
comment on column campaign_sums.counted_before is
  'of blocks that were closed before counted_from; so are bounced_before and complained_before';

-- Until the triggers are there, no statement may count.
lock table campaign_blocks in share row exclusive mode;
insert into campaign_sums (campaign_id, ${tallies.join(', ')})
select campaign_id, ${listOf((tally) => `sum(${tally})`)} from campaign_blocks group by campaign_id;

-- A trigger, so that processes of the former version add what they count, too. Nothing else is locked after the sums.
create function sum_block_tallies() returns trigger language plpgsql as $$
begin
  insert into campaign_sums as s (campaign_id, ${tallies.join(', ')})
  values (new.campaign_id, ${listOf((tally) => `new.${tally} - coalesce(old.${tally}, 0)`)})
  on conflict (campaign_id) do update set ${listOf((tally) => `${tally} = s.${tally} + excluded.${tally}`)};
  return null;
end $$;
comment on function sum_block_tallies is 'adds the new tallies of a block and takes off the old ones';
create trigger campaign_blocks_written after insert on campaign_blocks
  for each row when (${listOf((tally) => `new.${tally} <> 0`, ' or ')})
  execute function sum_block_tallies();
create trigger campaign_blocks_counted after update of ${tallies.join(', ')} on campaign_blocks
  for each row when ((${listOf((tally) => `old.${tally}`)}) is distinct from (${listOf((tally) => `new.${tally}`)}))
  execute function sum_block_tallies();

drop index campaign_blocks_recount;
create index campaign_blocks_recount on campaign_blocks (campaign_id, n) where closed_at is not null and recount;
create index campaign_blocks_closed on campaign_blocks (campaign_id, closed_at) where closed_at is not null;
create index campaign_blocks_unheld on campaign_blocks (campaign_id, due_at, n)
  where owner is null and closed_at is null and hold_reason is null;
`;

export const down = `
drop index campaign_blocks_unheld, campaign_blocks_closed;
drop index campaign_blocks_recount;
create index campaign_blocks_recount on campaign_blocks (campaign_id) where closed_at is not null and recount;
drop trigger campaign_blocks_counted on campaign_blocks;
drop trigger campaign_blocks_written on campaign_blocks;
drop function sum_block_tallies;
drop table campaign_sums;
`;
