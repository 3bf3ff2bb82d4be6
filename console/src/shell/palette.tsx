import { lazy, Suspense, useEffect } from 'react';
import { setPaletteOpen, usePaletteOpen } from './palette-state.ts';

const PaletteWindow = lazy(async () => ({ default: (await import('./palette-window.tsx')).PaletteWindow }));

/** The command palette: Ctrl K (⌘ K) opens it from anywhere. Its code loads when it is first opened. */
export function Palette() {
  const open = usePaletteOpen();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setPaletteOpen(true);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  if (!open) return null;
  return (
    <Suspense>
      <PaletteWindow />
    </Suspense>
  );
}
