/** What comments say about campaigns, templates and drafts. */
export const campaignsComments = `
comment on table campaigns is
  'campaigns with everything pinned when they are sent, and how far each has come. The workflow campaign/<id> reads the row before each step. Deleted drafts stay for a time, see removed_at';
comment on column campaigns.status is 'draft, active, paused, or completed (also if canceled or failed, see outcome)';
comment on column campaigns.approval_state is
  'whether an operator must approve it: not_required, pending, approved or rejected. Nothing leaves while it is pending or rejected';
comment on column campaigns.data is
  'the fields that the client stored in data, without options, progress, outcome and stop, which have columns of their own or are computed';
comment on column campaigns.options is 'data.options of the API: throttle, local time, A/B test and so on';
comment on column campaigns.scheduled_at is 'when it is to be sent; null: at once';
comment on column campaigns.template_id is 'the template of its content; null: none yet';
comment on column campaigns.contact_list_id is
  'the list of its trigger; null: none. Contacts must be in the list and match the segment';
comment on column campaigns.segment_id is 'the segment of its trigger; null: none';
comment on column campaigns.trigger_event is 'stored for the client; it sends nothing';
comment on column campaigns.trigger_data is 'data of the trigger, as the client stored it: exclusions and filters';
comment on column campaigns.triggered_count is 'how many times it was sent';
comment on column campaigns.last_triggered_at is 'when it was last sent';
comment on column campaigns.trigger_created_at is 'when the trigger was added';
comment on column campaigns.trigger_updated_at is 'when the client last changed the trigger';
comment on column campaigns.audience is
  'list, filters of the segments, and exclusions, as they were when the campaign was sent; its field version says in which form. Null: not sent';
comment on column campaigns.from_address is
  'the sender, pinned like domain_id, provider_id and tracking when the campaign was sent';
comment on column campaigns.reply_to is 'pinned like from_address; null: no Reply-To field';
comment on column campaigns.domain_id is 'the sending domain, pinned; null: an address of the service, or an SMS';
comment on column campaigns.provider_id is 'the named provider, pinned; null: that of the settings';
comment on column campaigns.tracking is 'as in messages, pinned; null: not sent';
comment on column campaigns.next_block is 'the number of the next block that the snapshot writes';
comment on column campaigns.stop is '{reason, rate, threshold, at}: why the service paused it; null: it did not';
comment on column campaigns.started_at is 'when it was sent; once the snapshot has begun, the beginning of the snapshot';
comment on column campaigns.snapshot_at is 'when the snapshot began';
comment on column campaigns.sending_at is 'when the snapshot was complete';
comment on column campaigns.paused_at is 'null: not paused';
comment on column campaigns.engine_expected_by is
  'if the workflow campaign/<id> has not read the row by then, the reconciler checks that it runs; null: it needs no workflow';
comment on column campaigns.removed_at is
  'when a client deleted the draft: it is hidden, and housekeeping deletes the row; null: not deleted';

comment on table campaign_blocks is
  'up to 1,000 recipients each: messages of the campaign with ids from first_id to last_id. Senders claim blocks as they claim queue rows. Locked after messages, in the order of the key';
comment on column campaign_blocks.n is
  'the number of the block in its campaign, from 0; negative: the rest of a block that was claimed in part';
comment on column campaign_blocks.provider_id is 'as in send_queue';
comment on column campaign_blocks.domain_id is 'as in send_queue';
comment on column campaign_blocks.first_id is 'the first of its messages';
comment on column campaign_blocks.last_id is 'the last of its messages; blocks of a campaign do not overlap';
comment on column campaign_blocks.size is 'how many messages it has';
comment on column campaign_blocks.variant is 'of the A/B test, counted from 0';
comment on column campaign_blocks.owner is 'the process that has claimed it (processes.id); null: none has';
comment on column campaign_blocks.claim_epoch is
  'raised by each claim, when a dead owner loses the block, when it is closed, and set by one more if it is split off from a claimed block; 0: no sender has claimed it, and none of its messages has changed. A sender names the epoch of its claim, as in send_queue';
comment on column campaign_blocks.reserved_bucket is 'as in send_queue, for all of its places';
comment on column campaign_blocks.recount is
  'the tallies may be older than the messages, so counts are taken from the messages; set by each statement that changes a message of the block';
comment on column campaign_blocks.sent is
  'tally: messages with sent_at. Tallies are counted from messages when the block is closed, and again when recount is set';
comment on column campaign_blocks.failed is 'tally: bounced or failed, and never sent';
comment on column campaign_blocks.skipped is 'tally: skipped, see failure of messages';
comment on column campaign_blocks.unknown is 'tally: unknown, and never sent';
comment on column campaign_blocks.canceled is 'tally: canceled before they were sent';
comment on column campaign_blocks.counted is
  'tally: emails accepted, or bounced at hand-over, since counted_from of the campaign';
comment on column campaign_blocks.bounced is 'tally: those of counted that bounced for good';
comment on column campaign_blocks.complained is 'tally: those of counted whose recipients complained';
comment on column campaign_blocks.price_month is
  'the month in which the block has reserved the price of its messages; null: it has reserved nothing';
comment on column campaign_blocks.price_millicents is
  'what is left of the reservation, in thousandths of a cent: messages that are sent take their prices with them; those that go to queue rows reserve theirs again';

comment on table campaign_list_fills is 'recipients of a campaign that are being added to a list, in pages of blocks';
comment on column campaign_list_fills.list_id is 'the list that is filled';
comment on column campaign_list_fills.filters is 'which recipients: state, status, reason, opened, clicked';
comment on column campaign_list_fills.looked_at is 'how many messages were looked at';
comment on column campaign_list_fills.added is 'how many contacts were added that were not in the list before';
comment on column campaign_list_fills.served_at is
  'when its last page was done or failed: the fill that was served longest ago is next';
comment on column campaign_list_fills.finished_at is 'null: not finished';

comment on column campaign_removed_recipients.address_hash is
  'SHA-256 of the campaign and the address key, by removed_recipient_hash';

comment on column campaign_sums.sent is
  'the sum of the column of campaign_blocks, as are failed, skipped, unknown and canceled';
comment on column campaign_sums.failed is 'see sent';
comment on column campaign_sums.skipped is 'see sent';
comment on column campaign_sums.unknown is 'see sent';
comment on column campaign_sums.canceled is 'see sent';
comment on column campaign_sums.counted is 'the sum of the column of campaign_blocks, as are bounced and complained';
comment on column campaign_sums.bounced is 'see counted';
comment on column campaign_sums.complained is 'see counted';
comment on column campaign_sums.bounced_before is 'as counted_before';
comment on column campaign_sums.complained_before is 'as counted_before';

comment on column campaign_turns.claimed_at is
  'when a block was last claimed: the campaign that was served longest ago is next';

comment on column brand_turns.provider_id is 'as in send_queue';
comment on column brand_turns.claimed_at is 'the brand that was served longest ago is next';

comment on table templates is
  'content that clients edit: templates of brands, and the content of each campaign and of each sending step of a flow';
comment on column templates.flow_id is 'the flow whose content this is; null with campaign_id: a template of the brand';
comment on column templates.action_id is 'the step of flow_id whose content this is; null without flow_id';
comment on column templates.name is 'null: content of a campaign or flow';
comment on column templates.subject is 'Liquid; null for an SMS';
comment on column templates.preheader is 'Liquid: the text that mail programs show after the subject';
comment on column templates.body is 'Liquid in HTML or MJML, or the text of an SMS; null: never given';
comment on column templates.design is 'the sections of the editor; null: never given';
comment on column templates.from_name is
  'the sender''s name; null: none if from_email is given, else that of the account';
comment on column templates.from_email is 'the sender''s address; null: that of the account, or of the service';
comment on column templates.reply_to is 'null: that of the account';
comment on column templates.removed_at is
  'when it was deleted: it is hidden, and housekeeping deletes it when nothing needs it; null: not deleted';

comment on column template_versions.subject is 'Liquid; null for an SMS';
comment on column template_versions.preheader is 'Liquid; it is in html, too';
comment on column template_versions.text is 'Liquid: the text part of the mail, or the SMS';
comment on column template_versions.from_name is 'as in templates';
comment on column template_versions.from_email is 'as in templates';
comment on column template_versions.reply_to is 'as in templates';

comment on table drafts is
  'changes of a template, campaign, flow or segment that an editor has saved and not published. A resource has one draft at most';
comment on column drafts.template_id is 'the resource is one of template_id, campaign_id, flow_id and segment_id';
comment on column drafts.campaign_id is 'see template_id';
comment on column drafts.flow_id is 'see template_id';
comment on column drafts.segment_id is 'see template_id';

comment on column previews.page is 'the HTML';
comment on column previews.expires_at is 'a minute after the row was written';
`;
