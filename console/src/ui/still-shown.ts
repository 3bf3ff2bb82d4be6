import { useEffect, useRef } from 'react';

/** Returns a function that says whether the component is still on the page, for what ends later. */
export function useStillShown(): () => boolean {
  const shown = useRef(true);
  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);
  return () => shown.current;
}
