const exactly = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const briefly = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

/** In the time zone of this machine, where the reader is. */
export function moment(date: Date): string {
  return exactly.format(date);
}

/** Like {@link moment}, but short enough for a list. */
export function shortMoment(date: Date): string {
  return briefly.format(date);
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function counted(count: number): string {
  if (count === 0) return 'No messages';
  return count === 1 ? '1 message' : `${count.toLocaleString('en-GB')} messages`;
}
