/**
 * Comments on every table, and on every column whose name does not say what it contains: units, what null means, and
 * who writes it. Later migrations comment on what they add themselves.
 */
import { accountsComments } from './0146_comments/accounts.ts';
import { campaignsComments } from './0146_comments/campaigns.ts';
import { contactsComments } from './0146_comments/contacts.ts';
import { flowsComments } from './0146_comments/flows.ts';
import { formerComments } from './0146_comments/former.ts';
import { inboxComments } from './0146_comments/inbox.ts';
import { messagesComments } from './0146_comments/messages.ts';
import { moneyComments } from './0146_comments/money.ts';
import { operationsComments } from './0146_comments/operations.ts';

export const name = '0146_comments';

export const up = [
  messagesComments,
  campaignsComments,
  flowsComments,
  contactsComments,
  inboxComments,
  accountsComments,
  moneyComments,
  operationsComments,
].join('');

/** Each `comment on … is '…'` of `up`, with null in place of the text. A text contains no line break. */
const removed = up.replaceAll(/^(comment on \S+ \S+ is)\s+'.*';$/gm, '$1 null;');

export const down = removed + formerComments;
