/** How long a scanner takes at most to fetch all links of a message. */
export const BURST_SECONDS = 10;

/** When a link of a message was fetched, in whole seconds. */
export interface LinkFetch {
  link: number;
  second: number;
}

/**
 * Finds ten seconds around a fetch in which every link of its message was fetched, regardless of the client. Takes
 * linear time in the number of fetches.
 * @param second of the fetch to classify
 * @param links number of links in the message; a single link is never a burst
 * @param fetches of links, in order of time
 * @returns the first and last second of the burst; null if there is none
 */
export function findBurst(
  second: number,
  links: number,
  fetches: readonly LinkFetch[],
): { from: number; to: number } | null {
  if (links < 2) return null;
  const counts = new Map<number, number>();
  let oldest = 0;
  for (const { link, second: last } of fetches) {
    if (last > second + BURST_SECONDS) return null;
    counts.set(link, (counts.get(link) ?? 0) + 1);
    // Each span ends with a fetch, begins at most ten seconds earlier, and includes the fetch to classify.
    const end = Math.max(last, second);
    for (let first = fetches[oldest]; first && first.second < end - BURST_SECONDS; first = fetches[oldest]) {
      const left = (counts.get(first.link) ?? 0) - 1;
      if (left > 0) counts.set(first.link, left);
      else counts.delete(first.link);
      oldest += 1;
    }
    const from = fetches[oldest]?.second ?? last;
    if (counts.size >= links) return { from: Math.min(from, second), to: end };
  }
  return null;
}
