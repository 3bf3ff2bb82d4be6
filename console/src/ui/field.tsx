import {
  useId,
  createContext,
  useContext,
  type ComponentProps,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
} from 'react';

interface FieldIds {
  id: string;
  describedBy: string | undefined;
  invalid: boolean;
}

const FieldContext = createContext<FieldIds | null>(null);

function useFieldProps(id: string | undefined) {
  const ids = useContext(FieldContext);
  return {
    id: id ?? ids?.id,
    'aria-describedby': ids?.describedBy,
    'aria-invalid': ids?.invalid === true ? true : undefined,
  };
}

/**
 * A label with its input, a hint, and what the API says about the field.
 * @param error one or several messages; none if empty
 */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | readonly string[] | null | undefined;
  children: ReactNode;
}) {
  const id = useId();
  const hasHint = hint !== undefined && hint !== false;
  const messages = typeof error === 'string' ? [error] : (error ?? []);
  const notes = [...(hasHint ? [`${id}-hint`] : []), ...(messages.length > 0 ? [`${id}-error`] : [])];
  const describedBy = notes.length > 0 ? notes.join(' ') : undefined;
  return (
    <FieldContext value={{ id, describedBy, invalid: messages.length > 0 }}>
      <div className="field">
        <label htmlFor={id}>{label}</label>
        {children}
        {hasHint && (
          <p className="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
        {messages.length > 0 && (
          <p className="field-error" id={`${id}-error`} role="alert">
            {messages.join(' ')}
          </p>
        )}
      </div>
    </FieldContext>
  );
}

export function TextInput({ id, className = '', ...rest }: ComponentProps<'input'>) {
  return <input type="text" {...useFieldProps(id)} {...rest} className={`input ${className}`} />;
}

export function TextArea({ id, className = '', ...rest }: ComponentProps<'textarea'>) {
  return <textarea rows={5} {...useFieldProps(id)} {...rest} className={`input ${className}`} />;
}

/** @param options values with their labels; a plain string is both */
export function Select({
  id,
  options,
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> & {
  options: readonly (string | { value: string; label: string })[];
}) {
  return (
    <select {...useFieldProps(id)} {...rest} className="input">
      {options.map((option) => {
        const { value, label } = typeof option === 'string' ? { value: option, label: option } : option;
        return (
          <option key={value} value={value}>
            {label}
          </option>
        );
      })}
    </select>
  );
}

/** A tick with its label beside it. */
export function Checkbox({
  label,
  hint,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { label: ReactNode; hint?: string }) {
  return (
    <label className="checkbox">
      <input type="checkbox" {...rest} />
      <span>
        {label}
        {hint !== undefined && <span className="hint">{hint}</span>}
      </span>
    </label>
  );
}
