import { useState, type DragEvent } from 'react';
import { useLetter } from './letter-context.ts';
import { useDropAt } from './section-commands.ts';
import type { SectionPath } from './sections.ts';

const isUpperHalf = (event: DragEvent<HTMLElement>) => {
  const { top, height } = event.currentTarget.getBoundingClientRect();
  return event.clientY < top + height / 2;
};

/** Takes the section that is dragged over a card, before or behind it. */
export function useDrop(path: SectionPath) {
  const { dragged } = useLetter();
  const { drop, mayDrop } = useDropAt(path);
  const [over, setOver] = useState<'before' | 'after' | null>(null);
  return {
    className: over === null || dragged === null ? '' : `drop-${over}`,
    handlers: {
      onDragOver(event: DragEvent<HTMLElement>) {
        if (!mayDrop()) return;
        event.preventDefault();
        event.stopPropagation();
        setOver(isUpperHalf(event) ? 'before' : 'after');
      },
      onDragLeave: () => setOver(null),
      onDrop(event: DragEvent<HTMLElement>) {
        if (!mayDrop()) return;
        event.preventDefault();
        event.stopPropagation();
        setOver(null);
        drop(isUpperHalf(event) ? 'before' : 'after');
      },
    },
  };
}
