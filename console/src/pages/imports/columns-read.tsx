import type { Schemas } from '../../api/client.ts';
import { DataTable, type TableColumn } from '../../ui/table.tsx';

type Read = NonNullable<Schemas['Import']['columns']>[number] & { index: number };

const MEANINGS: Readonly<Record<string, string>> = {
  subscribed: 'subscribed',
  unsubscribed: 'unsubscribed',
  pending: 'waits for confirmation',
  never_subscribed: 'never subscribed',
  bounced: 'bounced',
  complained: 'complained',
};

function Note({ words, ignored_because: because }: Read) {
  if (because !== null) return <span className="muted">{because}</span>;
  const said = Object.entries(words ?? {});
  if (said.length === 0) return '–';
  const meaning = (state: string | null) => (state === null ? 'no objection' : (MEANINGS[state] ?? state));
  return said.map(([word, state]) => `${word}: ${meaning(state)}`).join(', ');
}

/** Keys of data are shown as they are: `data.created_at` is another one than `data.created at`. */
const useText = (use: string | null) =>
  use?.startsWith('data.') === true ? use : (use?.replaceAll('_', ' ') ?? 'ignored');

const shown: readonly TableColumn<Read>[] = [
  { key: 'name', header: 'Column', cell: ({ name }) => name },
  { key: 'examples', header: 'Examples', cell: ({ examples }) => examples.join(', ') || '–', wideOnly: true },
  { key: 'used', header: 'Used as', cell: ({ used_as: use }) => useText(use) },
  { key: 'note', header: 'How', cell: (column) => <Note {...column} /> },
];

/** How an import reads the columns of its file. */
export function ColumnsRead({ columns }: { columns: NonNullable<Schemas['Import']['columns']> }) {
  return (
    <DataTable
      label="How the columns are read"
      rows={columns.map((column, index) => ({ ...column, index }))}
      columns={shown}
      rowKey={({ index }) => index}
    />
  );
}
