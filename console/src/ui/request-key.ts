import { useRef } from 'react';

/**
 * Returns a function that gives the Idempotency-Key of a request: the same for the same contents, so that a repeated
 * click or a retry after a lost response does nothing twice, and a new one for other contents.
 */
export function useRequestKey(): (contents: unknown) => string {
  const last = useRef<{ contents: string; key: string } | null>(null);
  return (contents) => {
    const text = JSON.stringify(contents) ?? '';
    if (last.current?.contents !== text) last.current = { contents: text, key: crypto.randomUUID() };
    return last.current.key;
  };
}
