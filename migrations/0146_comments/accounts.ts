/** What comments say about accounts, brands, people and the programs that act for them. */
export const accountsComments = `
comment on table accounts is
  'customers, and one row for the service itself, whose mail to users and owners it sends (kind system, id 0)';
comment on column accounts.kind is 'customer or system';
comment on column accounts.name is 'null: not given';
comment on column accounts.avatar is 'an uploaded image, as upload:<id>; null: none';
comment on column accounts.banner is 'an uploaded image, as upload:<id>; null: none';
comment on column accounts.comped is 'free of charge: its messages and validations cost nothing';
comment on column accounts.tier is
  'free, paid or trusted, set by an operator: it chooses the defaults of limits, the prices, and whether campaigns need an approval';
comment on column accounts.approval_state is
  'whether an operator must approve campaigns and flows: not_required (the tier decides), pending, approved (no approval is needed) or rejected';
comment on column accounts.sending_paused_at is 'since when nothing of the account leaves; null: not paused';
comment on column accounts.sending_paused_reason is 'for the owners, why it is paused; null: not paused';
comment on column accounts.sandbox_monthly_cap is
  'emails of a calendar month (UTC) from the address of the service; null: the setting SANDBOX_MONTHLY_CAP';
comment on column accounts.allowance_per_day is 'messages in any 24 hours; null: the setting of the tier';
comment on column accounts.spend_cap_monthly_cents is
  'cents that messages and validations of a calendar month (UTC) may cost; null: no cap';
comment on column accounts.auto_topup is 'the wallet is topped up by itself, see topup_settings';
comment on column accounts.email_from_name is 'the sender''s name of messages that name no sender; null: none';
comment on column accounts.email_from_email is 'the sender''s address of messages that name no sender; null: none';
comment on column accounts.email_reply_to is 'the Reply-To of messages that have none; null: none';
comment on column accounts.test_email_recipients is
  'addresses, beside those of its users, to which tests of templates may be sent';
comment on column accounts.onboarding_state is 'steps that are done, each as {completed_at}';
comment on column accounts.capabilities is
  'exceptions from the default capabilities, by name: true or false, set by an operator';
comment on column accounts.sms_provider_ids is 'as email_provider_ids, for SMS';
comment on column accounts.sending_paused_by is
  'operator or brakes (the bounce or complaint rate was too high); only the pause of an operator makes tracked links dead. Null: not paused';

comment on table account_counters is
  'what each customer has used in all time, without usage_changes that are not yet folded in';
comment on column account_counters.email_sent is 'emails that a provider has accepted';
comment on column account_counters.sms_sent is 'SMS that a provider has accepted';
comment on column account_counters.ai_used is 'calls for the tone of a brand';

comment on column account_log.actor is 'the name of the operator, or of the service if it made the change itself';
comment on column account_log.action is 'the command, such as account set';

comment on table account_months is
  'what priced messages have reserved, by month; rises when a message or block is reserved, falls only when one is given back. Accounts without prices have no rows. Locked before idempotency keys, messages, queue rows and blocks, in the order of the key, by statements that reserve; statements that give back lock it after messages, queue rows and blocks';
comment on column account_months.month is 'the first day of the calendar month, UTC';
comment on column account_months.spent_millicents is
  'what messages have reserved or cost, in thousandths of a cent, without validations';
comment on column account_months.validation_millicents is
  'what settled validations have cost, in thousandths of a cent';

comment on column account_outcomes.hour is 'the beginning of the hour, UTC';
comment on column account_outcomes.hard_bounces is 'addresses that were suppressed because they bounced for good';
comment on column account_outcomes.complaints is 'addresses that were suppressed because their owners complained';

comment on table account_usage is
  'charged outcomes by calendar month (UTC): messages that were sent or are unknown. Without usage_changes that are not yet folded in';
comment on column account_usage.month is 'the first day of the month';
comment on column account_usage.email_used is 'emails';
comment on column account_usage.sms_used is 'segments of SMS';
comment on column account_usage.ai_used is 'calls for the tone of a brand';

comment on column usage_changes.month is 'as in account_usage';
comment on column usage_changes.email_used is 'as in account_usage; negative: a charge is reversed';
comment on column usage_changes.sms_used is 'as in account_usage; negative: a charge is reversed';
comment on column usage_changes.ai_used is 'as in account_usage';
comment on column usage_changes.email_sent is 'as in account_counters';
comment on column usage_changes.sms_sent is 'as in account_counters';

comment on column allowance_buckets.bucket is 'the beginning of the ten minutes';
comment on column allowance_buckets.used is 'how many places are taken';

comment on table allowance_episodes is
  'which of sending.limit_approaching and sending.limit_reached was published last: each is published once until the use has fallen again';
comment on column allowance_episodes.approaching is 'the episode of sending.limit_approaching has not ended';
comment on column allowance_episodes.reached is 'the episode of sending.limit_reached has not ended';

comment on table sandbox_usage is
  'emails from the address of the service, which count against accounts.sandbox_monthly_cap';
comment on column sandbox_usage.month is 'the first day of the calendar month, UTC';
comment on column sandbox_usage.used is
  'emails that were accepted, and recipients of campaigns whose block was claimed';

comment on table api_keys is 'keys of the API; each belongs to a brand';
comment on column api_keys.display_prefix is 'the beginning of the key, by which people recognize it';
comment on column api_keys.test is 'a test key: what it sends never leaves the service';
comment on column api_keys.last_used_at is 'null: never';
comment on column api_keys.revoked_at is 'when a user revoked it; null: it is valid';

comment on table audit_entries is
  'who changed what in an account: one row for each request that changes something, and for commands of operators';
comment on column audit_entries.actor_kind is 'user, api_key, operator or system';
comment on column audit_entries.actor_id is 'the id of the user or API key; null: neither';
comment on column audit_entries.actor_name is
  'at that time: the address of the user, the prefix and name of the key, or the name of the operator';
comment on column audit_entries.resource_id is 'what the path of the request names, or else what it created';
comment on column audit_entries.details is 'always empty: no process writes it';
comment on column audit_entries.ip is 'of the client; null: a command, or not known';
comment on column audit_entries.request_id is 'of the request, as in the log; null: a command';

comment on table brands is
  'what an account sends as: the look of its mail, its tracking, and its rules for flows and campaigns';
comment on column brands.brand_color is
  '# and six hexadecimal digits, like text_color and bg_color; null: not given, as for the other columns of the look';
comment on column brands.text_color is 'see brand_color';
comment on column brands.bg_color is 'see brand_color';
comment on column brands.font_heading is 'the font family of headings';
comment on column brands.font_body is 'the font family of text';
comment on column brands.style_notes is 'free text of the client';
comment on column brands.tone is 'how the brand speaks, free text';
comment on column brands.company_description is 'free text';
comment on column brands.industry is 'free text';
comment on column brands.physical_address is 'the postal address in the footer of mail';
comment on column brands.company_name is 'as shown in the footer of mail';
comment on column brands.source_url is 'the website of the last scrape that succeeded; null: none';
comment on column brands.example_copy is 'sentences from the website, as examples of the tone';
comment on column brands.default_header is
  'the section of a design that stands at the top of mail without one of its own; {}: none';
comment on column brands.default_footer is 'as default_header, at the end';
comment on column brands.default_theme is 'colors and fonts of designs without their own; {}: none';
comment on column brands.links is '[{url, icon, title}], such as social networks';
comment on column brands.logo is 'a URL, or an uploaded image as upload:<id>; null: none';
comment on column brands.track_opens is
  'whether opens of its mail are tracked, unless a message says that they are not';
comment on column brands.track_clicks is
  'whether clicks in its mail are tracked, unless a message says that they are not';
comment on column brands.last_scraped_at is 'when a scrape last succeeded; null: never';

comment on table brand_scrapes is
  'look-ups of a brand''s website, which fill the fields of the brand; the newest of each brand, and recent ones';
comment on column brand_scrapes.url is 'the website';
comment on column brand_scrapes.overwrite is 'whether fields are filled, too, that people have edited';
comment on column brand_scrapes.fields_found is 'names of the fields that were found';
comment on column brand_scrapes.error is 'a code: why it failed; null: it did not';
comment on column brand_scrapes.engine_expected_by is
  'if the workflow of the scrape has not ended by then, the reconciler checks that it runs; null: ended';

comment on table uploads is 'images and other files that users have uploaded';
comment on column uploads.content_type is 'detected from the content';
comment on column uploads.size is 'bytes';
comment on column uploads.storage_key is 'the key of the blob';
comment on column uploads.kept is 'it stays although no avatar, banner or logo refers to it, because mail may show it';

comment on table idempotency_keys is
  'keys of requests that created something: the same request with the key again gets what was created. Kept for seven days';
comment on column idempotency_keys.endpoint is 'method and path of the route, with " (test)" for test keys';
comment on column idempotency_keys.key is 'as the client sent it';
comment on column idempotency_keys.fingerprint is 'SHA-256 of the parsed body: another body with the key is refused';
comment on column idempotency_keys.status is 'the HTTP status of the response';
comment on column idempotency_keys.resource_id is 'what was created';

comment on column rate_limit_buckets.caller is 'the API key, user or network, such as "key 7"';
comment on column rate_limit_buckets.tokens is 'how many were left when the last block was taken';
comment on column rate_limit_buckets.filled_at is 'when the last block was taken';

comment on table users is 'people who sign in';
comment on column users.mobile is 'the user''s phone number, to which tests of SMS may be sent; empty: none';
comment on column users.country_code is 'as the user gave it; empty: none';
comment on column users.password_hash is 'Argon2id';
comment on column users.session_version is 'unused: sessions are rows of sessions';

comment on table memberships is 'which users belong to which accounts';
comment on column memberships.role is 'owner, admin or member';

comment on table invitations is 'people who may join an account; an address has one pending row for each account';
comment on column invitations.email_key is 'the address in lower case';
comment on column invitations.role is 'the role that the user will have';
comment on column invitations.invited_by is 'the user; null: deleted since';
comment on column invitations.accepted_at is 'null: not accepted';
comment on column invitations.revoked_at is 'null: not revoked';
comment on column invitations.expires_at is 'from then on it cannot be accepted';

comment on column sessions.kind is 'token (in a header) or cookie';
comment on column sessions.network is
  'where the user signed in: an IPv4 address or the /48 of an IPv6 address; null: not known';
comment on column sessions.last_used_at is 'to the minute';
comment on column sessions.expires_at is 'the session ends then';

comment on table ended_sessions is
  'unused: sessions are rows of sessions. Housekeeping deletes the rows that earlier versions wrote';
comment on column ended_sessions.token_id is 'the id in the token';
comment on column ended_sessions.expires_at is 'from then on the row is not needed';

comment on column login_networks.logged_in_at is 'the last time';

comment on table second_factors is 'the secret for the codes of a user''s authenticator app';
comment on column second_factors.secret_sealed is 'the secret, encrypted';
comment on column second_factors.failed_tries is 'wrong codes since the last right one, or since the last lock';
comment on column second_factors.locked_until is 'no code is accepted before; null: not locked';

comment on table recovery_codes is 'codes that replace the authenticator app, once each';
comment on column recovery_codes.digest is 'SHA-256 of the code';
comment on column recovery_codes.used_at is 'null: not used';

comment on column password_reset_requests.email_key is 'the address in lower case';

comment on table password_resets is 'links that were mailed, with which a user sets a new password once';
comment on column password_resets.token_digest is 'SHA-256 of the token in the link';
comment on column password_resets.used_at is 'null: not used';
comment on column password_resets.expires_at is 'from then on the link does not work';

comment on table secret_mails is
  'messages with a link that signs a person in; their contents are removed as soon as they are sent';

comment on column oauth_clients.id is 'the client_id of OAuth';
comment on column oauth_clients.metadata is 'as registered (RFC 7591)';
comment on column oauth_clients.network is
  'where it was registered: an IPv4 address, or the /48 of an IPv6 address; null: not known';

comment on column oauth_grants.client_id is 'the client_id of OAuth';
comment on column oauth_grants.scopes is 'names of scopes';
comment on column oauth_grants.last_used_at is 'null: never';
comment on column oauth_grants.expires_at is 'extended with each refresh token';
comment on column oauth_grants.revoked_at is 'null: not revoked';

comment on column oauth_tokens.model is 'Interaction, AuthorizationCode, AccessToken or RefreshToken';
comment on column oauth_tokens.grant_id is 'null: an authorization in progress';
comment on column oauth_tokens.payload is 'as the library for OAuth stores it, without secrets';
comment on column oauth_tokens.consumed_at is 'when a code or refresh token was used; null: not used';
comment on column oauth_tokens.expires_at is 'from then on it is invalid';

comment on table mcp_calls is
  'calls of assistants, without contents: neither arguments nor results. Rows outlive the grant, the user and the brand';
comment on column mcp_calls.client_id is 'of the grant';
comment on column mcp_calls.client_name is 'what the client calls itself';
comment on column mcp_calls.tool is 'the name of the tool';
comment on column mcp_calls.request_id is 'as in the log';

comment on table mcp_confirmations is
  'calls of assistants that wait until their user agrees. Rows live for minutes, so they may outlive their grant';
comment on column mcp_confirmations.tool is 'the name of the tool';
comment on column mcp_confirmations.arguments_digest is 'SHA-256 of the arguments: a confirmed call must have the same';
comment on column mcp_confirmations.expires_at is 'from then on the code is invalid';
comment on column mcp_confirmations.used_at is 'when the call was made; null: not made';
`;
