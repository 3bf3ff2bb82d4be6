/** Ranks words that begin with what is typed before those that contain it; letters far apart match nothing. */
export function rank(value: string, typed: string, keywords: string[] = []): number {
  const text = [value, ...keywords].join(' ').toLowerCase();
  const wanted = typed.trim().toLowerCase();
  if (text.startsWith(wanted)) return 1;
  if (text.includes(` ${wanted}`)) return 0.8;
  return text.includes(wanted) ? 0.4 : 0;
}
