import type { ReactNode, SubmitEvent } from 'react';
import type { Action } from './action.ts';
import { Button } from './button.tsx';
import { type Kept, KeptForm } from './kept-form.tsx';
import { Notice } from './notice.tsx';

/** A form that an action sends: what is wrong apart from its fields, the fields, and its buttons. */
export function ActionForm({
  action,
  kept,
  onSubmit,
  submit,
  disabled = false,
  close,
  children,
}: {
  action: Pick<Action<never, unknown>, 'fault' | 'busy'>;
  /** What the browser keeps of it, for the action, too; null if there is nothing to lose or nothing may stay there. */
  kept: Kept | null;
  onSubmit: (form: FormData) => void;
  /** The label of the button that sends the form. */
  submit: string;
  /** Whether something must be chosen before it can be sent. */
  disabled?: boolean;
  /** A second button, such as "Cancel". */
  close?: { label: string; onClick: () => void };
  children: ReactNode;
}) {
  const send = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    onSubmit(new FormData(event.currentTarget));
  };
  return (
    <KeptForm kept={kept} onSubmit={send}>
      {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
      {children}
      <div className="actions">
        <Button type="submit" kind="primary" busy={action.busy} disabled={disabled}>
          {submit}
        </Button>
        {close && <CloseButton kept={kept} {...close} />}
      </div>
    </KeptForm>
  );
}

const CANCEL = 'Cancel';

/** Closes a form. "Cancel" gives up what was typed; what closes it otherwise does not. */
export function CloseButton({
  kept,
  label = CANCEL,
  onClick,
}: {
  kept: Kept | null;
  label?: string;
  onClick: () => void;
}) {
  const close = () => {
    if (label === CANCEL) kept?.discard();
    onClick();
  };
  return <Button onClick={close}>{label}</Button>;
}
