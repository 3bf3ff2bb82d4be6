import { useEffect, useRef } from 'react';
import type { Section } from './content.ts';
import { withInner } from './sections.ts';

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
 * Refuses a letter with two sections of the same key. React would draw one of them twice or not at all, so that a section
 * seems to be lost.
 * @throws Error
 */
export function requireOwnKeys(sections: readonly Section[]): void {
  const seen = new Set<Section>();
  for (const section of withInner(sections)) {
    if (seen.has(section)) throw new Error(`the ${section.type} stands twice in the letter`);
    seen.add(section);
  }
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
