/** The time at which a message is to be sent. */
import { MAX_SCHEDULED_DAYS } from '../../delivery/terms/message.ts';
import type { ValidationErrors } from '../../errors.ts';

const MS_PER_DAY = 86_400_000;
/** A time that has passed by less means now: clocks differ, and requests take their time. */
const GRACE_MS = 5 * 60_000;

/**
 * Reads the time at which a client wants a message sent.
 * @param text in ISO 8601 with a zone
 * @param contentDays the setting MESSAGE_CONTENT_RETENTION_DAYS: a later message would keep the contents of all others
 * @param otherwise what to do to have the message sent now
 * @returns the time if it is ahead; null: at once
 */
export function readSchedule(
  text: string | undefined,
  contentDays: number,
  otherwise = 'leave it out',
): { time: Date | null; errors: ValidationErrors } {
  if (text === undefined) return { time: null, errors: {} };
  const time = new Date(text);
  const ahead = time.getTime() - Date.now();
  const days = Math.min(MAX_SCHEDULED_DAYS, contentDays);
  const refused = (message: string) => ({ time: null, errors: { scheduled_at: [message] } });
  if (days === 0) return refused('cannot be given here: this installation keeps no contents');
  if (ahead > days * MS_PER_DAY) return refused(`must be at most ${days} days ahead`);
  if (ahead < -GRACE_MS) return refused(`is in the past; ${otherwise} to send the message now`);
  return { time: ahead > 0 ? time : null, errors: {} };
}
