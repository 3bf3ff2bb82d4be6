import { useState } from 'react';

type Keys = ReadonlySet<string | number>;

/**
 * The ticked rows of a list, on all of its pages.
 * @param of what the list shows, such as its filters: nothing is ticked when it changes, so that no hidden row is
 */
export function useSelection(of: string): { selected: Keys; change: (next: Keys) => void } {
  const [selection, setSelection] = useState<{ of: string; keys: Keys }>({ of, keys: new Set() });
  return {
    selected: selection.of === of ? selection.keys : new Set(),
    change: (keys) => setSelection({ of, keys }),
  };
}
