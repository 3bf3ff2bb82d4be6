const when = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** In this machine's time zone: whoever reads it sits at it. */
export function moment(date: Date): string {
  return when.format(date);
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function counted(count: number): string {
  return count === 1 ? '1 message' : `${count.toLocaleString('en-GB')} messages`;
}
