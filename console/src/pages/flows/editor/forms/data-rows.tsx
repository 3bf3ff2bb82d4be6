import { useState } from 'react';
import { Button } from '../../../../ui/button.tsx';
import { Select, TextInput } from '../../../../ui/field.tsx';
import { newRow, objectOf, rowsOf, TYPES, type Row, type RowType } from './rows.ts';

interface DataRowsProps {
  label: string;
  value: Record<string, unknown> | undefined;
  onChange: (value: Record<string, unknown>) => void;
  /** What null means here, such as "remove it". */
  nullText: string;
  /** Only texts, as in headers. */
  textsOnly?: boolean;
  errors: readonly string[];
}

/** Names with their values. Rows without a name are not part of the value yet. */
export function DataRows({
  label,
  value = {},
  onChange,
  nullText,
  textsOnly = false,
  errors,
}: DataRowsProps) {
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
      {rows.map((row, index) => (
        <DataRow
          // Rows have no ids, and a row is only added at the end.
          key={index}
          row={row}
          nullText={nullText}
          textsOnly={textsOnly}
          onChange={(next) => set(rows.with(index, next))}
          onRemove={() => set(rows.toSpliced(index, 1))}
        />
      ))}
      {errors.length > 0 && (
        <p className="field-error" role="alert">
          {errors.join(' ')}
        </p>
      )}
      <Button onClick={() => set([...rows, newRow])}>Add a value</Button>
    </fieldset>
  );
}

function DataRow({
  row,
  nullText,
  textsOnly,
  onChange,
  onRemove,
}: {
  row: Row;
  nullText: string;
  textsOnly: boolean;
  onChange: (row: Row) => void;
  onRemove: () => void;
}) {
  const { name, type, text } = row;
  return (
    <div className="data-row">
      <TextInput
        aria-label="Name"
        placeholder="name"
        value={name}
        onChange={(event) => onChange({ ...row, name: event.target.value })}
      />
      {!textsOnly && (
        <Select
          aria-label={`Type of ${name || 'the value'}`}
          value={type}
          options={TYPES.map((each) => ({ value: each, label: each === 'null' ? nullText : each }))}
          onChange={(event) => onChange({ ...row, type: event.target.value as RowType })}
        />
      )}
      {type === 'yes or no' && (
        <Select
          aria-label={`Value of ${name}`}
          value={text === 'true' ? 'true' : 'false'}
          options={[
            { value: 'true', label: 'yes' },
            { value: 'false', label: 'no' },
          ]}
          onChange={(event) => onChange({ ...row, text: event.target.value })}
        />
      )}
      {type !== 'yes or no' && type !== 'null' && (
        <TextInput
          aria-label={`Value of ${name || 'the row'}`}
          className={type === 'JSON' ? 'mono' : ''}
          placeholder={type === 'JSON' ? '{}' : 'value'}
          value={text}
          onChange={(event) => onChange({ ...row, text: event.target.value })}
        />
      )}
      <Button kind="quiet" aria-label={`Remove ${name || 'the row'}`} onClick={onRemove}>
        ✕
      </Button>
    </div>
  );
}
