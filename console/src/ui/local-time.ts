/** The message for a time that has passed, at its field. */
export const PAST_TEXT = 'is in the past';

const pad = (part: number, length = 2) => String(part).padStart(length, '0');

/** Returns a time as `datetime-local` inputs take it: in the zone of the viewer. @param at ISO 8601 */
export function localText(at: string | null): string {
  if (at === null) return '';
  const date = new Date(at);
  const day = [pad(date.getFullYear(), 4), pad(date.getMonth() + 1), pad(date.getDate())].join('-');
  return `${day}T${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

/** Reads what such an input has. A year while it is typed may have more than four digits. @returns null if it is empty */
export function timeOf(text: string): string | null {
  if (text === '') return null;
  const long = text.replace(/^\d{5,6}(?=-)/, (year) => `+${year.padStart(6, '0')}`);
  return new Date(long).toISOString();
}

/** For the API, a time in the past means now, which is not what a user who typed a time means. */
export const isPast = (at: string | null, now: number = Date.now()): boolean =>
  at !== null && Date.parse(at) <= now;
