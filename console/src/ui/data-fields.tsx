import { useState } from 'react';
import { Button } from './button.tsx';
import { faultOf, newRow, objectOf, retype, rowsOf, TYPES, type Row, type RowType } from './data-rows.ts';
import { Select, TextInput } from './field.tsx';
import { JsonField } from './json-field.tsx';
import { isObject } from './json-text.ts';

interface DataFieldsProps {
  label: string;
  hint?: string;
  value: Record<string, unknown> | undefined;
  /** The rows of the value at first, where it does not say all of them, such as a number that is not typed yet. */
  rows?: readonly Row[];
  onChange: (value: Record<string, unknown>) => void;
  /** What null means here, such as "remove it". */
  nullText?: string;
  /** Only texts, as in headers. */
  textsOnly?: boolean;
  errors?: readonly string[];
}

/**
 * Names with their values, as fields or as JSON. A row without a name, or with a text that is not of its type, is not
 * part of the value yet, and a form around it does not submit.
 */
export function DataFields({
  label,
  hint,
  value = {},
  rows: given,
  onChange,
  nullText = 'nothing',
  textsOnly = false,
  errors = [],
}: DataFieldsProps) {
  const [asJson, setAsJson] = useState(false);
  const [typed, setTyped] = useState<readonly Row[]>(() => given ?? rowsOf(value));
  /** The row that was added last, which takes the focus. */
  const [added, setAdded] = useState<number | null>(null);
  const rows = JSON.stringify(objectOf(typed)) === JSON.stringify(value) ? typed : rowsOf(value);
  const set = (next: readonly Row[]) => {
    setTyped(next);
    const object = objectOf(next);
    if (JSON.stringify(object) !== JSON.stringify(value)) onChange(object);
  };
  const add = () => {
    setAdded(rows.length);
    set([...rows, newRow]);
  };
  const switchForm = () => {
    setAdded(null);
    setAsJson(!asJson);
  };
  return (
    <fieldset className="data-rows">
      <legend>{label}</legend>
      {hint !== undefined && <p className="hint">{hint}</p>}
      {asJson ? (
        <JsonField
          label={`${label}, as JSON`}
          value={value}
          empty={{}}
          refuses={(next) => (isObject(next) ? null : 'This must be an object, in braces.')}
          onChange={(next) => isObject(next) && onChange(next)}
        />
      ) : (
        rows.map((row, index) => (
          <DataRow
            // Rows have no ids, and a row is only added at the end.
            key={index}
            row={row}
            autoFocus={index === added}
            fault={faultOf(row, rows)}
            nullText={nullText}
            textsOnly={textsOnly}
            onChange={(next) => set(rows.with(index, next))}
            onRemove={() => set(rows.toSpliced(index, 1))}
          />
        ))
      )}
      {errors.length > 0 && (
        <p className="field-error" role="alert">
          {errors.join(' ')}
        </p>
      )}
      <div className="actions">
        {!asJson && <Button onClick={add}>Add a value</Button>}
        {!textsOnly && (
          <Button kind="quiet" onClick={switchForm}>
            {asJson ? 'As fields' : 'As JSON'}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

function DataRow({
  row,
  autoFocus,
  fault,
  nullText,
  textsOnly,
  onChange,
  onRemove,
}: {
  row: Row;
  autoFocus: boolean;
  fault: string | null;
  nullText: string;
  textsOnly: boolean;
  onChange: (row: Row) => void;
  onRemove: () => void;
}) {
  const { name, type } = row;
  return (
    <div className="data-row">
      <TextInput
        aria-label="Name"
        placeholder="name"
        autoFocus={autoFocus}
        value={name}
        ref={(input) => input?.setCustomValidity(fault ?? '')}
        onChange={(event) => onChange({ ...row, name: event.target.value })}
      />
      {!textsOnly && (
        <Select
          aria-label={`Type of ${name || 'the value'}`}
          value={type}
          options={TYPES.map((each) => ({ value: each, label: each === 'null' ? nullText : each }))}
          onChange={(event) => onChange(retype(row, event.target.value as RowType))}
        />
      )}
      <RowValue row={row} onChange={(text) => onChange({ ...row, text })} />
      <Button kind="quiet" aria-label={`Remove ${name || 'the row'}`} onClick={onRemove}>
        ✕
      </Button>
      {fault !== null && <p className="field-error">{fault}</p>}
    </div>
  );
}

function RowValue({ row: { name, type, text }, onChange }: { row: Row; onChange: (text: string) => void }) {
  if (type === 'null') return null;
  const label = `Value of ${name || 'the row'}`;
  if (type === 'yes or no') {
    return (
      <Select
        aria-label={label}
        value={text === 'true' ? 'true' : 'false'}
        options={[
          { value: 'true', label: 'yes' },
          { value: 'false', label: 'no' },
        ]}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <TextInput
      aria-label={label}
      type={type === 'date' ? 'date' : 'text'}
      inputMode={type === 'number' ? 'decimal' : 'text'}
      className={type === 'JSON' ? 'mono' : ''}
      placeholder={type === 'JSON' ? '{}' : 'value'}
      value={text}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
