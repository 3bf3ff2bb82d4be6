/** A segment that is not created yet, kept in the browser for its user and brand. */
import { useState } from 'react';
import { useBrand } from '../../shell/brand.ts';
import { keepForUser, userKey } from '../../shell/user-storage.ts';
import { EMPTY, readKept } from './new-segment.ts';
import type { SegmentContent } from './read-draft.ts';

interface KeptSegment {
  content: SegmentContent;
  change: (next: (before: SegmentContent) => SegmentContent) => void;
  /** It is created, or given up. */
  clear: () => void;
  isEmpty: boolean;
  /** Whether this browser has room for it. */
  isKept: boolean;
}

export function useKeptSegment(): KeptSegment {
  const { brandId, signedIn } = useBrand();
  const key = userKey(signedIn.user.id, `new-segment.${brandId}`);
  const [content, setContent] = useState(() => readKept(key));
  const [isKept, setKept] = useState(true);
  return {
    content,
    isKept,
    isEmpty: content.name === '' && content.filters.length === 0,
    change(next) {
      const after = next(content);
      setContent(after);
      setKept(keepForUser(key, JSON.stringify(after)));
    },
    clear() {
      setContent(EMPTY);
      localStorage.removeItem(key);
    },
  };
}
