import type { ReactNode, SubmitEvent } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** A dialog with a few fields, opened from within an editor. */
export function SmallForm({
  title,
  submit,
  onSubmit,
  onClose,
  onFocusBack,
  actions,
  children,
}: {
  title: string;
  /** The label of the button that submits the fields. */
  submit: string;
  onSubmit: () => void;
  onClose: () => void;
  /** Takes the focus when it closes, instead of what had it before. */
  onFocusBack?: (() => void) | undefined;
  /** More buttons. */
  actions?: ReactNode;
  children: ReactNode;
}) {
  const send = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    // The form is in a portal, but its events reach the forms around the editor.
    event.stopPropagation();
    onSubmit();
  };
  return (
    <Dialog open onClose={onClose} title={title} onFocusBack={onFocusBack}>
      <form onSubmit={send}>
        {children}
        <div className="actions">
          <Button type="submit" kind="primary">
            {submit}
          </Button>
          {actions}
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
