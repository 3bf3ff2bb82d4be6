/** What comments say about processes, the engine, webhooks, domains, providers and figures. */
export const operationsComments = `
comment on table processes is
  'each live process; its heartbeat holds the session advisory lock (1129468233, id::int) and renews seen_at every second. If the lock is free, the reaper recovers what the process was doing and deletes the row';
comment on column processes.role is 'api, worker, sender or mail';
comment on column processes.host is 'the name of its machine';
comment on column processes.pid is 'its process id there';
comment on column processes.seen_at is 'the last heartbeat';

comment on table lanes is
  'loops of senders, as operators see and steer them. Each kind has as many lanes as there are senders; the workflow of a lane shows it';
comment on column lanes.kind is 'send (messages) or webhook (first attempts of webhook deliveries)';
comment on column lanes.n is 'the number of the lane, from 1';
comment on column lanes.mode is
  'what an operator has set: running, paused (nothing new is claimed) or draining (nothing new is claimed, and what is claimed is finished)';

comment on table outbox is
  'requests to the workflow engine, written in the transaction that needs them. The dispatcher sends each at least once, and deletes it';
comment on column outbox.kind is 'start, signal, or signal_with_start';
comment on column outbox.workflow_type is 'the name of the workflow''s function; null: a signal';
comment on column outbox.workflow_id is 'such as campaign/7';
comment on column outbox.task_queue is 'where the workflow runs';
comment on column outbox.input is 'its arguments';
comment on column outbox.signal_name is 'the name of the signal; null: a start';
comment on column outbox.signal_input is 'the arguments of the signal';
comment on column outbox.search_attributes is 'what the workflow can be found by in the engine';
comment on column outbox.summary is 'for people who look at the workflow in the engine; null: none';
comment on column outbox.details is 'as summary, longer';
comment on column outbox.attempt_count is 'how often the dispatcher has tried';
comment on column outbox.last_error is 'why the last try failed; null: it did not';

comment on table engine_state is
  'one row: the namespace of the workflow engine. If its id has changed, the engine has lost its data, and the reconciler checks that each row that needs a workflow has one';
comment on column engine_state.id is 'always true';
comment on column engine_state.namespace_id is 'the id that the engine gave the namespace';
comment on column engine_state.seen_at is 'when the id was stored';

comment on column installation.single is 'always true';

comment on table migrations is 'the migrations that are applied';
comment on column migrations.applied_at is 'when it was applied';

comment on column stored_keys.purpose is 'what the keys are for';

comment on table events is
  'what happened in accounts, as webhooks send it and lists of events show it. Partitioned by day, kept 30 days';
comment on column events.id is 'sent to subscribers, who recognize repetitions by it';
comment on column events.brand_id is 'null: of the account as a whole';
comment on column events.type is 'such as email.sent';
comment on column events.occurred_at is 'when it happened, which may be before it was recorded';
comment on column events.created_at is 'when it was recorded';

comment on table webhooks is 'URLs to which an account wants events sent';
comment on column webhooks.url is 'where events are posted to';
comment on column webhooks.events is 'the types of events that are sent';
comment on column webhooks.secret_sealed is 'the secret of the signatures, encrypted';
comment on column webhooks.secret_last4 is 'its last characters, to be shown';
comment on column webhooks.previous_secret_sealed is
  'the secret before the last rotation, with which requests are signed, too; null: none';
comment on column webhooks.previous_secret_until is 'until when they are';
comment on column webhooks.enabled is 'false: nothing is sent';
comment on column webhooks.last_failure_at is 'when the last failed attempt began; null: none';
comment on column webhooks.last_success_at is
  'when the last successful attempt began, or a time shortly before; null: none';
comment on column webhooks.disabled_at is 'null: enabled';
comment on column webhooks.disabled_reason is
  'failing (turned off after three days of failure) or manual; null: enabled';
comment on column webhooks.next_wake_at is
  'when the workflow webhook/<id> makes the next retries; null: none are planned';
comment on column webhooks.engine_expected_by is
  'if the workflow has not reported by then, the reconciler checks that it runs; null: it is not needed';

comment on table webhook_deliveries is
  'one event for one webhook, from the transaction of the event on. Partitioned by day like webhook_attempts, kept at least 7 days';
comment on column webhook_deliveries.event_id is 'the row of events with the same created_at';
comment on column webhook_deliveries.type is 'of the event';
comment on column webhook_deliveries.generation is 'that of the webhook when the row was written';
comment on column webhook_deliveries.status is 'pending, retrying, delivered or failed';
comment on column webhook_deliveries.response_code is 'the HTTP status of the last attempt; null: no response';
comment on column webhook_deliveries.attempt_count is 'attempts that were made';
comment on column webhook_deliveries.next_attempt_at is 'when it is retried; null: not retrying';
comment on column webhook_deliveries.last_error is 'why the last attempt failed; null: it did not';
comment on column webhook_deliveries.test is 'a delivery that a client asked for to test the webhook';

comment on table webhook_attempts is 'requests that were made for webhook deliveries';
comment on column webhook_attempts.delivery_id is 'the row of webhook_deliveries';
comment on column webhook_attempts.attempt is 'counted from 1';
comment on column webhook_attempts.duration_ms is 'milliseconds from the beginning of the request to its end';
comment on column webhook_attempts.response_code is 'the HTTP status; null: no response';
comment on column webhook_attempts.error is 'why it failed; null: it did not';
comment on column webhook_attempts.response_excerpt is 'the beginning of the response''s body; null: none';

comment on table webhook_queue is
  'webhook deliveries before their first attempt. Retries are made by the workflow webhook/<id>';
comment on column webhook_queue.delivery_id is 'the row of webhook_deliveries with the same created_at';
comment on column webhook_queue.created_at is 'that of the delivery';
comment on column webhook_queue.event_id is 'as in webhook_deliveries';
comment on column webhook_queue.generation is 'as in webhook_deliveries';
comment on column webhook_queue.owner is 'the process that makes the attempt (processes.id); null: none has claimed it';

comment on column domains.status is 'pending, verified or failed';
comment on column domains.return_path_host is 'the host of return paths, a subdomain of the name';
comment on column domains.tracking_host is 'the host of tracked links, a subdomain of the name';
comment on column domains.ed25519_valid is 'whether the DNS has the Ed25519 key, so that mail is signed with it, too';
comment on column domains.verified_at is 'since when it is verified; null: it is not';
comment on column domains.lost_at is 'when a verified domain failed; null: it did not, or was verified again';
comment on column domains.failing_count is 'how many wrong answers there were since failing_since';
comment on column domains.checked_at is 'when the DNS was last asked; null: never';
comment on column domains.next_check_at is 'when the DNS is asked next';
comment on column domains.engine_expected_by is
  'if the workflow of the domain has not checked it by then, the reconciler checks that it runs';
comment on column domains.tracking_ok_at is
  'since when Carillon''s probe of tracking_host succeeds; null: links of new mail lead to PUBLIC_URL';

comment on table dkim_keys is 'keys with which mail is signed';
comment on column dkim_keys.domain is 'the domain of the signature';
comment on column dkim_keys.selector is 'the name below _domainkey of the domain';
comment on column dkim_keys.algorithm is 'rsa or ed25519';
comment on column dkim_keys.private_key_sealed is 'encrypted';
comment on column dkim_keys.public_key is 'as in the DNS record';
comment on column dkim_keys.retired_at is 'from then on mail is not signed with it; null: it is used';

comment on column domain_paces.domain_id is 'the sending domain';
comment on column domain_paces.minute is 'the minute in which used was counted';
comment on column domain_paces.used is 'emails that were claimed in it';

comment on column warm_ups.domain_id is 'the sending domain';
comment on column warm_ups.daily_limit is 'emails of a day (UTC)';

comment on table warm_up_days is 'how much of its daily volume a domain that warms up has used';
comment on column warm_up_days.domain_id is 'the sending domain';
comment on column warm_up_days.day is 'UTC';

comment on table providers is
  'named providers, added by operators with the command "carillon provider add". Removed ones stay for reports that come later';
comment on column providers.callback_token_sealed is 'the secret token in the path of its callback URL, encrypted';
comment on column providers.removed_at is 'null: in use';

comment on column provider_registrations.domain_id is 'the row of domains, which may be gone';
comment on column provider_registrations.provider_id is 'the named provider';
comment on column provider_registrations.name is 'of the domain';
comment on column provider_registrations.creating is
  'the service did not know the domain, and Carillon has asked it to register it, but has not recorded the response';

comment on table stat_changes is
  'what happened to messages, as rows of their own, so that no two senders wait for one counter. A worker folds them into stat_counts and stat_hours';
comment on column stat_changes.slot is 'as in stat_counts';
comment on column stat_changes.source is 'campaign, flow or api';
comment on column stat_changes.name is 'the column of stat_counts that counts it';
comment on column stat_changes.count is 'how many messages';

comment on table stat_counts is
  'the figures of each brand by quarter of an hour: how many messages were sent, delivered and so on. A message counts once in each column, at the time that its own column has, such as sent_at. Tests do not count';
comment on column stat_counts.source is 'campaign, flow or api';
comment on column stat_counts.sent is 'messages that a provider accepted';
comment on column stat_counts.delivered is 'as reported';
comment on column stat_counts.bounced is 'of any kind, at hand-over or later';
comment on column stat_counts.complained is 'as reported';
comment on column stat_counts.opened is 'by persons';
comment on column stat_counts.clicked is 'by persons';
comment on column stat_counts.unsubscribed is 'by a link or header of the message';

comment on column stat_hours.slot is 'the beginning of the hour';
comment on column stat_hours.source is 'as in stat_counts';
comment on column stat_hours.sent is 'as in stat_counts, like all columns that follow';
comment on column stat_hours.delivered is 'see sent';
comment on column stat_hours.bounced is 'see sent';
comment on column stat_hours.complained is 'see sent';
comment on column stat_hours.opened is 'see sent';
comment on column stat_hours.clicked is 'see sent';
comment on column stat_hours.unsubscribed is 'see sent';

comment on table older_stats is
  'one row: how far the messages are counted that are older than stat_changes. What happened to messages up to last_id before changes were recorded is counted once, in pages';
comment on column older_stats.reached_id is
  'messages up to this id are counted; later changes of them are folded as usual';
comment on column older_stats.last_id is
  'the last message from before changes were recorded. Not greater than reached_id: all is counted';
comment on column older_stats.first_id is
  'the oldest message at the last comparison of figures with messages: if retention has dropped messages since, the oldest is higher. Null: none was compared yet';

comment on table tracking_addresses is
  'one row: up to when the addresses in tracking_hits are truncated to their networks';
comment on column tracking_addresses.truncated_before is 'the addresses of hits from before are truncated';
`;
