import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Providers repeat a callback for a day at most. */
const HELP_DAYS = 30;
const ANSWER_DAYS = 1;

/**
 * STOP and START stay as long as the senders of the brand are remembered. Twilio signs no time: someone who has an old
 * callback with START could send it again, and end an opt-out that came later.
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
