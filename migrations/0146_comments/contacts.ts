/** What comments say about contacts, lists, segments, imports, exports and validations. */
export const contactsComments = `
comment on table contacts is
  'the people of a brand, with both channels in their row. The API shows channels with ids of their own: that of the email channel is twice the id of the contact, that of the phone one more';
comment on column contacts.uuid is 'another id, which clients see';
comment on column contacts.source is 'where the contact comes from, as the client says';
comment on column contacts.country_code is 'ISO 3166, two letters; null: not known';
comment on column contacts.data is 'the client''s own fields';
comment on column contacts.email is 'as it was given; null: no email channel';
comment on column contacts.email_subscribed is
  'whether campaigns and flows may be sent to the address, see opt_outs as well';
comment on column contacts.email_verified is
  'whether the last validation found the address deliverable; false after the address changes';
comment on column contacts.email_opt_in_at is 'when the contact last subscribed; null: not known';
comment on column contacts.email_opt_in_source is 'how: api (with the address), manual (the API, later), import, or sms_start; null: not known';
comment on column contacts.email_opt_out_at is
  'when the contact last unsubscribed; null: never, or it has subscribed since';
comment on column contacts.email_data is 'the client''s own fields of the channel';
comment on column contacts.email_created_at is 'when the channel was added; null: no email channel';
comment on column contacts.email_updated_at is 'when the channel last changed; null: no email channel';
comment on column contacts.phone_subscribed is 'as email_subscribed, for SMS';
comment on column contacts.phone_verified is 'always false: phone numbers are not validated';
comment on column contacts.phone_opt_in_at is 'as email_opt_in_at';
comment on column contacts.phone_opt_in_source is 'as email_opt_in_source';
comment on column contacts.phone_opt_out_at is 'as email_opt_out_at';
comment on column contacts.phone_data is 'as email_data';
comment on column contacts.phone_created_at is
  'when the channel was added, or an import or bulk request replaced its number; null: no phone channel';
comment on column contacts.phone_updated_at is 'when the channel last changed; null: no phone channel';
comment on column contacts.enriched_at is
  'when the client first said that it has enriched the contact; null: it has not';

comment on column contact_activity.last_interacted_at is 'when it happened';

comment on table contact_channel_counts is
  'messages of each contact and channel, for filters. Who writes a row has locked the contact in the same transaction; a trigger removes the rows with the contact';
comment on column contact_channel_counts.sent_count is 'messages that a provider accepted, without tests';
comment on column contact_channel_counts.fail_count is 'messages that failed or bounced, without tests';

comment on table contact_engagement is
  'email that was sent to a contact, and what the contact opened and clicked, for filters. Partitioned by month';
comment on column contact_engagement.created_at is 'when it happened';

comment on column contact_event_keys.key is 'the key of the request';
comment on column contact_event_keys.event_id is 'the row of contact_events';

comment on table contact_events is
  'tracked events of contacts: sent by clients, by steps of flows, or by Carillon itself. Partitioned by month of created_at';
comment on column contact_events.name_id is 'the row of event_names';
comment on column contact_events.chain_depth is
  'how many flow runs led to it, one after another; 0: no flow tracked it';
comment on column contact_events.test is 'starts no flow outside of tests and matches no segment';
comment on column contact_events.generated is 'a step of a flow or Carillon itself wrote it, not a client';
comment on column contact_events.user_id is 'the user who tracked it; null: an API key, a flow or Carillon did';
comment on column contact_events.amount is 'a number that the client gave, such as the value of an order';
comment on column contact_events.data is 'the client''s own fields; null: none';
comment on column contact_events.idempotency_key is 'as in contact_event_keys; null: none';
comment on column contact_events.resource_uid is 'what the event is about, by the client''s own id';
comment on column contact_events.resource_name is 'as the client calls it';
comment on column contact_events.resource_url is 'where it is shown';
comment on column contact_events.ip is 'the address of the contact, as the client says';
comment on column contact_events.browser is 'derived from user_agent';
comment on column contact_events.os is 'derived from user_agent';
comment on column contact_events.device_type is 'derived from user_agent';
comment on column contact_events.referrer is 'the page that the contact came from';
comment on column contact_events.utm_source is
  'as the client gave it, or from the query of resource_url or referrer, like the other UTM parameters';
comment on column contact_events.utm_medium is 'see utm_source';
comment on column contact_events.utm_term is 'see utm_source';
comment on column contact_events.utm_content is 'see utm_source';
comment on column contact_events.utm_campaign is 'see utm_source';

comment on column contact_former_addresses.address_key is 'as to_key of messages';
comment on column contact_former_addresses.replaced_at is 'messages from before are the contact''s';

comment on column contact_removals.contact_id is 'the contact that was deleted';
comment on column contact_removals.requested_at is 'when the contact was deleted';
comment on column contact_removals.step is 'the part of the work under way, by its number';
comment on column contact_removals.after_id is 'rows up to this id are done in the step';

comment on column cleared_messages.removal_id is 'the row of contact_removals';

comment on column contact_subscriptions.subscribed is 'whether the contact subscribed or unsubscribed';
comment on column contact_subscriptions.source is
  'how: one_click, sms_stop, sms_start, provider, manual (the API), import, or api (the API, with the address); null: not known';

comment on table contact_verdicts is
  'the last result of a validation for the email address of a contact; it says nothing about another address that the contact has now';
comment on column contact_verdicts.email_key is 'the address that was validated, as to_key of messages';
comment on column contact_verdicts.verdict is 'deliverable, undeliverable, risky or unknown';
comment on column contact_verdicts.reason is 'a code: what decided';
comment on column contact_verdicts.checks is 'the results of the single checks';
comment on column contact_verdicts.suggestion is 'the address that may be meant; null: none';
comment on column contact_verdicts.checked_at is 'when it was validated';

comment on table audience_counts is
  'contacts of each brand and list, without audience_count_changes that are not yet folded in';
comment on column audience_counts.subject is 'brand or list';
comment on column audience_counts.id is 'of the brand or list';
comment on column audience_counts.count is 'how many';

comment on table audience_count_changes is
  'what each statement added or removed: rows of their own, so that no two transactions wait for one counter. A worker folds them into audience_counts';
comment on column audience_count_changes.subject is 'as in audience_counts';
comment on column audience_count_changes.id is 'as in audience_counts';
comment on column audience_count_changes.change is 'how many; negative: removed';

comment on table lists is 'lists of contacts that clients fill; see list_members';
comment on column lists.description is 'free text of the client';

comment on table list_members is 'which contacts are in which lists';
comment on column list_members.created_at is 'when the contact was added';

comment on column list_bulk_results.contact_ids is 'the contact of each item; null: none was found';

comment on table segments is 'filters that select contacts whenever they are asked';
comment on column segments.filters is 'conditions, all of which a contact meets';

comment on column segment_references.segment_id is 'the segment that names it';
comment on column segment_references.kind is 'segment or list';
comment on column segment_references.target_id is 'the list or segment that is named';

comment on table bulk_actions is
  'actions on all contacts, or conversations, that match a filter. The workflow of each makes it in pages';
comment on column bulk_actions.action is 'delete, add_to_list, remove_from_list, unsubscribe or delete_conversations';
comment on column bulk_actions.list_id is 'the list of add_to_list and remove_from_list; else null';
comment on column bulk_actions.dry_run is 'only counts';
comment on column bulk_actions.status is 'queued, counting, running, completed, canceled or failed';
comment on column bulk_actions.error is 'a code: why it failed; null: it did not';
comment on column bulk_actions.counted is 'how many match, as far as they are counted';
comment on column bulk_actions.total_count is 'how many match; null: not counted yet';
comment on column bulk_actions.processed_count is 'how many were done or left as they were';
comment on column bulk_actions.changed_count is 'how many were changed';
comment on column bulk_actions.failed_count is 'how many could not be changed';
comment on column bulk_actions.engine_expected_by is
  'if the workflow has not shown by then that it is active, the reconciler checks that it runs; null: ended';

comment on table exports is
  'CSV files that clients asked for. The workflow of each writes them in parts, see export_parts';
comment on column exports.resource is 'contacts, suppressions or messages';
comment on column exports.filters is 'as in the request';
comment on column exports.status is 'queued, processing, completed, failed or canceled';
comment on column exports.error is 'a code: why it failed; null: it did not';
comment on column exports.parts is 'how many parts are written';
comment on column exports.total_rows is 'null: not counted yet';
comment on column exports.processed_rows is 'how many are in the parts';
comment on column exports.engine_expected_by is 'as in bulk_actions';
comment on column exports.expires_at is 'when the files are removed; null: under way';

comment on column export_parts.number is 'the place in the file';
comment on column export_parts.storage_key is 'the key of the blob';
comment on column export_parts.size is 'bytes';
comment on column export_parts.rows is 'how many rows of the export it has';

comment on table imports is
  'CSV files of contacts or suppressions, and what became of their rows. The workflow import/<id> reads them in chunks';
comment on column imports.resource is 'contacts or suppressions';
comment on column imports.file_bytes is 'the size of the file';
comment on column imports.status is 'queued, processing, completed, failed or canceled';
comment on column imports.options is 'as in the request';
comment on column imports.total_rows is 'data rows of the file; null: not counted yet';
comment on column imports.created_count is
  'rows that created something; created, updated, unchanged, duplicate and failed rows add up to total_rows in the end';
comment on column imports.updated_count is 'rows that changed something that was there';
comment on column imports.unchanged_count is 'rows that agreed with what was there';
comment on column imports.duplicate_count is 'rows whose address an earlier row of the file had';
comment on column imports.failed_count is 'rows that were refused';
comment on column imports.failure_code is 'why the import failed as a whole; null: it did not';
comment on column imports.failure is 'failure_code in words';
comment on column imports.engine_expected_by is 'as in bulk_actions';

comment on column import_addresses.address_key is 'as to_key of messages';

comment on table import_errors is
  'rows that failed or were imported without some of their cells, with what they contained, so that they can be mended and imported again. Kept for 30 days';
comment on column import_errors.row_number is 'the number of the row in the file';
comment on column import_errors.email_key is 'the address in the row, as to_key of messages; null: none';
comment on column import_errors.phone is 'the number in the row; null: none';
comment on column import_errors.column_name is 'the column that is wrong; null: the row as a whole';
comment on column import_errors.code is 'what is wrong';
comment on column import_errors.message is 'code in words';
comment on column import_errors.fields is 'the cells of the row, in the order of the columns';

comment on table validation_operations is
  'validations of the addresses of an audience. A workflow takes the candidates as items, checks them, and settles the price';
comment on column validation_operations.test is 'of a test key: outcomes are made up, and nothing is charged';
comment on column validation_operations.idempotency_key is 'of the request; null: none';
comment on column validation_operations.audience_kind is 'contact_channel_ids, contact_ids, list_id or segment_id';
comment on column validation_operations.status is 'pending, running, completed, canceled or failed';
comment on column validation_operations.snapshot_complete is 'whether all candidates are taken as items';
comment on column validation_operations.taken_count is 'candidates that are items';
comment on column validation_operations.taken_chargeable_count is 'those of taken_count that were reserved for';
comment on column validation_operations.undeliverable_count is 'as deliverable_count';
comment on column validation_operations.risky_count is 'as deliverable_count';
comment on column validation_operations.unknown_count is 'as deliverable_count';
comment on column validation_operations.price_millicents is
  'the price of a conclusive result when it was started, in thousandths of a cent';
comment on column validation_operations.reserved_millicents is
  'what it has reserved and not yet settled, in thousandths of a cent';
comment on column validation_operations.engine_expected_by is 'as in bulk_actions';

comment on table validation_items is 'the addresses of a validation, with their results';
comment on column validation_items.operation_id is 'the row of validation_operations';
comment on column validation_items.email_key is 'as to_key of messages; null once the contact is deleted';
comment on column validation_items.reason is 'as in contact_verdicts';
comment on column validation_items.checks is 'as in contact_verdicts';
comment on column validation_items.suggestion is 'as in contact_verdicts';
comment on column validation_items.charged is 'whether the result costs the price';
comment on column validation_items.checked_at is 'null: not checked';
`;
