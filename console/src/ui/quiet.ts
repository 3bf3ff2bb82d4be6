import { useEffect, useState } from 'react';

const QUIET_MS = 600;

/** Returns the value as it was when it last stayed the same for a moment, so that typing does not cause requests. */
export function useQuiet<Value>(value: Value): Value {
  const [quiet, setQuiet] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(value), QUIET_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return quiet;
}
