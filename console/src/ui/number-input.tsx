import { useState, type InputHTMLAttributes } from 'react';
import { TextInput } from './field.tsx';

function parse(typed: string): number | null {
  const number = typed.trim() === '' ? Number.NaN : Number(typed);
  return Number.isFinite(number) ? number : null;
}

/**
 * A number that is typed. Keeps what is typed, such as `1.`, while the number would be written differently.
 * @param props.onChange null if nothing usable is typed
 */
export function NumberInput({
  value,
  onChange,
  ...rest
}: Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange'> & {
  value: number | null;
  onChange: (next: number | null) => void;
}) {
  const [text, setText] = useState('');
  return (
    <TextInput
      type="number"
      step="any"
      {...rest}
      value={parse(text) === value ? text : String(value ?? '')}
      onChange={(event) => {
        setText(event.target.value);
        onChange(parse(event.target.value));
      }}
    />
  );
}
