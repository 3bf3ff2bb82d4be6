/** What comments say about flows and their runs. */
export const flowsComments = `
comment on table flows is 'automation flows as clients edit them. What a run follows is in flow_versions';
comment on column flows.status is 'draft, active, paused (runs and messages are held) or archived (runs are canceled)';
comment on column flows.approval_state is
  'whether an operator must approve what is in pending: not_required, pending, approved or rejected. Contacts enter only if it is not_required or approved';
comment on column flows.goal is 'the name of the event that ends a run as reached; null: none';
comment on column flows.trigger_event is
  'the name of the event that lets a contact enter. Of trigger_event, contact_list_id and segment_id, one at most is set';
comment on column flows.contact_list_id is 'contacts enter who become members of this list';
comment on column flows.segment_id is 'contacts enter who begin to match this segment';
comment on column flows.stop is '{reason, rate, threshold, at}: why the service paused it; null: it did not';
comment on column flows.sent_count is
  'messages of the flow that were sent, without tests; written by the worker that folds flow_count_changes';
comment on column flows.activated_at is 'when it was last activated';
comment on column flows.paused_at is 'null: not paused';
comment on column flows.archived_at is 'null: not archived';
comment on column flows.engine_expected_by is
  'if the workflow flow-audience/<id>, which an active flow with a segment needs, has not reported by then, the reconciler checks that it runs; null: it needs none';

comment on column flow_versions.n is 'the number of the version in its flow';
comment on column flow_versions.goal is 'as in flows, when the version was made';
comment on column flow_versions.exit_filters is 'a run whose contact matches them ends';
comment on column flow_versions.steps is 'the steps with their ids, as in flows';

comment on column flow_contents.step_id is 'the step, as its id in flows.steps';
comment on column flow_contents.version_id is 'the row of template_versions';

comment on column flow_entries.cause is
  'what lets the contact enter, once for each: e<event>, t<test event>, l<when the membership began, in microseconds>, s<number of the match>, m<number of the request>';
comment on column flow_entries.test is 'the entry is by a test event; the run counts in no figures';
comment on column flow_entries.chain_depth is
  'how many flow runs led to it, one after another, by events and lists; 0: none. Beyond five, nothing enters';
comment on column flow_entries.attempt_count is 'how often it could not be judged';

comment on table flow_runs is
  'the path of one contact through a flow, once for each cause. The row is the state, which one transaction locks and advances; the workflow flow-run/<flow>/<contact>/<cause> is its clock';
comment on column flow_runs.version_id is 'the row of flow_versions that the run follows';
comment on column flow_runs.cause is 'as in flow_entries';
comment on column flow_runs.event is
  'the event that started the run, for trigger.<path> and contents; cleared when its contact is deleted; null: none did';
comment on column flow_runs.test is 'as in flow_entries';
comment on column flow_runs.chain_depth is 'as in flow_entries; events and list changes of the run are one deeper';
comment on column flow_runs.state is
  'active: under way; completed: it came to its end; exited: ended before, see reason; canceled: by a client, or the flow was archived';
comment on column flow_runs.reason is
  'why it ended: end, an exit''s own reason, goal, unsubscribed, suppressed, contact_deleted, exit_filters, archived, canceled, overdue, error …; null: active';
comment on column flow_runs.record is
  'where the run is, as the interpreter stores it: {schema, stepId, wait, …}; {} once the path is past its retention. Records of all earlier schemas are read';
comment on column flow_runs.moved is
  'the run was moved to another version while it was under way: it may come to a step again, which then has no effect';
comment on column flow_runs.step_id is 'the step of the version that the run is at; null: before the first, or ended';
comment on column flow_runs.waits_for is
  'what it waits for: time, event, webhook, quiet_hours or resume; null: it has a step to do, or has ended';
comment on column flow_runs.due_at is
  'when the run goes on if nothing else happens first; null: it does not wait for a time';
comment on column flow_runs.engine_expected_by is
  'if the workflow of the run has not advanced it by then, the reconciler checks that it runs; null: ended';
comment on column flow_runs.ended_at is 'null: active';
comment on column flow_runs.call_failures is
  'how many attempts of the present webhook step have failed: a pause or a restart does not begin them again';
comment on column flow_runs.held_at is
  'since when a pause of the flow holds the run; null: it does not, or held it before this was kept';

comment on column flow_run_steps.run_id is 'the row of flow_runs';
comment on column flow_run_steps.step_id is 'the step, as its id in the version';
comment on column flow_run_steps.iteration is
  'how often the run had come to the step before; more than 0 only after a move to another version';
comment on column flow_run_steps.type is 'of the step, such as email, wait or branch';
comment on column flow_run_steps.message_id is 'the message that the step wrote; null: none';
comment on column flow_run_steps.event_id is
  'the tracked event that the step wrote, or that ended its wait; null: none';
comment on column flow_run_steps.entered_at is 'when the run came to the step';
comment on column flow_run_steps.left_at is 'when it went on; null: it is at the step';

comment on column flow_waits.run_id is 'the row of flow_runs';
comment on column flow_waits.step_id is 'the step that waits; 0: the goal of the flow';
comment on column flow_waits.event_name is 'the name of the event';

comment on column flow_arrivals.run_id is 'the row of flow_runs';
comment on column flow_arrivals.step_id is 'as in flow_waits';
comment on column flow_arrivals.event_id is 'the row of contact_events';
comment on column flow_arrivals.data is 'the data of the event';
comment on column flow_arrivals.occurred_at is 'created_at of the event';

comment on column flow_changes.change is
  'resume; exit_overdue: resume, and end runs that became due while the flow was paused; archive: cancel; move: to another version';
comment on column flow_changes.cursor is 'runs up to this id are changed';
comment on column flow_changes.up_to is 'the highest run when the change was requested';
comment on column flow_changes.failures is 'pages in a row that failed';

comment on column flow_message_changes.change is 'hold, release or cancel';
comment on column flow_message_changes.cursor is 'messages up to this id are changed';
comment on column flow_message_changes.up_to is 'the highest message when the change was requested';
comment on column flow_message_changes.paused_seconds is
  'of a release: how long the flow was paused, by which the lifetimes of its messages are extended';
comment on column flow_message_changes.failures is 'pages in a row that failed';

comment on table flow_count_changes is
  'what happened in flows, as rows of their own, so that no two transactions wait for one counter. A worker folds them into flow_counts';
comment on column flow_count_changes.change is 'how often; negative: it is taken back';

comment on column flow_counts.step_id is 'as in flow_count_changes';
comment on column flow_counts.name is 'as in flow_count_changes';
comment on column flow_counts.day is 'UTC';
comment on column flow_counts.count is 'how often';

comment on column flow_outcomes.attempted is 'emails accepted by a provider, or bounced at hand-over';
comment on column flow_outcomes.hard_bounces is 'those that bounced for good';
comment on column flow_outcomes.complaints is 'those whose recipients complained';

comment on column flow_fills.cursor is 'members up to this contact have entered';

comment on column flow_header_secrets.tag is 'identifies the value within the brand; the last characters of its mask';
comment on column flow_header_secrets.value_sealed is 'the value, encrypted';
`;
