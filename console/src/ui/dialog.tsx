import { Dialog as Radix } from 'radix-ui';
import { useState, type ReactNode } from 'react';

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
  const giveBackFocus = useFocusGivenBack(open);
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content
          className={wide ? 'dialog wide' : 'dialog'}
          onCloseAutoFocus={giveBackFocus}
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

/** Radix gives the focus back to its own trigger only, and most of our windows are opened by something else. */
function useFocusGivenBack(open: boolean): (event: Event) => void {
  const [before, setBefore] = useState<{ open: boolean; focused: Element | null }>({
    open: false,
    focused: null,
  });
  // When it is drawn first, a field in it may take the focus, so this is the last moment to look.
  if (open !== before.open) setBefore({ open, focused: open ? document.activeElement : before.focused });
  return (event) => {
    event.preventDefault();
    if (before.focused instanceof HTMLElement) before.focused.focus();
  };
}
