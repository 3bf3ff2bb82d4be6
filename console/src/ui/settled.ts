import { useEffect, useMemo, useState } from 'react';

const SETTLED_MS = 600;

/** Returns the value once it has not changed for a moment, for requests about what is being typed. */
export function useSettled<Value>(value: Value): Value {
  const text = JSON.stringify(value);
  const [settled, settle] = useState(text);
  useEffect(() => {
    if (text === settled) return undefined;
    const timer = setTimeout(() => settle(text), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text, settled]);
  return useMemo(() => JSON.parse(settled) as Value, [settled]);
}
