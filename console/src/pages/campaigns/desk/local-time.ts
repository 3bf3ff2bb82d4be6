const pad = (part: number) => String(part).padStart(2, '0');

/** Returns a time as `datetime-local` inputs take it: in the zone of the viewer. @param at ISO 8601 */
export function localText(at: string | null): string {
  if (at === null) return '';
  const date = new Date(at);
  const day = [date.getFullYear(), pad(date.getMonth() + 1), pad(date.getDate())].join('-');
  return `${day}T${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

/** Reads what such an input has. @returns null if it is empty */
export const timeOf = (text: string): string | null => (text === '' ? null : new Date(text).toISOString());
