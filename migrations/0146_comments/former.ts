/** The comments that the migration replaces, as they were before. */
export const formerComments = `
comment on table account_months is
  'what priced messages have reserved; rises when a message or block is reserved, falls only when one is given back. Accounts without prices have no rows. Locked before idempotency keys, messages, queue rows and blocks, in the order of the key, by statements that reserve; statements that give back lock it after messages, queue rows and blocks';
comment on column account_months.spent_millicents is 'messages, without validations';
comment on column account_months.validation_millicents is 'validations, when they are settled';
comment on table account_usage is 'charged outcomes by calendar month (UTC): messages that were sent or are unknown';
comment on column accounts.allowance_per_day is 'in a rolling 24 hours; null: the setting of the tier';
comment on column accounts.capabilities is 'exceptions from the defaults, set by an operator';
comment on column accounts.sandbox_monthly_cap is 'null: the setting SANDBOX_MONTHLY_CAP';
comment on column accounts.sending_paused_by is 'only the pause of an operator makes tracked links dead';
comment on table allowance_episodes is
  'which of sending.limit_approaching and sending.limit_reached was published last';
comment on table audience_count_changes is
  'what each statement added or removed: rows of their own, so that no two transactions wait for one counter';
comment on table audience_counts is 'contacts of each brand and list, without the changes that are not yet folded in';
comment on table campaign_blocks is
  'up to 1,000 recipients each: messages of the campaign with ids from first_id to last_id. Senders claim blocks as they claim queue rows';
comment on column campaign_blocks.counted is
  'emails accepted or bounced at hand-over since counted_from of the campaign; bounced (for good) and complained are some of them';
comment on column campaign_blocks.price_millicents is
  'what is left of the reservation: messages that are sent take their prices with them; those that go to queue rows reserve theirs again';
comment on column campaign_blocks.price_month is 'as in send_queue';
comment on column campaign_blocks.recount is
  'the tallies are older than the rows, so counts are taken from the rows; set by whatever changes a row of a closed block';
comment on column campaigns.audience is 'list, conditions and exclusions, as they were when the campaign was sent';
comment on column campaigns.data is
  'of the client, without options, progress, outcome and stop, which have columns of their own';
comment on column campaigns.from_address is
  'the sender, pinned with its domain and provider, and the tracking, when the campaign was sent';
comment on table captured_messages is
  'for development; the newest 10,000 are kept. The unique key makes it harmless to hand a message over twice';
comment on table contact_channel_counts is
  'rows go with their contacts, by a trigger; whoever writes one has locked the contact in the same transaction';
comment on table contact_engagement is 'mail that was sent to a contact, and what the contact opened and clicked';
comment on table contact_verdicts is
  'the last result for the email address of a contact; it says nothing about another address that the contact has now';
comment on table contacts is
  'contacts with both channels in their row; the id of the email channel is twice the id, that of the phone one more';
comment on column contacts.email_created_at is 'null, like every other email column: the contact has no email channel';
comment on column conversation_messages.message_id is
  'inbound: the message of ours that it answers; outbound: the message that sends it';
comment on column conversation_messages.scan_state is 'pending: the workflow inbox-scan/<id> has yet to scan it';
comment on column domains.tracking_ok_at is
  'since when our probe of tracking_host succeeds; null: links of new mail lead to PUBLIC_URL';
comment on table ended_sessions is 'session tokens that were ended before they expire; housekeeping deletes the rest';
comment on table flow_count_changes is
  'what happened in flows, as rows of their own, so that no two transactions wait for one counter. A worker folds them into the counters';
comment on column flow_entries.cause is
  'e<event>, t<test event>, l<when the membership began, in microseconds>, s<number of the match>, m<number of the request>';
comment on table flow_runs is
  'one way of one contact through a flow. The row is the state; the workflow flow-run/<flow>/<contact>/<cause> is its clock';
comment on column flow_runs.call_failures is
  'attempts of the present webhook step that have failed: a pause or a restart does not begin them again';
comment on column flow_runs.due_at is 'when it goes on if nothing else happens; null: not by time';
comment on column flow_runs.event is
  'the event that started the run, for trigger.<path> and contents; cleared when its contact is deleted';
comment on column flow_runs.held_at is 'since when it is held by a pause; null: it is not, or was before this was kept';
comment on column flow_runs.moved is
  'another version took its place under way: it may come to a step again, which then has no effect';
comment on column flow_runs.reason is
  'why it ended: end, an exit''s own reason, goal, unsubscribed, suppressed, contact_deleted, exit_filters, archived, canceled, overdue, error …';
comment on column flow_runs.record is
  'where the run is, as the interpreter stores it: {schema, …}. Records of all earlier schemas are read';
comment on column flow_runs.step_id is 'the step that the run is at; null: before the first, or ended';
comment on column flow_runs.waits_for is 'time, event, webhook, quiet_hours or resume; null: it has a step to do';
comment on column flow_waits.step_id is '0: the goal of the flow';
comment on column flows.engine_expected_by is
  'of the workflow flow-audience/<id>, which flows with a segment need while they are active';
comment on column flows.stop is 'why the service paused the flow; null: it did not';
comment on table handovers is
  'intents: these messages may have reached the provider. Inserted before the first byte is sent, deleted when the outcomes are recorded';
comment on column handovers.block_n is
  'the block of campaign_id that the messages lie in, with its claim_epoch; null: the messages have queue rows';
comment on column handovers.report_seconds is
  'if the sender dies: how long a message waits for a report before it is handed over again';
comment on table held_backlogs is 'a row for each account, channel, class and provider with held messages';
comment on table import_errors is
  'rows that failed, with what they contained, so that they can be mended and imported again';
comment on table inbound_mails is
  'mail that was accepted and has yet to be read; one row for each inbox. Reading it deletes the row and adds a conversation message';
comment on table inbound_tokens is
  'SHA-256 of the secret in the path of POST /inbound/<token>, which delivers mail to the account';
comment on table inbox_digests is
  'what arrived in the last 30 days, so that a mail delivered twice arrives once: a hash of what the mail says about itself and of its body, and a byte that says how well it is authenticated';
comment on table inbox_storage is 'bytes of the account''s raw mail and attachments, for its quota';
comment on table mcp_calls is
  'no contents: neither arguments nor results. Rows outlive the grant, the user and the brand';
comment on table mcp_confirmations is 'rows live for minutes, so they may outlive their grant';
comment on table message_events is
  'outcomes of attempts that the row of the message does not show. The row shows that an attempt was accepted, when, and with which response. The key makes it harmless to record an outcome twice';
comment on table message_interactions is
  'the first time a person opened a message (link 0) or clicked each of its links; the key makes each count once';
comment on table message_ranges is
  'ranges of 2^32 message ids, each in use for about a week: range n starts at id n * 2^32';
comment on table messages is
  'no index may contain a column that sending changes, such as status, or every update would change every index';
comment on column messages.class is '0 transactional, 1 flow, 2 campaign';
comment on column messages.response is 'of the provider, to that attempt';
comment on column messages.sent_attempt is 'the attempt that the provider accepted';
comment on column messages.unknown_at is
  'when the message was first charged because an attempt has no known outcome; null: never';
comment on column messages.unsent_at is
  'when the charge of a message was given back although it was unknown before, or was reported as sent after; it stays so';
comment on table money_mismatches is 'what the last nightly check found; nothing corrects it by itself';
comment on table money_notices is
  'mails that owners got: those of the spend cap for a month, no_funds until the account has funds again';
comment on table older_stats is
  'one row: what happened to messages up to last_id before changes were recorded is counted, up to reached_id so far';
comment on table opt_out_walks is
  'brands whose contacts the worker compares with unapplied_opt_outs, page by page and round and round';
comment on table prices is
  'in millicents: an email above the monthly allowance, a segment of an SMS to a country, a conclusive validation result';
comment on table processes is
  'each live process; its heartbeat holds the session advisory lock (1129468233, id::int) and renews seen_at every second';
comment on column provider_registrations.creating is
  'the service did not know the domain, and Carillon has told it to register it, but has not noted the response';
comment on table providers is 'named providers, added by operators with \`carillon provider add\`';
comment on table secret_mails is
  'messages with a link that signs somebody in; their contents are removed as soon as they are sent';
comment on column send_queue.held is 'waits until its backlog is released; due_at is then the end of its lifetime';
comment on column send_queue.price_units is 'emails or segments that it has reserved, or, before that, the segments that it will reserve';
comment on table sms_help_answers is 'when HELP was last answered; the number is stored as an HMAC';
comment on table stat_changes is
  'what happened to messages, as rows of their own, so that no two senders wait for one counter. A worker folds them into stat_counts';
comment on table test_messages is
  'messages of test keys of about the last day; a row goes together with the content of its message';
comment on table tracking_addresses is 'one row: up to when the addresses in tracking_hits are truncated';
comment on table tracking_fetches is
  'the fetches of the last minute, by the second: which links of a message were fetched together';
comment on table unapplied_opt_outs is
  'opt-outs that a contact may not have yet: only the HMAC of the address was known. Campaigns compare their recipients with them';
comment on column unapplied_opt_outs.lap is
  'where the walk was when it took it up: a lap later at the same contact, all were looked at';
comment on column validation_operations.reserved_millicents is '0 once the operation is settled';
comment on table wallet_entries is 'rows are only ever added';
comment on column wallet_entries.millicents is 'negative: the account pays';
comment on table wallets is 'the sum of the entries of an account, kept by a trigger of wallet_entries';
comment on table webhook_queue is 'deliveries before their first attempt; owner: the process that makes the attempt';
`;
