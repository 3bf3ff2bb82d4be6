import { Dialog as Radix } from 'radix-ui';
import { useState, type ReactNode } from 'react';

/** Moves the focus to the first field of a dialog that has one, unless a field has asked for it. */
function focusField(event: Event): void {
  const content = event.currentTarget;
  if (!(content instanceof HTMLElement) || content.contains(document.activeElement)) return;
  const field = content.querySelector<HTMLElement>('input, select, textarea');
  if (!field) return;
  event.preventDefault();
  field.focus();
}

const stay = (event: Event) => event.preventDefault();

/** A window over the page. Escape and the button in its corner close it; the focus stays in it, and returns. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  wide = false,
  mustAnswer = false,
  onFocusBack,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  wide?: boolean;
  /** Only its own buttons close it, because what it shows is shown once. */
  mustAnswer?: boolean;
  /** Takes the focus when it closes, instead of what had it before. */
  onFocusBack?: (() => void) | undefined;
  children: ReactNode;
}) {
  const giveBackFocus = useFocusGivenBack(open, onFocusBack);
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content
          className={wide ? 'dialog wide' : 'dialog'}
          onCloseAutoFocus={giveBackFocus}
          onOpenAutoFocus={focusField}
          {...(mustAnswer && { onEscapeKeyDown: stay, onInteractOutside: stay })}
          {...(description === undefined ? { 'aria-describedby': undefined } : {})}
        >
          <header>
            <Radix.Title>{title}</Radix.Title>
            {!mustAnswer && (
              <Radix.Close className="button quiet" aria-label="Close">
                ✕
              </Radix.Close>
            )}
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
function useFocusGivenBack(open: boolean, onFocusBack: (() => void) | undefined): (event: Event) => void {
  const [before, setBefore] = useState<{ open: boolean; focused: Element | null }>({
    open: false,
    focused: null,
  });
  // When it is drawn first, a field in it may take the focus, so this is the last moment to look.
  if (open !== before.open) setBefore({ open, focused: open ? document.activeElement : before.focused });
  return (event) => {
    event.preventDefault();
    if (onFocusBack) onFocusBack();
    else if (before.focused instanceof HTMLElement) before.focused.focus();
  };
}
