import { useId, useState, type ComponentProps } from 'react';
import { codeOfCountry, codeOfName, COUNTRIES, countryName } from './countries.ts';
import { TextInput } from './field.tsx';
import { useLeft } from './kept-form.tsx';
import { afterPress } from './press.ts';

/** The names of all countries, for the `list` of an input. */
export const CountryList = ({ id }: { id: string }) => (
  <datalist id={id}>
    {COUNTRIES.map(({ code, name }) => (
      <option key={code} value={name} label={code} />
    ))}
  </datalist>
);

interface CountryInputProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange' | 'list' | 'type'> {
  /** The code; with `onChange` the current one, else the first one. */
  value: string;
  /** Called once a country is named; with an empty text if there is none any more. */
  onChange?: (code: string) => void;
}

/**
 * A country, searched by name. A code can be typed, too. A form gets the code, and is not submitted with a text that names
 * no country.
 */
export function CountryInput({ value, onChange, name, ...rest }: CountryInputProps) {
  const listId = useId();
  const left = useLeft(onChange ? undefined : name);
  const [typed, setTyped] = useState({ text: countryName(left ?? value), value, isLeft: true });
  // What is typed counts until the value is changed from elsewhere, such as by an undo.
  const { text, isLeft } = typed.value === value ? typed : { text: countryName(value), isLeft: true };
  const isBlank = text.trim() === '';
  const code = isBlank ? '' : codeOfCountry(text);
  const fault = code === null ? 'No country has this name.' : null;
  const take = (next: string, shown: string, left: boolean) => {
    setTyped({ text: shown, value: onChange ? next : value, isLeft: left });
    if (next !== value) onChange?.(next);
  };
  const type = (next: string) => {
    // A code may be the beginning of a name, so it counts when the input is left.
    const named = next.trim() === '' ? '' : codeOfName(next);
    take(named ?? value, next, false);
  };
  return (
    <>
      <TextInput
        autoComplete="off"
        {...rest}
        list={listId}
        value={text}
        aria-invalid={fault !== null && isLeft ? true : undefined}
        ref={(input) => input?.setCustomValidity(fault ?? '')}
        onChange={(event) => type(event.target.value)}
        onBlur={() => {
          if (code !== null) take(code, countryName(code), true);
          else afterPress(() => setTyped((now) => (now.text === text ? { ...now, isLeft: true } : now)));
        }}
      />
      {name !== undefined && <input type="hidden" name={name} value={code ?? ''} data-base={value} />}
      {fault !== null && isLeft && (
        <p className="field-error" role="alert">
          {fault}
        </p>
      )}
      <CountryList id={listId} />
    </>
  );
}
