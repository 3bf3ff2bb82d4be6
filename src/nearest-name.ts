import { distance } from 'fastest-levenshtein';

/**
 * The known name that a client probably meant: it has the same letters, or differs by a few.
 * @returns null if no name is near
 */
export function nearestName(given: string, known: readonly string[]): string | null {
  if (given.length > 64) return null;
  // Sorted, so that swapped letters match, too: they count as two changes in a Levenshtein distance.
  const letters = (name: string) => [...name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')].sort().join('');
  const same = known.find((name) => letters(name) === letters(given));
  if (same) return same;
  const ranked = known
    .map((name) => ({ name, far: distance(given.toLowerCase(), name.toLowerCase()) }))
    .sort((one, other) => one.far - other.far);
  const best = ranked[0];
  return best && best.far <= Math.max(1, Math.floor(given.length / 3)) ? best.name : null;
}
