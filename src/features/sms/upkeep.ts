import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** How long HELP is remembered, in days. Providers repeat a callback for at most one day. */
const HELP_DAYS = 30;
const ANSWER_DAYS = 1;

/**
 * Deletes only HELP. STOP and START are kept as long as the senders of the brand: Twilio does not sign a time, so an
 * attacker with an old callback with START could repeat it and end a later opt-out.
 */
const oldKeywords = batchTask(
  'sms_keywords',
  `delete from sms_keywords where ctid = any (array(
     select ctid from sms_keywords where keyword = 'help' and received_at < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, HELP_DAYS),
);

const oldHelpAnswers = batchTask(
  'sms_help_answers',
  `delete from sms_help_answers where ctid = any (array(
     select ctid from sms_help_answers where answered_at < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, ANSWER_DAYS),
);

export const smsUpkeep: Upkeep = { tasks: [oldKeywords, oldHelpAnswers] };
