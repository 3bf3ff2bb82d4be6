/**
 * Fields that only the automatic replies of people's mailboxes have, whatever they contain. Reports of mail servers have
 * none of them. `docs/inboxes.md` has the programs that write them.
 */
export const autoReplyFields: readonly string[] = [
  'x-autoreply',
  'x-auto-reply',
  'x-autorespond',
  'x-autoresponse',
  'x-auto-response',
  'x-autoresponder',
  'x-autorespond-to',
  'autorespond',
  'x-autoreply-from',
  'x-auto-reply-from',
  'x-mail-autoreply',
  'x-vacation',
];
