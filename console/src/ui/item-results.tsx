import { countText, StatusBadge } from './details.tsx';
import { Notice } from './notice.tsx';
import { DataTable, type TableColumn } from './table.tsx';

export interface ItemResult {
  input: string | number;
  status: string;
  reason: string | null;
}

/** Results that need no attention; the others are listed one by one. */
const FINE: ReadonlySet<string> = new Set(['added', 'already_there', 'created', 'removed']);

type Numbered = ItemResult & { index: number };

const columns: readonly TableColumn<Numbered>[] = [
  { key: 'input', header: 'Given', cell: ({ input }) => input },
  { key: 'status', header: 'Result', cell: ({ status }) => <StatusBadge status={status} tone="warn" /> },
  { key: 'reason', header: 'Reason', cell: ({ reason }) => reason ?? '–' },
];

/** The result of each item of a request about many. */
export function ItemResults({ results }: { results: readonly ItemResult[] }) {
  const counts = new Map<string, number>();
  for (const { status } of results) counts.set(status, (counts.get(status) ?? 0) + 1);
  const others = results
    .map((result, index) => ({ ...result, index }))
    .filter(({ status }) => !FINE.has(status));
  return (
    <>
      <Notice tone={others.length > 0 ? 'warn' : 'good'}>
        {[...counts]
          .map(([status, count]) => `${countText(count)} ${status.replaceAll('_', ' ')}`)
          .join(', ')}
      </Notice>
      {others.length > 0 && (
        <DataTable label="Not done" rows={others} columns={columns} rowKey={({ index }) => index} />
      )}
    </>
  );
}
