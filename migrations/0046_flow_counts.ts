import { holdMessagesSql, OPEN } from './0011_message_ranges.ts';

/** Counts of flows by day and by hour: entries, ends, and the outcomes of their messages. */
export const name = '0046_flow_counts';

/** SQL condition on the message `m`: a message of a campaign or flow that may have arrived stays `unknown`. */
export const HOLDABLE = `${OPEN} and (m.status <> 'unknown' or m.class = 0)`;

export const up = `
create table flow_count_changes (
  flow_id bigint not null,
  step_id integer not null default 0,
  name text not null,
  change integer not null,
  at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
comment on table flow_count_changes is
  'what happened in flows, as rows of their own, so that no two transactions wait for one counter. A worker folds them into the counters';
comment on column flow_count_changes.step_id is '0: of the flow as a whole';
comment on column flow_count_changes.name is
  'entered, not_entered:<reason>, completed, exited:<reason>, goal; of steps: accepted, sent, delivered, opened, …';
comment on column flow_count_changes.at is
  'when it happened; of a message: when it was sent, so that a result counts on the day of its message';

create index flow_count_changes_flow on flow_count_changes (flow_id);

create table flow_counts (
  flow_id bigint not null references flows on delete cascade,
  step_id integer not null,
  name text not null,
  day date not null,
  count bigint not null,
  primary key (flow_id, step_id, name, day)
) with (fillfactor = 70);
comment on table flow_counts is 'what happened in flows by day, UTC. Runs of test events are not counted';

create table flow_outcomes (
  flow_id bigint not null references flows on delete cascade,
  since timestamptz not null,
  attempted integer not null default 0,
  hard_bounces integer not null default 0,
  complaints integer not null default 0,
  unjudged boolean not null default true,
  primary key (flow_id, since)
) with (fillfactor = 70);
comment on table flow_outcomes is 'outcomes of the emails of a flow by hour, for its brakes. Kept 8 days';
comment on column flow_outcomes.since is
  'the hour, or the resume of the flow in that hour: outcomes of emails from before a resume count apart';
comment on column flow_outcomes.unjudged is 'the brakes have not looked at the present figures';
create index flow_outcomes_since on flow_outcomes (since);
create index flow_outcomes_unjudged on flow_outcomes (flow_id) where unjudged;

-- A message of a flow whose outcome is unknown stays so while another attempt waits, like those of campaigns.
${holdMessagesSql(HOLDABLE)}
`;

export const down = `
${holdMessagesSql(`${OPEN} and (m.status <> 'unknown' or m.class <> 2)`)}
drop table flow_outcomes, flow_counts, flow_count_changes;
`;
