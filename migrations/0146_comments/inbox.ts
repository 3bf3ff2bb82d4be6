/** What comments say about inboxes, conversations and SMS senders. */
export const inboxComments = `
comment on table inboxes is 'addresses at which a brand receives mail';
comment on column inboxes.address is 'as it was created';
comment on column inboxes.address_key is 'the address in the form in which addresses are compared';
comment on column inboxes.enabled is 'false: mail to it is refused';
comment on column inboxes.create_contacts is 'whether a sender who is no contact becomes one';
comment on column inboxes.evicted_count is 'mails that were deleted from its quarantine to make room for others';
comment on column inboxes.last_evicted_at is 'null: never';

comment on table inbound_tokens is
  'the secret of each account that another mail server delivers for, in the path of POST /inbound/<token>';
comment on column inbound_tokens.digest is 'SHA-256 of the secret';

comment on column inbox_blocks.email is 'the address; null: domain is blocked';
comment on column inbox_blocks.domain is 'the domain; null: email is blocked';

comment on table inbound_mails is
  'mail that was accepted and has yet to be read; one row for each inbox. Reading it deletes the row and adds a row of conversation_messages';
comment on column inbound_mails.size is 'bytes of the message';
comment on column inbound_mails.envelope_from is 'the address of MAIL FROM; empty: none';
comment on column inbound_mails.recipient is 'the address of RCPT TO';
comment on column inbound_mails.ip is 'of the sending server; null: not known';
comment on column inbound_mails.helo is 'how the sending server calls itself; null: not known';
comment on column inbound_mails.source is 'smtp, or http (POST /inbound/<token>)';
comment on column inbound_mails.attempts is
  'how often a process has claimed it, without claims that were given back; a process that knows another number has lost it';
comment on column inbound_mails.received_at is 'when it was accepted';

comment on table conversations is 'mail that belongs together, of one inbox';
comment on column conversations.contact_id is 'the contact who writes; null: none';
comment on column conversations.status is 'open or closed';
comment on column conversations.assignee_id is 'the user who is to answer; null: none';
comment on column conversations.unread_count is
  'mails that arrived since a user marked it as read; 1 if a user marked it as unread';
comment on column conversations.last_message_at is 'when the last message arrived or was sent';

comment on table conversation_messages is 'mail that inboxes received, also in quarantine, and the answers';
comment on column conversation_messages.direction is 'inbound or outbound';
comment on column conversation_messages.message_id is
  'inbound: the row of messages that it answers; outbound: the row that sends it; null: none';
comment on column conversation_messages.from_address is 'with the display name';
comment on column conversation_messages.to_addresses is 'those of the To field';
comment on column conversation_messages.cc_addresses is 'those of the Cc field';
comment on column conversation_messages.reply_to is 'the Reply-To field; null: none';
comment on column conversation_messages.truncated is 'whether text or html was too long and is stored in part';
comment on column conversation_messages.auto_submitted is
  'a program wrote it, by its header: it starts no flow unless a filter asks for it';
comment on column conversation_messages.authentication is
  '{spf, dkim, dmarc, arc, aligned}: results by RFC 8601, such as pass; null: outbound';
comment on column conversation_messages.raw_size is 'bytes of the message as it arrived; 0 if it is outbound';
comment on column conversation_messages.scan_state is
  'none, pending (the workflow inbox-scan/<id> has yet to scan it) or done';
comment on column conversation_messages.engine_expected_by is
  'if the workflow inbox-scan/<id> has not ended by then, the reconciler checks that it runs; null: none is needed';
comment on column conversation_messages.received_at is 'when it was accepted, or written';

comment on table conversation_attachments is 'files of inbound mail';
comment on column conversation_attachments.conversation_message_id is 'the row of conversation_messages';
comment on column conversation_attachments.filename is 'as in the mail';
comment on column conversation_attachments.size is 'bytes';
comment on column conversation_attachments.content_id is 'the Content-ID, by which HTML shows the file; null: none';
comment on column conversation_attachments.inline is 'whether the mail shows it in its text';
comment on column conversation_attachments.scan_status is 'pending, clean, infected or skipped';
comment on column conversation_attachments.scan_reason is
  'the name of the virus, or why it was skipped, such as too_large; null: neither';

comment on table inbox_digests is 'what arrived in the last 30 days, so that a mail delivered twice arrives once';
comment on column inbox_digests.digest is
  'a hash of what the mail says about itself and of its body, and a byte that says how well it is authenticated';
comment on column inbox_digests.received_at is 'when the mail arrived';

comment on column inbox_removed_files.key is 'of the blob';
comment on column inbox_removed_files.size is 'bytes';
comment on column inbox_removed_files.removed_at is 'when the row went';

comment on column inbox_shared_files.key is 'of the blob';

comment on table inbox_storage is 'what the raw mail and the attachments of an account use of its quota';
comment on column inbox_storage.bytes is 'bytes of all blobs, also of those that are about to be removed';
comment on column inbox_storage.evicted_bytes is 'their bytes';
comment on column inbox_storage.last_evicted_at is 'null: never';

comment on column operator_mails.sender is 'the From field; empty: none';
comment on column operator_mails.received_at is 'when it arrived';

comment on column sms_senders.removed_at is 'when it was replaced; null: it is used';

comment on column sms_keywords.provider_message_id is 'the id that the provider gave the recipient''s message';
comment on column sms_keywords.keyword is 'stop, start or help';
comment on column sms_keywords.received_at is 'when it was recorded';

comment on table sms_help_answers is 'when HELP was last answered, so that it is not answered too often';
comment on column sms_help_answers.address_hash is 'HMAC of the number, as in opt_outs';
comment on column sms_help_answers.answered_at is 'the last time';
`;
