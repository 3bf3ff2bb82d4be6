/** What comments say about messages, their queue, consent and tracking. */
export const messagesComments = `
comment on table messages is
  'every email and SMS, from accept on: also tests, and recipients of campaigns who are skipped. The row is inserted when the message is accepted and updated with the outcome of each attempt. No index may contain a column that sending changes, such as status, or every update would change every index. Partitioned by ranges of ids, see message_ranges';
comment on column messages.class is '0 transactional, 1 flow, 2 campaign: a lower class is sent first';
comment on column messages.status is
  'queued; held: a limit makes it wait, see hold; sent: a provider has accepted it; delivered, bounced, complained: as reported; failed; unknown: it may have been sent, because an attempt has no known outcome; skipped: a recipient of a campaign or flow who gets nothing, see failure; canceled';
comment on column messages.test is
  'of a test key, whose messages never leave the service, or a test of a template, which does leave. Tests count in no figures';
comment on column messages.segments is
  'parts of the SMS, which is paid by segment. If the text is rendered when it is sent: null until it is charged, then the most it may take, and lowered to what was sent when a sender records that. Null for an email';
comment on column messages.attempt_count is 'the number of the last attempt whose outcome is recorded; 0: none is';
comment on column messages.to_address is
  'the recipient as it was given; null: there is no address, or it was cleared because the contact was deleted';
comment on column messages.to_key is
  'to_address in the form in which recipients are compared: contacts, suppressions and opt-outs are looked up by it';
comment on column messages.from_address is
  'the sender as the recipient sees it: the From field with its display name, or what the SMS is sent as';
comment on column messages.reply_to is 'the Reply-To field; null: none';
comment on column messages.template_id is
  'the template that its content comes from; null: the request had the content itself';
comment on column messages.contact_id is
  'the contact of the address. Of other messages than those of campaigns and flows it is looked up when an outcome is recorded; null: none was found, or not looked up yet';
comment on column messages.campaign_id is 'null: not of a campaign';
comment on column messages.flow_id is 'null: not of a flow';
comment on column messages.tags is 'names and values that the client gave, which events repeat; null: none';
comment on column messages.idempotency_key is 'of the request that created the message; null: none';
comment on column messages.provider is
  'the name of the provider of the last attempt, named or of the settings; null: no attempt was recorded';
comment on column messages.provider_message_id is
  'the id that the provider gave the message, by which its reports name it';
comment on column messages.failure is
  '{code, message}: why it failed, was skipped or was canceled. An unknown one may have it, too; null: none of that';
comment on column messages.bounce is
  '{type, subtype, diagnostic}: type is hard or soft, diagnostic the reply of the recipient''s server; null: it did not bounce';
comment on column messages.hold is
  '{reason, until}: the limit that holds it now, and when that ends, null if that is not known; null: not held';
comment on column messages.sent_at is
  'when a provider first accepted it; a report may show it before the sender has recorded it. Never cleared';
comment on column messages.delivered_at is
  'when the recipient''s server or network accepted it, as a report or the reply of the provider says; null: not known';
comment on column messages.opened_at is 'when a person first opened it; fetches by programs do not count';
comment on column messages.clicked_at is 'when a person first clicked a link in it; fetches by programs do not count';
comment on column messages.sent_attempt is 'the attempt that the provider accepted; null: none, as far as is known';
comment on column messages.response is 'the reply of the provider to sent_attempt';
comment on column messages.flow_run_id is 'the run of the flow that wrote it; null: no run did';
comment on column messages.flow_step_id is 'the step of flow_run_id that wrote it';
comment on column messages.unknown_at is
  'when an attempt first had no known outcome, because its sender died or lost the connection: the message is charged from then on. Kept when the outcome becomes known; null: never. Written by the statements that record outcomes, by the reaper, and by a cancellation if the message may have been sent';
comment on column messages.unsent_at is
  'since when the message is free of charge, because an outcome, a report or a cancellation showed that it was not sent: a charge that began at unknown_at was given back then. Also set if a message that had failed is reported as sent later: it had given back its reservation. Never cleared: the message is not charged again. Null: none of that happened';

comment on table message_contents is
  'what messages consist of besides their subject. Those that are rendered when they are sent, of campaigns and flows, have no row. Partitioned like messages; dropped after the days that contents are kept';
comment on column message_contents.headers is 'the additional fields of the mail, by name; null: none';

comment on table message_daily_counts is
  'the messages of each brand by day (UTC), written once the day is over, so that the total of a list does not count every row';
comment on column message_daily_counts.day is 'a day that is over, UTC';
comment on column message_daily_counts.last_id is
  'the highest id of the day. A message belongs to the first day whose last_id is not below its id';
comment on column message_daily_counts.count is 'messages that belong to the day';

comment on table message_events is
  'outcomes of attempts, and reports, that the row of the message does not show. The row shows that an attempt was accepted, when, and with which response. The key makes it harmless to record an outcome twice';
comment on column message_events.attempt is 'the attempt that it is about, counted from 1';
comment on column message_events.type is
  'deferred, bounced, failed, unknown or complained; sent and delivered if the row of the message shows another attempt';
comment on column message_events.occurred_at is
  'when the outcome was recorded; of a report, when it happened by the report';
comment on column message_events.data is
  'provider, response, failure and bounce, as in messages; what is missing is left out';

comment on table message_interactions is
  'the first time that a person opened a message (link 0) or clicked each of its links; the key makes each count once';
comment on column message_interactions.link is 'as in tracking_hits';
comment on column message_interactions.occurred_at is 'when the link was fetched';
comment on column message_interactions.url is 'the target of the link; null for an open';

comment on table send_queue is
  'messages that wait for a sender or are claimed by one. The row goes when no attempt follows. First attempts of campaigns wait in campaign_blocks instead. Senders claim rows by channel, class, account and provider, the earliest due_at first';
comment on column send_queue.message_id is 'the row of messages';
comment on column send_queue.class is 'as in messages';
comment on column send_queue.due_at is
  'not claimed before: the time of the retry, or the end of what holds it. If held is true, just after the end of its lifetime; infinity: its campaign or flow is paused';
comment on column send_queue.owner is 'the process that has claimed it (processes.id); null: none has';
comment on column send_queue.claim_epoch is
  'raised by each claim. A sender names the epoch of its claim: with an older one it writes no intent';
comment on column send_queue.reserved_bucket is
  'the bucket of allowance_buckets in which the message has its place, taken at its first claim and kept if it is given back; null: it has none';
comment on column send_queue.queued_at is 'when its lifetime of 72 hours began: when it was queued, or queued again';
comment on column send_queue.held is
  'a limit holds the whole backlog, see held_backlogs: due_at is then just after the end of its lifetime, and the release of the backlog makes the message due';
comment on column send_queue.price_units is
  'emails or segments that it has reserved; before that, for texts of flows and campaigns, the most segments that its version can take. Null before that for emails, which reserve one. 0, with price_month set: it was charged before, so it reserves nothing more';
comment on column send_queue.price_millicents is
  'what the message has reserved in price_month, in thousandths of a cent; null: nothing';

comment on table handovers is
  'intents: these messages may have reached the provider. A sender inserts the row before the first byte is sent and deletes it when the outcomes are recorded; what is left of a dead sender becomes unknown';
comment on column handovers.owner is 'the sender that hands the messages over (processes.id)';
comment on column handovers.provider is 'its name, as in messages';
comment on column handovers.message_ids is 'the messages, in the order of their ids';
comment on column handovers.attempts is
  'for each of message_ids, the number of the attempt that begins, counted from 1';
comment on column handovers.intended_at is 'when the row was inserted';
comment on column handovers.report_seconds is
  'how many seconds a transactional message waits for a report of the provider before it is handed over again, if the sender dies. 0: it does not wait, because the provider sends no reports, or recognizes a message that it gets twice';
comment on column handovers.campaign_id is 'of the block; null: the messages have queue rows';
comment on column handovers.block_n is
  'the block of campaign_id that contains the messages; null: the messages have queue rows';
comment on column handovers.block_epoch is
  'claim_epoch of the block when the sender claimed it; null: the messages have queue rows';

comment on table held_backlogs is
  'a row for each account, channel, class and provider with messages that a limit holds as a whole, so that senders check one row and not each message';
comment on column held_backlogs.class is 'as in messages';
comment on column held_backlogs.provider_id is 'as in send_queue';

comment on table captured_messages is
  'what the provider "capture" received in place of recipients, for development; the newest 10,000 are kept. The unique key makes it harmless to hand a message over twice';
comment on column captured_messages.attempt is 'the attempt, counted from 1';
comment on column captured_messages.return_path is 'the envelope sender; null for an SMS';
comment on column captured_messages.from_address is 'the From field, or what the SMS was sent as';
comment on column captured_messages.to_address is 'the recipient';
comment on column captured_messages.size_bytes is 'bytes of raw or body';
comment on column captured_messages.captured_at is 'when it was handed over';

comment on table suppressions is
  'addresses that get no messages from the account. One row for each address that is suppressed now; a row whose suppression has ended may remain';
comment on column suppressions.address_key is
  'the address in the form in which recipients are compared, as to_key of messages';
comment on column suppressions.email is 'the address, if it is one of email, else null';
comment on column suppressions.phone is 'the number in E.164 form, if it is one, else null';
comment on column suppressions.reason is
  'hard_bounce, soft_bounce (three in a row, for seven days), complaint, or manual (by a client or an import)';
comment on column suppressions.source_provider is 'the name of the provider that reported it; null: no provider did';
comment on column suppressions.diagnostic is
  'the reply of the recipient''s server, or the words of the report; null: none';
comment on column suppressions.expires_at is 'when it ends by itself; null: never';
comment on column suppressions.released_at is 'when a client ended it; null: it was not ended';

comment on column suppression_releases.suppression_id is 'the row of suppressions that was ended; it may be gone';
comment on column suppression_releases.address_key is 'as in suppressions';
comment on column suppression_releases.reason is 'as in suppressions';
comment on column suppression_releases.api_key_id is 'the key that ended it; null: user_id did';

comment on column soft_bounces.address_key is 'as in suppressions';
comment on column soft_bounces.count is 'how many in a row; after three, and after a delivery, an open or a click, the next one is the first again';
comment on column soft_bounces.last_at is 'when the last one happened';

comment on column opt_outs.address_hash is
  'HMAC of the address in the form in which recipients are compared, with a key of stored_keys';
comment on column opt_outs.source is
  'how: one_click (a link or header of an email), sms_stop, provider (the recipient opted out there), manual (a client), import';
comment on column opt_outs.message_id is 'the message whose link or header was used; null: none';
comment on column opt_outs.opted_out_at is 'when the recipient opted out last';

comment on table opt_out_walks is
  'brands whose contacts the worker compares with unapplied_opt_outs, in pages and in laps: after the last contact, it begins with the first one again';
comment on column opt_out_walks.lap is 'how many laps are done';
comment on column opt_out_walks.after_id is 'contacts up to this id are compared in the present lap';
comment on column opt_out_walks.due_at is 'the next page is read then';
comment on column opt_out_walks.failures is 'pages in a row that failed: each doubles the wait';

comment on table unapplied_opt_outs is
  'opt-outs that a contact may not have yet, because only the HMAC of the address was known. Campaigns compare their recipients with them';
comment on column unapplied_opt_outs.address_hash is 'as in opt_outs';
comment on column unapplied_opt_outs.lap is
  'the lap of opt_out_walks at which the walk took it up: it is over at the same contact of the next lap; null: not taken up';
comment on column unapplied_opt_outs.start_id is 'after_id of opt_out_walks when the walk took it up';

comment on table tracking_fetches is
  'fetches, by the second, that are not decided yet, and those of the last minute that help to decide others: programs are recognized because they fetch all links of a message within ten seconds';
comment on column tracking_fetches.link is 'as in tracking_hits';
comment on column tracking_fetches.fetched_at is 'the second of the fetch';
comment on column tracking_fetches.url is 'the target of the link; null for the pixel';

comment on column tracking_hits.is_bot is 'a program fetched it: it does not count as an open or click';

comment on column tracking_overflow.hour is 'the beginning of the hour, UTC';
comment on column tracking_overflow.hits is 'how many';

comment on table test_messages is
  'messages of test keys of about the last day, whose number is limited; a row goes together with the content of its message';

comment on column provider_outages.provider_id is 'as in send_queue';
comment on column provider_outages.since is 'when the breaker opened';

comment on column callback_tokens.provider_id is 'the named provider';
comment on column callback_tokens.token_digest is 'SHA-256 of the token';
comment on column callback_tokens.body_digest is 'SHA-256 of the body';
comment on column callback_tokens.used_at is 'when it first came';

comment on table message_ranges is
  'ranges of 2^32 message ids, each in use for about a week: range n starts at id n * 2^32. The partitions of messages and of the tables beside it follow them';
comment on column message_ranges.n is 'the number of the range';
`;
