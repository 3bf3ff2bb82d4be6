import { useRef, useState, type ChangeEvent, type RefObject, type SyntheticEvent } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import { ValueDialog } from './value-dialog.tsx';

type Text = HTMLInputElement | HTMLTextAreaElement;

/** A text that may contain values: a line, or several. A value goes where the cursor was. */
export function LiquidInput({
  label,
  value,
  onChange,
  names,
  hint,
  error,
  rows = 1,
  focusRef,
}: {
  label: string;
  value: string;
  onChange: (next: string) => void;
  names: readonly string[];
  hint?: string;
  error?: readonly string[] | undefined;
  rows?: number;
  /** Receives the line, so that the caller can move the focus to it. */
  focusRef?: RefObject<HTMLInputElement | null>;
}) {
  const [isOpen, setOpen] = useState(false);
  const cursor = useRef<number | null>(null);
  const text = useRef<Text | null>(null);
  const insert = (source: string) => {
    const at = cursor.current ?? value.length;
    onChange(`${value.slice(0, at)}${source}${value.slice(at)}`);
    cursor.current = at + source.length;
  };
  /** The caret is behind the value, so that typing continues there. */
  const focusText = () => {
    const at = cursor.current ?? value.length;
    text.current?.focus();
    text.current?.setSelectionRange(at, at);
  };
  const take = (element: Text | null) => {
    text.current = element;
    if (focusRef && !(element instanceof HTMLTextAreaElement)) focusRef.current = element;
  };
  const input = {
    ref: take,
    value,
    onChange: ({ target }: ChangeEvent<Text>) => onChange(target.value),
    onSelect: ({ currentTarget }: SyntheticEvent<Text>) => {
      cursor.current = currentTarget.selectionStart;
    },
  };
  return (
    <div className="liquid-input">
      <Field label={label} error={error} {...(hint === undefined ? {} : { hint })}>
        {rows === 1 ? <TextInput {...input} /> : <TextArea {...input} rows={rows} />}
      </Field>
      <Button kind="quiet" aria-label={`Insert a value into ${label}`} onClick={() => setOpen(true)}>
        {'{ }'}
      </Button>
      {isOpen && (
        <ValueDialog
          source={null}
          names={names}
          onChoose={insert}
          onClose={() => setOpen(false)}
          onFocusBack={focusText}
        />
      )}
    </div>
  );
}
