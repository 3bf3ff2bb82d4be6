/** Blocks of campaigns that send from the sandbox address reserve their messages in the month's cap. */
export const name = '0073_block_sandbox';

export const up = `
alter table campaign_blocks
  add column sandbox_month date,
  add column sandbox_reserved integer not null default 0;
comment on column campaign_blocks.sandbox_month is
  'the month in which its recipients count against the sandbox cap; null: they do not, or no sender has claimed the block';
comment on column campaign_blocks.sandbox_reserved is
  'how many of these were not attempted; those left return when the block closes, or is claimed in another month';
`;

export const down = `
alter table campaign_blocks drop column sandbox_month, drop column sandbox_reserved;
`;
