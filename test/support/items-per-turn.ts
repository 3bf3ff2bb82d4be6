/** Counts how many items of an array are read in one turn of the event loop. */
export function watchItems<Item>(items: readonly Item[]): {
  items: Item[];
  most: () => number;
  stop: () => void;
} {
  let inTurn = 0;
  let most = 0;
  let timer = setImmediate(endTurn);
  function endTurn(): void {
    inTurn = 0;
    timer = setImmediate(endTurn);
  }
  const watched = new Proxy([...items], {
    get(target, property, receiver) {
      if (typeof property === 'string' && /^\d+$/.test(property)) most = Math.max(most, ++inTurn);
      return Reflect.get(target, property, receiver) as unknown;
    },
  });
  return { items: watched, most: () => most, stop: () => clearImmediate(timer) };
}
