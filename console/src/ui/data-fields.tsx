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
  onChange,
  nullText = 'nothing',
  textsOnly = false,
  errors = [],
}: DataFieldsProps) {
  const [asJson, setAsJson] = useState(false);
  const [typed, setTyped] = useState<readonly Row[]>(() => rowsOf(value));
  const rows = JSON.stringify(objectOf(typed)) === JSON.stringify(value) ? typed : rowsOf(value);
  const set = (next: readonly Row[]) => {
    setTyped(next);
    const object = objectOf(next);
    if (JSON.stringify(object) !== JSON.stringify(value)) onChange(object);
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
        {!asJson && <Button onClick={() => set([...rows, newRow])}>Add a value</Button>}
        {!textsOnly && (
          <Button kind="quiet" onClick={() => setAsJson(!asJson)}>
            {asJson ? 'As fields' : 'As JSON'}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

function DataRow({
  row,
  fault,
  nullText,
  textsOnly,
  onChange,
  onRemove,
}: {
  row: Row;
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
