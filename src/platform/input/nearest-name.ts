import { distance } from 'fastest-levenshtein';

/** Sorted, so that swapped letters match, too: they count as two changes in a Levenshtein distance. */
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

/** The known name that a client probably meant; null if no name is near. For one name: see {@link createNameFinder}. */
export const nearestName = (given: string, known: readonly string[]): string | null =>
  createNameFinder(known)(given);
