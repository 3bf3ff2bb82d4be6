import { useState, type ReactNode } from 'react';
import { Button, type ButtonProps } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** A button that asks before it acts. Use it where the API cannot undo. */
export function ConfirmButton({
  label,
  title,
  confirm = label,
  keep = 'Cancel',
  kind = 'danger',
  busy = false,
  disabled = false,
  onConfirm,
  children,
}: {
  label: string;
  /** The question. */
  title: string;
  /** The label of the second button. */
  confirm?: string;
  /** The label of the button that leaves everything as it is. */
  keep?: string;
  kind?: ButtonProps['kind'];
  busy?: boolean;
  disabled?: boolean;
  onConfirm: () => void;
  /** What will happen. */
  children: ReactNode;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button kind={kind} busy={busy} disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={title}>
        {children}
        <div className="actions">
          <Button
            kind={kind}
            onClick={() => {
              setOpen(false);
              onConfirm();
            }}
          >
            {confirm}
          </Button>
          <Button onClick={() => setOpen(false)}>{keep}</Button>
        </div>
      </Dialog>
    </>
  );
}
