import type { ReactNode, SubmitEvent } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** A dialog with a few fields, opened from within an editor. */
export function SmallForm({
  title,
  submit,
  onSubmit,
  onClose,
  actions,
  children,
}: {
  title: string;
  /** What the button says that takes what the fields have. */
  submit: string;
  onSubmit: () => void;
  onClose: () => void;
  /** More buttons. */
  actions?: ReactNode;
  children: ReactNode;
}) {
  const send = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    // The form stands in a portal, but its events reach the forms around the editor.
    event.stopPropagation();
    onSubmit();
  };
  return (
    <Dialog open onClose={onClose} title={title}>
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
