import { Select } from '../../ui/field.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import type { CsvColumn } from './csv-header.ts';

/** What columns mean, by their names; columns that are missing are recognized by their names. */
export type Mapping = Readonly<Record<string, string | null>>;

/** Values of the choice that mean no field. */
const AUTOMATIC = 'automatic';
const IGNORE = 'ignore';

const FIELDS = {
  contacts: [
    'email',
    'phone',
    'first_name',
    'last_name',
    'country_code',
    'source',
    'subscribed',
    'subscribed_email',
    'subscribed_phone',
    'unsubscribed',
    'unsubscribed_email',
    'unsubscribed_phone',
    'confirmed',
    'opted_in_at',
    'opted_out_at',
    'bounced',
    'complained',
  ],
  suppressions: [
    'email',
    'phone',
    'country_code',
    'reason',
    'diagnostic',
    'status_code',
    'active',
    'expires_at',
  ],
} as const;

const MAX_KEY = 200;

/** Lets the user choose what each column of the file means. */
export function ColumnMapping({
  resource,
  columns,
  mapping,
  onChange,
}: {
  resource: keyof typeof FIELDS;
  columns: readonly CsvColumn[];
  mapping: Mapping;
  onChange: (next: Mapping) => void;
}) {
  const choose = (name: string, choice: string) => {
    const { [name]: _, ...others } = mapping;
    if (choice === AUTOMATIC) onChange(others);
    else onChange({ ...others, [name]: choice === IGNORE ? null : choice });
  };
  const shown: readonly TableColumn<CsvColumn & { index: number }>[] = [
    { key: 'name', header: 'Column', cell: ({ name }) => name },
    { key: 'example', header: 'First row', cell: ({ example }) => example || '–', wideOnly: true },
    {
      key: 'meaning',
      header: 'Means',
      cell: ({ name }) => (
        <Select
          aria-label={`Meaning of the column ${name}`}
          value={name in mapping ? (mapping[name] ?? IGNORE) : AUTOMATIC}
          options={choicesFor(name, resource)}
          onChange={(event) => choose(name, event.target.value)}
        />
      ),
    },
  ];
  return (
    <DataTable
      label="Columns of the file"
      rows={columns.map((column, index) => ({ ...column, index }))}
      columns={shown}
      rowKey={({ index }) => index}
    />
  );
}

const choicesFor = (name: string, resource: keyof typeof FIELDS) => [
  { value: AUTOMATIC, label: 'Recognize by its name' },
  ...FIELDS[resource].map((field) => ({ value: field, label: field.replaceAll('_', ' ') })),
  ...(resource === 'contacts' ? [{ value: `data.${name.slice(0, MAX_KEY)}`, label: `data: ${name}` }] : []),
  { value: IGNORE, label: 'Ignore' },
];
