import { useRef, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { ValueDialog } from './value-dialog.tsx';

/** A line of text that may contain values. A value goes where the cursor was. */
export function LiquidInput({
  label,
  value,
  onChange,
  names,
  hint,
  error,
}: {
  label: string;
  value: string;
  onChange: (next: string) => void;
  names: readonly string[];
  hint?: string;
  error?: readonly string[] | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  const cursor = useRef<number | null>(null);
  const insert = (source: string) => {
    const at = cursor.current ?? value.length;
    onChange(`${value.slice(0, at)}${source}${value.slice(at)}`);
    cursor.current = at + source.length;
  };
  return (
    <div className="liquid-input">
      <Field label={label} error={error} {...(hint === undefined ? {} : { hint })}>
        <TextInput
          value={value}
          onChange={(event) => onChange(event.target.value)}
          onSelect={(event) => (cursor.current = event.currentTarget.selectionStart)}
        />
      </Field>
      <Button kind="quiet" aria-label={`Insert a value into ${label}`} onClick={() => setOpen(true)}>
        {'{ }'}
      </Button>
      {isOpen && <ValueDialog source={null} names={names} onChoose={insert} onClose={() => setOpen(false)} />}
    </div>
  );
}
