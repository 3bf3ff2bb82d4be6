import type { ReactNode } from 'react';

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';

/** A message that stays on the page. */
export function Notice({
  tone = 'quiet',
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children: ReactNode;
}) {
  return (
    <div className={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'note'}>
      {title !== undefined && <strong>{title}</strong>}
      {children}
    </div>
  );
}
