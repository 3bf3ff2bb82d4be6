import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

/** A window over the page. Escape and the button in its corner close it; the focus stays in it, and returns. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  wide = false,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content
          className={wide ? 'dialog wide' : 'dialog'}
          {...(description === undefined ? { 'aria-describedby': undefined } : {})}
        >
          <header>
            <Radix.Title>{title}</Radix.Title>
            <Radix.Close className="button quiet" aria-label="Close">
              ✕
            </Radix.Close>
          </header>
          {description !== undefined && (
            <Radix.Description asChild>
              <div>{description}</div>
            </Radix.Description>
          )}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
