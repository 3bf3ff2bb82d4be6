import { distance } from 'fastest-levenshtein';

/** Sorts the letters, so that swapped letters match, too, which count as two changes in the Levenshtein distance. */
const lettersOf = (name: string) => [...name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')].sort().join('');

/**
 * Returns a function that finds the known name that a client probably meant: it has the same letters, or differs by a
 * few. That function returns null if no name is near.
 */
export function createNameFinder(known: readonly string[]): (given: string) => string | null {
  const names = known.map((name) => ({ name, lower: name.toLowerCase(), letters: lettersOf(name) }));
  return (given) => {
    if (given.length > 64) return null;
    const letters = lettersOf(given);
    const same = names.find((each) => each.letters === letters);
    if (same) return same.name;
    const lower = given.toLowerCase();
    let best: string | null = null;
    let nearest = Math.max(1, Math.floor(given.length / 3)) + 1;
    for (const each of names) {
      const far = distance(lower, each.lower);
      if (far < nearest) [best, nearest] = [each.name, far];
    }
    return best;
  };
}

/**
 * Finds the known name that a client probably meant, for a single look-up; see {@link createNameFinder}.
 * @returns null if no name is near
 */
export const nearestName = (given: string, known: readonly string[]): string | null =>
  createNameFinder(known)(given);
