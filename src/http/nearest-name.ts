/** Letters to change, add, drop or swap with the next to get from one word to the other. */
function distance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let best = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) best = Math.min(best, (beforeLast[column - 2] ?? 0) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}

/**
 * The known name a client probably meant: a slip of a letter or two, or other spelling of the words.
 * @returns null where nothing is near
 */
export function nearestName(given: string, known: readonly string[]): string | null {
  if (given.length > 64) return null;
  const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const same = known.find((name) => plain(name) === plain(given));
  if (same) return same;
  const ranked = known
    .map((name) => ({ name, far: distance(given.toLowerCase(), name.toLowerCase()) }))
    .sort((one, other) => one.far - other.far);
  const best = ranked[0];
  return best && best.far <= Math.max(1, Math.floor(given.length / 3)) ? best.name : null;
}
