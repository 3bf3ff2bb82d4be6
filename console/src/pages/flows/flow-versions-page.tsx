import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { Card, countText, StatusBadge, Time } from '../../ui/facts.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { ComparisonView } from './editor/comparison-view.tsx';
import { FlowFrame, useFlowVersion, type Flow } from './flow-frame.tsx';

type Summary = Schemas['FlowVersionSummary'];

/** The numbers of runs change slowly. */
const VERSIONS_POLL_MS = 10_000;

const columnsOf = ({ id }: Flow): readonly TableColumn<Summary>[] => [
  { key: 'number', header: 'Version', cell: ({ number }) => `Version ${number}` },
  { key: 'state', header: 'State', cell: ({ state }) => <StatusBadge status={state} /> },
  {
    key: 'runs',
    header: 'Active runs',
    align: 'right',
    cell: ({ number, active_run_count: count }) => (
      <BrandLink to={`/flows/${id}/runs`} search={{ version: String(number), state: 'active' }}>
        {count === null ? 'too many to count' : countText(count)}
      </BrandLink>
    ),
  },
  {
    key: 'goal',
    header: 'Goal',
    wideOnly: true,
    cell: ({ goal }) => goal ?? <span className="muted">–</span>,
  },
  { key: 'created', header: 'Made', cell: ({ created_at: at }) => <Time at={at} /> },
];

export const FlowVersionsPage = () => <FlowFrame>{(flow) => <Versions flow={flow} />}</FlowFrame>;

function Versions({ flow }: { flow: Flow }) {
  const { id } = flow;
  const list = useListSearch([]);
  const query = useQuery({
    queryKey: ['flows', id, 'versions', list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/flows/{id}/versions', { params: { path: { id }, query: list.query }, signal }),
      ),
    refetchInterval: flow.status === 'active' ? VERSIONS_POLL_MS : false,
  });
  return (
    <>
      <p className="muted">
        A run follows the version of its entry to its end. Letters and texts belong to no version: a changed
        one reaches every run that has not come to its step.
      </p>
      <QueryView query={query}>
        {(page) => (
          <>
            <DataTable
              label="Versions"
              rows={page.rows}
              columns={columnsOf(flow)}
              rowKey={(version) => version.id}
              empty={<p className="muted">Activating the flow makes its first version.</p>}
            />
            {page.rows.length > 1 && <Compare flow={flow} versions={page.rows} />}
          </>
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

/** Two versions side by side, which the URL names. */
function Compare({ flow, versions }: { flow: Flow; versions: readonly Summary[] }) {
  const { search, set } = useListSearch([]);
  const chosen = (name: 'left' | 'right', index: number) =>
    Number(search[name]) || (versions[index]?.number ?? 1);
  const left = chosen('left', 1);
  const right = chosen('right', 0);
  const choose = (name: 'left' | 'right', label: string, value: number) => (
    <Field label={label}>
      <Select
        value={String(value)}
        options={versions.map(({ number, state }) => ({
          value: String(number),
          label: `Version ${number} (${state})`,
        }))}
        onChange={({ target }) => set({ [name]: target.value })}
      />
    </Field>
  );
  return (
    <Card title="Side by side">
      <div className="filters versions-choice">
        {choose('left', 'Compare', left)}
        {choose('right', 'with', right)}
      </div>
      <SideBySide id={flow.id} left={left} right={right} />
    </Card>
  );
}

function SideBySide({ id, left, right }: { id: number; left: number; right: number }) {
  const old = useFlowVersion(id, left);
  const present = useFlowVersion(id, right);
  return (
    <QueryView query={old}>
      {(before) => (
        <QueryView query={present}>
          {(after) => (
            <ComparisonView
              left={{ title: `Version ${left}`, flow: before }}
              right={{ title: `Version ${right}`, flow: after }}
            />
          )}
        </QueryView>
      )}
    </QueryView>
  );
}
