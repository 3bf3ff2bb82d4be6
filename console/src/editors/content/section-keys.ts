import { useEffect, useRef } from 'react';
import type { Section } from './content.ts';

const keys = new WeakMap<Section, string>();
let lastKey = 0;

/** Returns the key of a section. A section keeps it wherever it is moved. */
export function keyOf(section: Section): string {
  const known = keys.get(section);
  if (known !== undefined) return known;
  lastKey += 1;
  const key = `section-${lastKey}`;
  keys.set(section, key);
  return key;
}

/**
 * Returns the keys of the sections of a list. A section that replaces one at its place, because it was changed or came
 * back from the API, takes over its key, so that its form stays.
 */
export function useSectionKeys(sections: readonly Section[]): string[] {
  const shown = useRef<readonly Section[]>([]);
  const present = new Set(sections);
  for (const [index, section] of sections.entries()) {
    const before = shown.current[index];
    if (before && !present.has(before) && !keys.has(section) && before.type === section.type) {
      keys.set(section, keyOf(before));
    }
  }
  useEffect(() => {
    shown.current = sections;
  });
  return sections.map(keyOf);
}
