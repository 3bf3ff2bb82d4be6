/** The time in which a scanner fetches all links of a message. */
export const BURST_SECONDS = 10;

/** When a link of a message was fetched, in whole seconds. */
export interface LinkFetch {
  link: number;
  second: number;
}

/**
 * Finds the ten seconds around a fetch in which every link of its message was fetched, by whomever. The time is linear in
 * the number of fetches.
 * @param second of the fetch that is judged
 * @param links how many links the message has; less than two are never a burst
 * @param fetches of links, by time
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
    // Each span ends with a fetch and begins at most ten seconds before, and before the fetch that is judged.
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
