import type { ReactNode, SubmitEvent } from 'react';
import type { Action } from './action.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

/** A form that an action sends: what is wrong apart from its fields, the fields, and its buttons. */
export function ActionForm({
  action,
  onSubmit,
  submit,
  disabled = false,
  close,
  children,
}: {
  action: Pick<Action<never, unknown>, 'fault' | 'busy'>;
  onSubmit: (form: FormData) => void;
  /** What the button says that sends the form. */
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
    <form onSubmit={send}>
      {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
      {children}
      <div className="actions">
        <Button type="submit" kind="primary" busy={action.busy} disabled={disabled}>
          {submit}
        </Button>
        {close && <Button onClick={close.onClick}>{close.label}</Button>}
      </div>
    </form>
  );
}
